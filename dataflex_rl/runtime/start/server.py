"""The worker server, `python -m dataflex_rl.runtime.start.server FOLDER LISTENER OWNER`: imports, then forks.

LISTENER is the descriptor of its socket, OWNER that of a pipe that its owner holds open: when the owner ends, however
it does, the server ends too, and so does everything it forked. A request that comes before the imports are done is
answered when they are. What cannot be forked is said in FOLDER/log, with the reason.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from dataflex_rl.quiet import mute_missing_engines
from dataflex_rl.runtime.start.become import Marks, Request, as_worker, become

MODULES = (
    "verl.trainer.main_ppo",
    "dataflex_rl.host.cpu.rollout.server",
    "dataflex_rl.host.cpu.rollout.adapter",
    "dataflex_rl.host.validate",
    "dataflex_rl.runtime.attempt",
    "dataflex_rl.run",
    "ray._private.external_storage",
)
# what libraries read when they are imported: a process that wants another value is not forked
READ_AT_IMPORT = (
    "HF_", "KMP_", "LD_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONPATH", "RAY_",
    "TQ_", "TRANSFORMERS_", "VERL_LOGGING_LEVEL", "VERL_PLATFORM", "VERL_USE_EXTERNAL", "VIRTUAL_ENV",
)  # fmt: skip
OF_ONE_PROCESS = (
    "RAY_CLIENT_MODE", "RAY_ENABLE_UV_RUN_RUNTIME_ENV", "RAY_LD_PRELOAD_ON_WORKERS",
    "RAY_LOCAL_WORLD_SIZE", "RAY_NODE_ID", "RAY_RAYLET_PID", "RAY_TMPDIR", "RAY_USAGE_STATS_ENABLED",
)  # fmt: skip
JOB = "RAY_JOB_ID"
_PATIENCE = 12.0  # [s] between asking forks to end and killing them
_LENGTH = 4  # [bytes] of a request's length


def main(argv: list[str]) -> int:
    """Serve until the owner is gone."""
    folder, owner = Path(argv[0]), int(argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    marks = Marks()
    environment = dict(os.environ)
    listener = socket.socket(fileno=int(argv[1]))
    mute_missing_engines()
    _import_all()
    (folder / "ready").touch()
    Server(listener, owner, environment, marks).serve()
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _import_all() -> None:
    """Import what the processes of a run import; hidden from the collector, so that forks share its pages."""
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


class Server:
    """Forks on request, relays the end of each fork, and ends with its owner."""

    def __init__(self, listener: socket.socket, owner: int, environment: Mapping[str, str], marks: Marks) -> None:
        self._listener, self._owner, self._environment, self._marks = listener, owner, environment, marks
        self._forks: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Answer requests until the owner is gone, then end all forks."""
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for source in (self._listener.fileno(), self._owner, woken):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in self._selector.select()}
            if woken in ready:
                os.read(woken, 4096)
            self._reap()
            if self._owner in ready:
                return self._end_forks()
            if self._listener.fileno() in ready:
                self._answer(self._listener.accept()[0])

    def _answer(self, connection: socket.socket) -> None:
        """Fork for one request, or say that it must start cold."""
        try:
            connection.settimeout(10.0)
            request, files = _read(connection)
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        worker = as_worker(request)
        differing = ["its interpreter"] if worker is None else _differing(self._environment, worker.environment)
        if worker is None or differing:
            print(f"starts cold, for {', '.join(differing)} differs: {request.arguments[:2]}", flush=True)
            _say(connection, {"cold": 1})
            connection.close()
        else:
            pid = os.fork()
            if pid == 0:
                self._leave()
                _say(connection, {"pid": os.getpid()})
                become(worker, files, connection.fileno(), self._marks)
            self._forks[pid] = connection
        for file in files:
            os.close(file)

    def _leave(self) -> None:
        """Close, in a fork, what belongs to the server."""
        self._selector.close()
        self._listener.close()
        os.close(self._owner)
        for other in self._forks.values():
            other.close()
        self._forks.clear()

    def _reap(self) -> None:
        """Take the forks that have ended, and say of a killed one what killed it."""
        while self._forks:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self._forks.pop(pid, None)
            if connection is not None:
                signalled = os.WIFSIGNALED(status)
                _say(connection, {"signal": os.WTERMSIG(status)} if signalled else {"exit": os.WEXITSTATUS(status)})
                connection.close()

    def _end_forks(self) -> None:
        """Ask the forks to end, then kill them."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._forks:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            deadline = time.monotonic() + _PATIENCE
            while self._forks and time.monotonic() < deadline:
                self._reap()
                time.sleep(0.02)


def _read(connection: socket.socket) -> tuple[Request, list[int]]:
    """Return a request and the descriptors that came with it."""
    header, files, _, _ = socket.recv_fds(connection, _LENGTH, 4)
    length, message = int.from_bytes(header, "big"), b""
    while len(message) < length:
        part = connection.recv(length - len(message))
        if not part:
            raise ValueError("a request that ends early")
        message += part
    return Request(**json.loads(message)), files


def _differing(served: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """Return the variables that are read at import and of which a process wants another value."""
    names = {name for name in (*served, *expected) if name.startswith(READ_AT_IMPORT)} - set(OF_ONE_PROCESS)
    names -= set() if JOB in expected else {JOB}  # a process that is no worker has no job
    return sorted(name for name in names if served.get(name) != expected.get(name))


def _say(connection: socket.socket, message: Mapping[str, int]) -> None:
    with contextlib.suppress(OSError):  # whoever asked is gone
        connection.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
