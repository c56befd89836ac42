"""SIGKILL of the launcher itself: its runs end, the sweep is free at once, and a rerun does what is left, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dataflex_rl.sweep.commands import standing_of
from dataflex_rl.sweep.lock import SweepBusy, held, launcher_alive
from dataflex_rl.sweep.store import Store
from tests.sweep.stubs import journal, sweep

ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.sweep.killed_launcher", str(folder), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait_for(folder: Path, ended: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while sum(line.startswith("end") for line in journal(folder)) < ended:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def stubs_of(folder: Path) -> list[int]:
    """Return the living stub processes of a sweep."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"journal" in (words := (entry / "cmdline").read_bytes()):
                found += [int(entry.name)] if os.fsencode(folder) in words else []
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_launcher_leaves_nothing_running_and_a_rerun_finishes(tmp_path: Path, number: int) -> None:
    process = start(tmp_path, 3.0)
    wait_for(tmp_path, 2, process)
    store = Store(tmp_path)
    store.write_plan(sweep(tmp_path, ["a", "b"], 3))
    assert launcher_alive(store.lock)
    with pytest.raises(SweepBusy), held(store.lock):
        pass
    time.sleep(1.0)  # in the middle of the second pair
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), out
    assert not launcher_alive(store.lock)
    deadline = time.monotonic() + 20
    while stubs_of(tmp_path):
        assert time.monotonic() < deadline, "runs outlived their launcher"
        time.sleep(0.2)
    standing, _, _ = standing_of(store)
    assert standing.running == 0
    again = start(tmp_path, 0.1)
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0, out
    lines = journal(tmp_path)
    ends = [line for line in lines if line.startswith("end")]
    assert len(ends) == len(set(ends)) == 6  # each run ended once
    assert len(lines) - len(ends) == 8  # six runs, two of them begun twice
