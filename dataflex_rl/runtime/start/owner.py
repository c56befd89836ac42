"""The owner's side of the worker server: start it, share it, end it.

One server serves everything that its owner starts: the two runs of a demo, all runs of a sweep, a test session. Its
stand-in for the interpreter is handed on in the environment, so that whatever starts a process of ours finds it. The
server is no more than a shortcut: without it, or where it is lost, processes start cold, with equal results.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from dataflex_rl.runtime.processes import ENVIRONMENT, MARKS, QUIET, STANDIN, child_environment, interpreter

SWITCH = "DATAFLEX_RL_WORKER_SERVER"  # "off": every process starts cold
_PREFIX = "dfx-server-"
_PATIENCE = 30.0  # [s] a server takes less to end its forks
_ROOM = "/tmp"  # short: a socket's path may have 107 characters


@contextmanager
def serving(host: Mapping[str, str] | None) -> Iterator[None]:
    """Have a worker server while this lasts, if there is none and the host's processes can be forked.

    host: the environment that the host asks for its training processes; None: no server (another host than this
    machine's CPU).
    """
    if host is None or sys.platform != "linux" or interpreter() != sys.executable:
        yield
        return
    server = WorkerServer(host, cold=os.environ.get(SWITCH) == "off")
    os.environ[STANDIN] = server.python
    try:
        yield
    finally:
        del os.environ[STANDIN]
        server.stop()


class WorkerServer:
    """A process that imports everything and forks; ends with this process, or with `stop`.

    `python` is the path of its stand-in for the interpreter, usable at once: what asks early waits for the imports.
    `environment` is what a process must have for the server to fork it, and for it to find the server.

    host: environment that the host asks for its training processes. cold: start no server, so that the stand-in
    always becomes the interpreter.
    """

    def __init__(self, host: Mapping[str, str], *, cold: bool = False) -> None:
        _clear_dead()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_ROOM))
        path = self._folder / "socket"
        standin = Path(__file__).with_name("standin.py")
        words = shlex.join([sys.executable, "-S", "-E", str(standin), str(path), sys.executable])
        program = self._folder / "python"
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o700)
        self.python = str(program)
        environment = child_environment(host)
        fixed = {key: environment[key] for key in (*QUIET, *host)}
        (self._folder / ENVIRONMENT).write_text(json.dumps(fixed))
        self.environment = {STANDIN: self.python, **fixed}
        self._process = None if cold else self._start(path, environment)

    def _start(self, path: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        read_end, self._lifeline = os.pipe()
        with (self._folder / "log").open("wb") as log, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(path))
            listener.listen(64)
            given = [listener.fileno(), read_end]
            process = subprocess.Popen(
                [sys.executable, "-m", "dataflex_rl.runtime.start.server", str(self._folder), *map(str, given)],
                pass_fds=given, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env={**environment, **dict.fromkeys(MARKS, "-" * 32), **_ray_variables()},
            )  # fmt: skip
        os.close(read_end)
        return process

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None, "there is a server"
        return self._process.pid

    def stop(self) -> None:
        """End the server and what is left of its forks."""
        if self._process is not None:
            os.close(self._lifeline)
            if not (self._folder / "ready").exists():  # still importing: nobody waits for that
                self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_PATIENCE)
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _ray_variables() -> dict[str, str]:
    """Return what Ray's library reads of a worker's environment when it is loaded, which is before there is a worker.

    The job is the first of a private instance. The raylet is looked at to see whether it lives; a fork ends with its
    raylet in another way (see the stand-in), so any process that lives as long as the server will do.
    """
    return {"RAY_JOB_ID": "01000000", "RAY_RAYLET_PID": str(os.getpid())}


def _clear_dead() -> None:
    """Remove the folders of servers whose owner and server were both killed."""
    for folder in Path(_ROOM).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)
