"""Runs that several tests look at: made once per test session, whichever process needs them first."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.host.training import Finished, kill, lines_so_far, start, train, wait_for

STEPS = 10  # as the golden runs
SIZE = (f"trainer.total_training_steps={STEPS}", "trainer.save_freq=4")


def once(runs_dir: Path, name: str, make: Callable[[], Finished]) -> Finished:
    """Return a run of the session; the first process that asks makes it, others wait."""
    kept = runs_dir / f"{name}.pickle"
    with FileLock(runs_dir / f"{name}.lock"):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
    found = pickle.loads(kept.read_bytes())
    assert isinstance(found, Finished)
    return found


@pytest.fixture(scope="session")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the records of a test session, one for all its processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def uniform(runs_dir: Path) -> Finished:
    """`method=uniform`, undisturbed: what other runs are compared with."""
    return once(runs_dir, "uniform", lambda: train(runs_dir, "default/tiny-toy3/uniform/seed_0", *SIZE))


@pytest.fixture(scope="session")
def difffilter(runs_dir: Path) -> Finished:
    """`method=difffilter`, undisturbed, with the decision trace."""
    arguments = ("method=difffilter", "dataflex.trace=true", *SIZE)
    where = "default/tiny-toy3/difffilter/seed_0"
    return once(runs_dir, "difffilter", lambda: train(runs_dir, where, *arguments))


@pytest.fixture(scope="session")
def killed_shadow(runs_dir: Path) -> Finished:
    """`method=difffilter` in shadow mode, killed after step 5 (its checkpoint is at 4), then run to its end."""
    arguments = ("method=difffilter", "dataflex.shadow=true", *SIZE)
    where = "default/tiny-toy3/difffilter-shadow/seed_0"

    def make() -> Finished:
        process = start(runs_dir, *arguments)
        wait_for(lambda: len(lines_so_far(runs_dir / where)) >= 5, process)
        kill(process)
        return train(runs_dir, where, *arguments)

    return once(runs_dir, "killed_shadow", make)
