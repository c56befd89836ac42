"""The worker server: forks are the processes that were asked for, share no randomness, and outlive nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.processes import MARKS, STANDIN, child_environment, interpreter
from dataflex_rl.runtime.start import owner
from dataflex_rl.runtime.start.owner import WorkerServer, serving
from tests.served import served

# a fork serves our modules and Ray's workers; by its name this script is one of the latter
SCRIPT = "default_worker.py"
REPORT = """
import json, os, random, signal, sys
import numpy, torch
print(json.dumps({
    "pid": os.getpid(), "parent": os.getppid(), "argv": sys.argv[1:], "cwd": os.getcwd(), "input": sys.stdin.read(),
    "extra": os.environ.get("EXTRA"), "verl": "verl" in sys.modules, "main": __name__,
    "draws": [random.random(), numpy.random.random(), torch.rand(1).item()],
}))
"""
HOST = cpu_environment([])
assert HOST is not None


def run(folder: Path, code: str, *arguments: str, **extra: Any) -> subprocess.CompletedProcess[str]:
    """Run code in a fork of the session's server."""
    return subprocess.run(command(folder, code, *arguments), env=environment(), text=True, timeout=120, **extra)


def command(folder: Path, code: str, *arguments: str) -> list[str]:
    (folder / SCRIPT).write_text(code)
    return [served()[STANDIN], str(folder / SCRIPT), *arguments]


def environment(**extra: str) -> dict[str, str]:
    return {**child_environment(HOST or {}), "EXTRA": "told", "RAY_JOB_ID": "01000000", **extra}


def report(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run(folder, REPORT, *arguments, input="typed", capture_output=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def test_a_fork_is_the_process_that_was_asked_for(tmp_path: Path) -> None:
    told = report(tmp_path, "--flag", "a b")
    assert told["argv"] == ["--flag", "a b"]
    assert (told["cwd"], told["input"], told["extra"], told["main"]) == (str(tmp_path), "typed", "told", "__main__")
    assert told["verl"], "it has imported nothing itself, and still has all of verl"


def test_forks_share_no_random_numbers(tmp_path: Path) -> None:
    first, second = report(tmp_path)["draws"], report(tmp_path)["draws"]
    assert all(a != b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("code", "expected"), [("import sys; sys.exit(3)", 3), ("1 / 0", 1), ("", 0)])
def test_the_exit_code_is_the_forks(tmp_path: Path, code: str, expected: int) -> None:
    assert run(tmp_path, code, capture_output=True).returncode == expected


def test_a_killed_fork_ends_its_stand_in_the_same_way(tmp_path: Path) -> None:
    assert run(tmp_path, "import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL


def test_what_an_end_runs_is_run(tmp_path: Path) -> None:
    done = run(tmp_path, "import atexit; atexit.register(print, 'bye'); print('hi', end=' ')", capture_output=True)
    assert done.stdout == "hi bye\n"


def test_a_fork_writes_to_a_pipe_as_the_process_itself_would(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.reconfigure(errors='backslashreplace'); print('\\udc80', sys.stdout.seekable())"
    done = run(tmp_path, code, capture_output=True)
    assert (done.stdout, done.stderr) == ("\\udc80 False\n", "")


def test_a_command_of_ours_is_forked_and_prints_as_itself(tmp_path: Path) -> None:
    arguments = ["-m", "dataflex_rl.run", "dry_run=maybe", f"runs_dir={tmp_path}"]
    done = [
        subprocess.run([python, *arguments], env=environment(), text=True, timeout=120, capture_output=True)
        for python in (served()[STANDIN], sys.executable)
    ]
    assert done[0].stderr == done[1].stderr == "error: dry_run='maybe': expected false, true or json\n"
    assert (done[0].returncode, done[0].stdout) == (done[1].returncode, done[1].stdout) == (2, "")


SLEEPER = "import os, signal, sys, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n"
POLITE = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'asked\\n'), sys.exit(7)))\n"
    "print(os.getpid(), flush=True)\ntime.sleep(600)\n"
)


@contextlib.contextmanager
def sleeping(folder: Path, code: str = SLEEPER) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A stand-in and the process id of its fork."""
    process = subprocess.Popen(command(folder, code), env=environment(), text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_signals_reach_the_fork(tmp_path: Path) -> None:
    with sleeping(tmp_path, POLITE) as (process, _):
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert (out, process.returncode) == ("asked\n", 7)


def test_a_fork_ends_with_a_killed_stand_in(tmp_path: Path) -> None:
    with sleeping(tmp_path) as (process, pid):
        process.kill()
        until(lambda: not psutil.pid_exists(pid))


def test_others_see_the_marks_of_a_fork(tmp_path: Path) -> None:
    token = "0123456789abcdef" * 2
    start = subprocess.Popen(
        command(tmp_path, SLEEPER), env=environment(**{MARKS[0]: token}), text=True, stdout=subprocess.PIPE
    )
    assert start.stdout is not None
    seen = psutil.Process(int(start.stdout.readline())).environ()
    start.kill()
    start.communicate()
    assert seen[MARKS[0]] == token


@pytest.mark.parametrize("change", [{"OMP_NUM_THREADS": "2"}, {"PYTHONHASHSEED": "1"}, {"RAY_JOB_ID": "02000000"}])
def test_a_variable_that_was_read_at_import_is_a_cold_start(tmp_path: Path, change: dict[str, str]) -> None:
    code = "import sys; print('verl' in sys.modules)"
    done = subprocess.run(
        command(tmp_path, code), env=environment(**change), text=True, capture_output=True, timeout=120, check=True
    )
    assert done.stdout == "False\n"


def test_other_programs_start_cold() -> None:
    done = subprocess.run([served()[STANDIN], "-c", "import sys; print('verl' in sys.modules)"], capture_output=True)
    assert done.stdout == b"False\n"


OWNER = """
import sys, time
from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.start.owner import WorkerServer
server = WorkerServer(cpu_environment([]))
print(server.python, server.pid, flush=True)
sys.stdin.read()
server.stop()
"""


@contextlib.contextmanager
def owned() -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """A process that owns a server, the server's stand-in and process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    )
    assert process.stdout is not None
    python, pid = process.stdout.readline().split()
    try:
        yield process, Path(python), int(pid)
    finally:
        process.kill()
        process.communicate()


def start(python: Path, folder: Path) -> tuple[subprocess.Popen[str], int]:
    (folder / SCRIPT).write_text(SLEEPER)
    process = subprocess.Popen(
        [str(python), str(folder / SCRIPT)], env=environment(), text=True, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_nothing_outlives_a_killed_owner(tmp_path: Path) -> None:
    with owned() as (process, python, server):
        standin, fork = start(python, tmp_path)
        process.kill()
        standin.wait(timeout=60)
        until(lambda: not any(psutil.pid_exists(pid) for pid in (server, fork)))
        until(lambda: not python.parent.exists())


def test_nothing_outlives_the_end_of_an_owner(tmp_path: Path) -> None:
    with owned() as (process, python, server):
        standin, fork = start(python, tmp_path)
        process.communicate("", timeout=90)
        standin.wait(timeout=60)
        assert not any(psutil.pid_exists(pid) for pid in (server, fork))
        assert not python.parent.exists()


def test_a_fork_goes_on_when_its_server_is_killed_and_the_next_starts_cold(tmp_path: Path) -> None:
    with owned() as (_, python, server):
        standin, fork = start(python, tmp_path)
        os.kill(server, signal.SIGKILL)
        cold = subprocess.run([str(python), "-c", "print('cold')"], text=True, capture_output=True, timeout=60)
        assert cold.stdout == "cold\n"
        assert psutil.Process(fork).is_running()
        assert standin.poll() is None
        standin.kill()
        until(lambda: not psutil.pid_exists(fork))


def test_memory_of_the_server_stays_flat(tmp_path: Path) -> None:
    run(tmp_path, "", check=True)
    server = psutil.Process(psutil.Process(report(tmp_path)["parent"]).pid)
    before, open_before = server.memory_info().rss, server.num_fds()
    for _ in range(20):
        run(tmp_path, "", check=True)
    assert server.memory_info().rss < before + 2 * 1024**2
    until(lambda: server.num_fds() <= open_before)


def test_serving_shares_one_server_and_none_serves_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STANDIN, raising=False)
    monkeypatch.setenv(owner.SWITCH, "off")
    with serving(None):
        assert interpreter() == sys.executable
    with serving(HOST):
        outer = interpreter()
        assert outer != sys.executable
        with serving(HOST):
            assert interpreter() == outer
        assert subprocess.run([outer, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\n"
    assert interpreter() == sys.executable
    assert not Path(outer).parent.exists()


def test_folders_of_dead_owners_are_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_ROOM", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, alive = (tmp_path / f"{owner._PREFIX}{pid}-x" for pid in (gone.pid, os.getpid()))
    dead.mkdir()
    alive.mkdir()
    WorkerServer(HOST or {}, cold=True).stop()
    assert (dead.exists(), alive.exists()) == (False, True)
