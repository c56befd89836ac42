"""Runs that several tests look at: made once per test session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.training import Finished, kill, lines_so_far, start, train, wait_for

STEPS = 10  # as the golden runs
SIZE = (f"trainer.total_training_steps={STEPS}", "trainer.save_freq=4")


@pytest.fixture(scope="session")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the records of a test session."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def uniform(runs_dir: Path) -> Finished:
    """`method=uniform`, undisturbed: what other runs are compared with."""
    return train(runs_dir, "default/tiny-toy3/uniform/seed_0", *SIZE)


@pytest.fixture(scope="session")
def difffilter(runs_dir: Path) -> Finished:
    """`method=difffilter`, undisturbed, with the decision trace."""
    return train(runs_dir, "default/tiny-toy3/difffilter/seed_0", "method=difffilter", "dataflex.trace=true", *SIZE)


@pytest.fixture(scope="session")
def killed_shadow(runs_dir: Path) -> Finished:
    """`method=difffilter` in shadow mode, killed after step 5 (its checkpoint is at 4), then run to its end."""
    arguments = ("method=difffilter", "dataflex.shadow=true", *SIZE)
    where = "default/tiny-toy3/difffilter-shadow/seed_0"
    process = start(runs_dir, *arguments)
    wait_for(lambda: len(lines_so_far(runs_dir / where)) >= 5, process)
    kill(process)
    return train(runs_dir, where, *arguments)
