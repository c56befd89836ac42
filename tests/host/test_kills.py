"""Kills in each window of a step: the record that a rerun completes equals the undisturbed one.

SIGKILL hits the process that trains and writes the record, at once, as soon as the window opens.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.host.conftest import SIZE, STEPS
from tests.host.test_training import assert_same_run
from tests.host.training import PATIENCE, Finished, start, train


def lines(record: Path) -> int:
    """Return how many whole metrics lines there are."""
    path = record / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def phase(record: Path) -> str:
    """Return what the run says it is doing."""
    path = record / "status.json"
    return str(json.loads(path.read_text())["phase"]) if path.exists() else ""


def marked(record: Path, step: int) -> bool:
    """Return whether the checkpoint of a step is complete."""
    return (record / f"checkpoints/global_step_{step}/dataflex.json").exists()


WINDOWS: dict[str, Callable[[Path], bool]] = {
    # the lines of step 5 are written, so the prompts of step 6 are being generated
    "during generation": lambda record: lines(record) == 5,
    # the checkpoint of step 4 is complete, its line is not written yet
    "between checkpoint and line": lambda record: marked(record, 4) and lines(record) == 3,
    # the last checkpoint is complete, the final evaluation has not begun
    "after the last checkpoint": lambda record: marked(record, STEPS) and lines(record) == STEPS - 1,
    # the final evaluation is under way
    "during the final evaluation": lambda record: lines(record) == STEPS - 1 and phase(record) == "evaluate",
    # everything is trained and evaluated, the record is not closed
    "before the record is closed": lambda record: lines(record) == STEPS,
}


def trainer_of(process: subprocess.Popen[str]) -> psutil.Process:
    """Return the Ray actor that runs verl's loop."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.cmdline()[:1] and child.cmdline()[0].startswith("ray::TaskRunnerV1"):
                    return child
        time.sleep(0.2)
    raise AssertionError("the trainer did not start")


def kill_in(window: str, process: subprocess.Popen[str], record: Path) -> None:
    """SIGKILL the trainer when the window opens, then the command."""
    trainer = trainer_of(process)
    deadline = time.monotonic() + PATIENCE
    while not WINDOWS[window](record):
        assert time.monotonic() < deadline, f"the window '{window}' did not open"
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        time.sleep(0.001)
    os.kill(trainer.pid, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=PATIENCE)


@pytest.fixture(autouse=True)
def nothing_known(uniform: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of each test's own, so that a run measures the untrained model itself; and no worker server but the
    command's, so that what trains is found below it.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.host.training.served", dict)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_killed_in(window: str, uniform: Finished, runs_dir: Path) -> None:
    name = window.replace(" ", "_")
    where = f"{name}/tiny-toy3/uniform/seed_0"
    kill_in(window, start(runs_dir, f"sweep={name}", *SIZE), runs_dir / where)
    resumed = train(runs_dir, where, f"sweep={name}", *SIZE)
    assert resumed.code == 0, resumed.out
    assert_same_run(uniform, resumed)


@pytest.mark.slow
def test_killed_three_times(uniform: Finished, runs_dir: Path) -> None:
    """In the initial evaluation, in step 2 (no checkpoint yet) and in step 6: the fourth attempt ends the same."""
    where = "thrice/tiny-toy3/uniform/seed_0"
    record = runs_dir / where
    windows: list[Callable[[], bool]] = [
        lambda: phase(record) == "untrained",
        lambda: lines(record) == 1,
        lambda: lines(record) == 6,
    ]
    for opened in windows:
        process = start(runs_dir, "sweep=thrice", *SIZE)
        deadline = time.monotonic() + PATIENCE
        while not opened():
            assert process.poll() is None, process.stdout.read() if process.stdout else ""
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.kill()
        process.communicate(timeout=PATIENCE)
    resumed = train(runs_dir, where, "sweep=thrice", *SIZE)
    assert resumed.code == 0, resumed.out
    assert resumed.json("status.json")["attempts"] == 4
    assert_same_run(uniform, resumed)
