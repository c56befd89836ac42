"""Ctrl-C and SIGKILL of the launcher: its runs end, the sweep is free at once, and a rerun does what is left, once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dataflex_rl.sweep.commands import standing_of
from dataflex_rl.sweep.lock import SweepBusy, held, launcher_alive
from dataflex_rl.sweep.store import Store
from tests.sweep.stubs import journal

ROOT = Path(__file__).resolve().parents[2]
MARK = "DATAFLEX_TEST_FOLDER"  # what tells the processes of one launcher from all others
BOUND = 15.0  # [s] in which Ctrl-C has ended everything


def start(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a launcher of stub runs as a terminal does, in a process group of its own; return when it starts Ray."""
    command = [sys.executable, "-m", "tests.sweep.killed_launcher", str(folder), str(seconds)]
    process = subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, MARK: str(folder)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def wait_for(folder: Path, word: str, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while sum(line.startswith(word) for line in journal(folder)) < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def left_of(folder: Path) -> list[list[str]]:
    """Return the command lines of the living processes of a launcher: its own, Ray's and its runs'."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
    return found


def nothing_left(folder: Path, seconds: float, word: str = "") -> None:
    """Wait for the end of all processes of a launcher with a word in their command line."""
    deadline = time.monotonic() + seconds
    while left := [words for words in left_of(folder) if word in " ".join(words)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def interrupt(process: subprocess.Popen[str], times: int = 1) -> tuple[str, float]:
    """Press Ctrl-C, which reaches the whole process group; return what was printed and the seconds it took."""
    begin = time.monotonic()
    for number in range(times):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.7 if number + 1 < times else 0)
    out, _ = process.communicate(timeout=60)
    return out, time.monotonic() - begin


def finish(folder: Path) -> None:
    """Launch again, to the end; each of the six runs must have ended once."""
    process = start(folder, 0.0)
    out, _ = process.communicate(timeout=120)
    assert "6/6 runs done" in out, out
    ends = [line for line in journal(folder) if line.startswith("end")]
    assert len(ends) == len(set(ends)) == 6


def test_ctrl_c_before_anything_starts(tmp_path: Path) -> None:
    """In the middle of the imports."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dataflex_rl.sweep", "launch", "smoke_cpu", f"runs_dir={tmp_path}"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    while "libtorch" not in Path(f"/proc/{process.pid}/maps").read_text() and process.poll() is None:
        time.sleep(0.01)
    out, seconds = interrupt(process)
    assert process.returncode == 130, out
    assert out == "interrupted; the same command continues\n"
    assert seconds < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3, 1.0, 2.0])
def test_ctrl_c_while_ray_starts(tmp_path: Path, delay: float) -> None:
    process = start(tmp_path, 60.0)
    time.sleep(delay)
    out, seconds = interrupt(process)
    assert process.returncode == 130, out
    assert out.splitlines()[-1].startswith("interrupted; the same command continues"), out
    assert "Traceback" not in out
    assert seconds < BOUND
    assert left_of(tmp_path) == []
    assert not launcher_alive(Store(tmp_path).lock)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("ended", [0, 2])
def test_ctrl_c_while_runs_start_or_run(tmp_path: Path, ended: int, times: int) -> None:
    """At the start of the first pair, or in the middle of the second one; more than once corrupts nothing."""
    process = start(tmp_path, 3.0)
    wait_for(tmp_path, "start", ended + 1, process)
    out, seconds = interrupt(process, times)
    assert process.returncode == 130, out
    assert out.splitlines()[-1] == "interrupted; the same command continues the sweep"
    assert "Traceback" not in out
    assert seconds < BOUND
    assert left_of(tmp_path) == []
    run_states = Store(tmp_path).read_states().values()
    assert sum(run_state.state == "done" for run_state in run_states) == ended
    assert 1 <= sum(run_state.state == "interrupted" for run_state in run_states) <= 2
    assert {run_state.state for run_state in run_states} <= {"done", "interrupted", "waiting"}
    finish(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_launcher_leaves_nothing_running_and_a_rerun_finishes(tmp_path: Path, number: int) -> None:
    process = start(tmp_path, 3.0)
    wait_for(tmp_path, "end", 2, process)
    store = Store(tmp_path)
    assert launcher_alive(store.lock)
    with pytest.raises(SweepBusy), held(store.lock):
        pass
    wait_for(tmp_path, "start", 4, process)
    time.sleep(0.5)  # in the middle of the second pair
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGTERM else -signal.SIGKILL), out
    assert not launcher_alive(store.lock)
    nothing_left(tmp_path, 20.0, word="journal")  # its runs
    nothing_left(tmp_path, 90.0)  # the agents of its Ray, which look after their parent now and then
    standing, _, _ = standing_of(store)
    assert standing.running == 0
    lines = journal(tmp_path)
    cut = 2 * sum(line.startswith("start") for line in lines) - len(lines)  # two, if the machine is not too slow
    finish(tmp_path)
    assert sum(line.startswith("start") for line in journal(tmp_path)) == 6 + cut  # only they were begun twice
