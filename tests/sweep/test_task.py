"""One attempt: exit codes, time bounds, and that nothing of it is left."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dataflex_rl import run
from dataflex_rl.runtime.outcome import VARIABLE, Exit, read_reason, report
from dataflex_rl.runtime.task import Job, child_environment, execute, passed_on

FAMILY = """
import subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
other = subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
print("grandchild", other.pid, flush=True)
{rest}
"""


LEAVE = """
import sys
from dataflex_rl.runtime.outcome import report
def leave(code, reason):
    sys.exit(report(code, reason))
"""


def job(tmp_path: Path, code: str, **more: object) -> Job:
    return Job(command=[sys.executable, "-c", code], log=str(tmp_path / "log"), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "expected", "error"),
    [
        ("print('fine')", 0, None),
        (LEAVE + "leave(2, 'x=1: expected 2')", 2, "x=1: expected 2"),
        (LEAVE + "leave(1, 'failed at step 3/9: no memory')", 1, "failed at step 3/9: no memory"),
        (LEAVE + "print('error: what a person reads'); leave(2, 'the field')", 2, "the field"),
        (LEAVE + "report(0, 'done before the crash'); print('crash'); sys.exit(3)", 3, "exit code 3: crash"),
        (LEAVE + "report(2, None); print('no reason'); sys.exit(2)", 2, "exit code 2: no reason"),
        ("print('error: only printed'); import sys; sys.exit(2)", 2, "exit code 2: error: only printed"),
        ("import sys; print('last words'); sys.exit(3)", 3, "exit code 3: last words"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, "killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", -40, "killed by signal 40"),
        ("print('error: early'); print('x' * 2**20); import sys; sys.exit(3)", 3, "exit code 3: " + "x" * 300),
    ],
)
def test_how_an_attempt_ended(tmp_path: Path, code: str, expected: int, error: str | None) -> None:
    outcome = execute(job(tmp_path, code))
    assert (outcome.code, outcome.error, outcome.lost) == (expected, error, False)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"code": 2}', '{"code": 2, "reason": 3}', '{"code": 1, "reason": "x"}']
)
def test_half_a_reason_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "outcome.json").write_text(content)
    assert read_reason(tmp_path / "outcome.json", 2) is None


def test_a_reason_that_nobody_asked_for_or_that_finds_no_room_changes_nothing(tmp_path: Path) -> None:
    assert report(3, "busy", {}) == 3
    assert report(3, "busy", {VARIABLE: "/proc/none/outcome.json"}) == 3
    assert report(3, "busy", {VARIABLE: str(tmp_path / "o")}) == 3
    assert read_reason(tmp_path / "o", 3) == "busy"


def test_the_exit_codes_are_those_of_the_documented_command() -> None:
    assert run.__doc__ is not None
    said = "0 done, 1 training failed, 2 the configuration is refused, 3 the record is in use, 130 interrupted."
    assert f"Exit codes: {said}" in run.__doc__
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 130]


def test_a_run_leaves_why_it_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "o"))
    assert run.main(["method=difffilterr"]) == 2
    reason = read_reason(tmp_path / "o", 2)
    assert reason is not None
    assert reason.startswith("unknown method 'difffilterr'")


def test_a_command_that_cannot_start_is_a_failure(tmp_path: Path) -> None:
    outcome = execute(Job(command=["/no/such/program"], log=str(tmp_path / "log")))
    assert outcome.code == 1
    assert outcome.error == "cannot start the run: /no/such/program: No such file or directory"
    log = str(tmp_path / "none" / "log")
    assert execute(Job(command=["true"], log=log)).error == f"cannot start the run: {log}: No such file or directory"


def test_an_interpreter_of_another_machine_is_replaced_by_this_one(tmp_path: Path) -> None:
    command = ["/elsewhere/bin/python", "-m", "platform"]
    assert execute(Job(command=command, log=str(tmp_path / "log"))).code == 0
    assert (tmp_path / "log").read_text().startswith("Linux")


@pytest.mark.parametrize("rest", ["time.sleep(600)", "sys.exit(0)"])
def test_nothing_of_an_attempt_is_left(tmp_path: Path, rest: str) -> None:
    """The grandchild has a session of its own and ignores SIGTERM."""
    outcome = execute(job(tmp_path, FAMILY.format(rest=rest), timeout=2.0, patience=0.5))
    pid = int((tmp_path / "log").read_text().split()[1])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert outcome.code == (0 if "exit" in rest else 1)
    if "sleep" in rest:
        assert outcome.error == "took longer than launcher.timeout=2 s"
        assert 2.0 <= outcome.seconds < 10


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler of Ctrl-C, which a process started in the background may lack."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_does_not_cut_the_end_short(tmp_path: Path) -> None:
    """As in a terminal: Ctrl-C reaches the worker, and the launcher cancels it; the run takes its time to end."""
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FAMILY.format(rest="time.sleep(600)")
    timers = [threading.Timer(seconds, _thread.interrupt_main) for seconds in (2.0, 2.5, 3.0)]
    for timer in timers:
        timer.start()
    outcome = execute(job(tmp_path, code, patience=2.0))
    assert (outcome.code, outcome.error) == (130, "interrupted")
    assert 4.0 <= outcome.seconds < 10  # ended by force after its patience
    pid = int((tmp_path / "log").read_text().split()[1])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_run_finds_no_way_into_the_outer_ray(tmp_path: Path) -> None:
    outer = {"RAY_ADDRESS": "1.2.3.4:1", "RAY_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": "", "HOME": "/h"}
    found = child_environment(outer, Job(command=["x"], log="", environment={"HF_HOME": "/hf"}), "/tmp/dfx-1")
    assert found == {"HOME": "/h", "HF_HOME": "/hf", "RAY_TMPDIR": "/tmp/dfx-1", "TMPDIR": "/tmp/dfx-1"}
    outer["CUDA_VISIBLE_DEVICES"] = "2,3"
    assert child_environment(outer, Job(command=["x"], log="", gpus=2), "/t")["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert passed_on({"WANDB_MODE": "offline", "PATH": "/bin"}) == {"WANDB_MODE": "offline"}


def test_two_attempts_have_folders_of_their_own_which_go(tmp_path: Path) -> None:
    code = "import os; print(os.environ['RAY_TMPDIR'])"
    for name in "ab":
        execute(Job(command=[sys.executable, "-c", code], log=str(tmp_path / name)))
    one, other = ((tmp_path / name).read_text().strip() for name in "ab")
    assert one != other
    assert not os.path.exists(one)
    assert not os.path.exists(other)
