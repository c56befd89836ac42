"""How the tests share what is slow to start, in one process or in several.

With several processes (`pytest -n 2`), the tests of one file go to one process, and so do all tests that look at the
training runs of `tests/host/conftest.py`; the one worker server is started before the processes are.
"""

from __future__ import annotations

import pytest

from tests.served import share

SESSION_RUNS = {"runs_dir", "uniform", "difffilter", "killed_shadow"}


def pytest_configure(config: pytest.Config) -> None:
    """Start the worker server where other processes are to find it."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        share()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the group of tests that stay together."""
    shared = {item.path for item in items if SESSION_RUNS & set(getattr(item, "fixturenames", ()))}
    for item in items:
        item.add_marker(pytest.mark.xdist_group("runs" if item.path in shared else str(item.path)))
