"""How the tests share what is slow to start when they run in several processes (`pytest -n 2 --dist loadfile`)."""

from __future__ import annotations

import pytest

from tests.served import share


def pytest_configure(config: pytest.Config) -> None:
    """Start the one worker server before the processes that use it."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        share()
