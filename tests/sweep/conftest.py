"""One small local Ray instance for the launcher's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dataflex_rl.sweep.fleet import Fleet


@pytest.fixture(scope="module")
def machines() -> Iterator[Fleet]:
    """A local Ray instance with at least 2 CPUs."""
    fleet = Fleet(None, cpus=2)
    yield fleet
    fleet.close()
