"""A training run as a child process that can be ended as a whole.

verl starts Ray, and Ray starts a dozen processes, some of which outlive a kill of their parent. Everything a run starts
carries the run's token in its environment: so all of it, and nothing else, can be found and ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import psutil

_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_SET_PDEATHSIG = 1
QUIET = {
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the warning of Ray about a default it will change
    "RAY_DEDUP_LOGS": "0",
    "TQ_NUM_THREADS": "1",  # more than the cores is a warning per call
    "PYTHONHASHSEED": "0",
}
_NOT_INHERITED = ("RAY_ADDRESS", "HYDRA_FULL_ERROR")
_TOKEN = "DATAFLEX_RL_RUN_TOKEN"
ENVIRONMENT = "environment.json"  # beside the stand-in: the variables of the server's forks
STANDIN = "DATAFLEX_RL_PYTHON"  # the path of a worker server's stand-in for the interpreter
MARKS = (_TOKEN, "DATAFLEX_RL_SWEEP_TOKEN")  # variables by which a run or a sweep finds its processes


def interpreter() -> str:
    """Return what to start Python processes of ours with: a worker server's stand-in, else this interpreter."""
    standin = os.environ.get(STANDIN)
    return standin if standin and os.access(standin, os.X_OK) else sys.executable


def served_environment() -> dict[str, str]:
    """Return the variables that a process must have for the worker server to fork it; none without a server."""
    if interpreter() == sys.executable:
        return {}
    values = json.loads((Path(interpreter()).parent / ENVIRONMENT).read_text())
    return {STANDIN: interpreter(), **values}


def child_environment(host: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a training process: ours, what the host asks for, and no way into another Ray."""
    kept = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    return {**QUIET, **kept, **{str(key): str(value) for key, value in host.items()}}


def die_with_parent() -> None:
    """Ask the system to end this process when its parent dies (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM, like Ctrl-C, end what runs inside in order: as a KeyboardInterrupt."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


class TrainingProcess:
    """`python -m dataflex_rl.host.launch RECORD KEY=VALUE...`, its output in a log file.

    Args:
        record: folder of the run record.
        changes: keys of the configuration that hold for this attempt only.
        environment: the whole environment.
        log: file its output is appended to.
    """

    def __init__(self, record: Path, changes: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
        self._token = uuid.uuid4().hex
        command = [interpreter(), "-m", "dataflex_rl.host.launch", str(record), *changes]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**environment, _TOKEN: self._token},
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether it still runs."""
        return self._process.poll() is None

    def wait(self) -> int:
        """Wait for its end, end whatever it left, and return its exit code."""
        code = self._process.wait()
        self._end_rest(grace=2.0)
        return code

    def stop(self, grace: float = 5.0) -> None:
        """End it and everything it started: asked first, killed after `grace` seconds."""
        if self.alive():
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=grace)
        self._end_rest(grace=1.0)
        self._process.wait()

    def _members(self) -> list[psutil.Process]:
        """Return the living processes of this run."""
        members = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(_TOKEN) == self._token and process.status() != psutil.STATUS_ZOMBIE:
                    members.append(process)
        return members

    def _end_rest(self, grace: float) -> None:
        """End all processes of this run: SIGTERM, then SIGKILL after `grace` seconds."""
        members = self._members()
        _signal(members, signal.SIGTERM)
        psutil.wait_procs(members, timeout=grace)
        for _ in range(10):  # a dying process may still start another
            members = self._members()
            if not members:
                return
            _signal(members, signal.SIGKILL)
            psutil.wait_procs(members, timeout=0.5)


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
