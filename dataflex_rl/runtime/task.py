"""One attempt at one run: a child process in a session of its own, ended as a whole.

The run's command starts a Ray instance of its own: nothing that would lead it into the outer one is passed on. What it
starts carries a token in its environment, by which all of it, and nothing else, is found and ended.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.cause import cause_of
from dataflex_rl.runtime.outcome import VARIABLE, Exit, read_reason
from dataflex_rl.runtime.processes import die_with_parent
from dataflex_rl.runtime.scratch import scratch_folder

_TOKEN = "DATAFLEX_RL_SWEEP_TOKEN"
_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_PASSED_ON = ("DATAFLEX_", "WANDB_", "HF_", "HUGGING_FACE_", "PYTHONPATH", "XDG_CACHE_HOME", "OMP_NUM_THREADS")
_POLL = 0.5  # [s]
_FULL = 64 * 1024  # [bytes] a disk with less is full


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a worker needs to know of a run: command, environment to add, working folder, log, GPUs, bounds [s]."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"
    log: str
    gpus: float = 0
    timeout: float | None = None
    patience: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an attempt ended. `lost`: its machine vanished, so nothing is known of the child's exit code."""

    code: int
    error: str | None = None
    node: str = ""
    seconds: float = 0.0
    lost: bool = False


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the launcher's environment has to say to runs on other machines."""
    return {key: value for key, value in environment.items() if key.startswith(_PASSED_ON)}


def execute(job: Job) -> Outcome:
    """Run the command to its end, and end it and all it started at the timeout or a KeyboardInterrupt.

    Never raises for what the command does: the exit code and the cause are in the outcome.
    """
    begin, node, token = time.monotonic(), socket.gethostname(), uuid.uuid4().hex

    def outcome(code: int, error: str | None) -> Outcome:
        return Outcome(code=code, error=error, node=node, seconds=time.monotonic() - begin)

    try:
        with scratch_folder() as scratch:
            log, told = Path(job.log), Path(scratch["TMPDIR"], "outcome.json")
            with log.open("ab") as output:
                since = output.tell()
                process = subprocess.Popen(
                    _here(job.command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=job.folder if os.path.isdir(job.folder) else "/",
                    env=child_environment(os.environ, job, scratch["TMPDIR"]) | {_TOKEN: token, VARIABLE: str(told)},
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                )
            code, error = _watch(process, job, token)
            return outcome(code, error or _reason(told, log, since, code))
    except ConfigError as error:
        return outcome(Exit.FAILED, f"cannot start the run: {error}")
    except OSError as error:
        return outcome(Exit.FAILED, f"cannot start the run: {error.filename}: {error.strerror or error}")
    except KeyboardInterrupt:  # between the start of the process and the watch over it
        with _uninterrupted():
            _end_rest(token)
        return outcome(Exit.INTERRUPTED, "interrupted")


def _here(command: Sequence[str]) -> list[str]:
    """Return `PYTHON -m ...` with an interpreter of this machine, where the launcher's is on the launcher's alone."""
    elsewhere = command[1:2] == ["-m"] and not os.access(command[0], os.X_OK)
    return [sys.executable if elsewhere else command[0], *command[1:]]


def child_environment(environment: Mapping[str, str], job: Job, temporary: str) -> dict[str, str]:
    """Return the environment of a run: no way into the outer Ray, the GPUs of its allocation, folders of its own."""
    kept = {key: value for key, value in environment.items() if not key.startswith("RAY_")}
    if job.gpus == 0:  # Ray hides all devices then, and a Ray instance of the run's own would take that as a wish
        kept = {key: value for key, value in kept.items() if key not in _DEVICES}
    return {**kept, **job.environment, "RAY_TMPDIR": temporary, "TMPDIR": temporary}


def _watch(process: subprocess.Popen[bytes], job: Job, token: str) -> tuple[int, str | None]:
    """Wait for the end; return the exit code, and the reason where it is known here."""
    deadline = math.inf if job.timeout is None else time.monotonic() + job.timeout
    try:
        while (code := _waited(process, min(_POLL, deadline - time.monotonic()))) is None:
            if time.monotonic() >= deadline:
                end(process, token, job.patience)
                return Exit.FAILED, f"took longer than launcher.timeout={job.timeout:g} s"
    except KeyboardInterrupt:
        with _uninterrupted():
            end(process, token, job.patience)
        return Exit.INTERRUPTED, "interrupted"
    except BaseException:
        end(process, token, 0.0)
        raise
    _end_rest(token)
    return code, f"killed by {_signal_name(-code)}" if code < 0 else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals
        return f"signal {number}"


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore further interrupts: a terminal sends one to this process, the launcher another."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _waited(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Wait a moment, so that a KeyboardInterrupt raised by another thread is noticed; return the exit code, if any."""
    try:
        return process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        return None


def _reason(told: Path, log: Path, since: int, code: int) -> str | None:
    """Return why a run ended: what it left in its file, else a full disk, else the cause that its log shows."""
    if code == Exit.DONE:
        return None
    reason = read_reason(told, code)
    if reason is None and shutil.disk_usage(log.parent).free < _FULL:
        reason = f"exit code {code}: no space left on the disk of {log.parent}"
    return (reason or f"exit code {code}: {cause_of(log, since)[-1]}")[:500]


def end(process: subprocess.Popen[bytes], token: str, patience: float) -> None:
    """End a process and everything that carries its token: asked first, killed after `patience` seconds."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)
    if process.poll() is None:
        process.kill()
    _end_rest(token)
    process.wait()


def _end_rest(token: str) -> None:
    """Kill what is left of a run; a dying process may still start another, so look again."""
    for _ in range(20):
        rest = [process for process in psutil.process_iter() if _carries(process, token)]
        if not rest:
            return
        for process in rest:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(rest, timeout=0.5)


def _carries(process: psutil.Process, token: str) -> bool:
    try:
        return bool(process.environ().get(_TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
