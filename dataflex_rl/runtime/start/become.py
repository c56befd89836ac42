"""What a forked process does to be the process that was asked for: files, environment, program, end."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import io
import json
import os
import random
import runpy
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

MARKS = ("DATAFLEX_RL_RUN_TOKEN", "DATAFLEX_RL_SWEEP_TOKEN")
_SETUP = "setup_worker.py"  # Ray's step between a worker's environment and the worker
_CONTEXT = "--serialized-runtime-env-context="
_F_SETSIG = 10  # linux/fcntl.h


@dataclass(frozen=True, kw_only=True)
class Request:
    """A process to be: arguments of the interpreter, environment, working folder, umask."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    umask: int


def as_worker(request: Request) -> Request | None:
    """Return the request with Ray's set-up of a worker's environment done; None where that needs another interpreter.

    Ray starts a worker through `setup_worker.py`, which sets variables and becomes a shell that becomes the worker.
    """
    arguments = request.arguments
    if not arguments or os.path.basename(arguments[0]) != _SETUP:
        return request
    context = next((item.removeprefix(_CONTEXT) for item in arguments if item.startswith(_CONTEXT)), "{}")
    values = json.loads(context)
    variables = values["env_vars"]
    if values.get("command_prefix") or values.get("override_worker_entrypoint") or "$" in "".join(variables.values()):
        return None
    rest = [item for item in arguments[1:] if not item.startswith((_CONTEXT, "--language="))]
    return replace(request, arguments=rest, environment={**request.environment, **variables})


class Marks:
    """The variables by which a run finds its processes, written where other processes read them.

    The system shows the environment a process was started with. A fork has its server's, so the server is started with
    these variables as long as their values will be, and a fork writes into that memory.
    """

    def __init__(self) -> None:
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_void_p
        self._place = {name: getenv(name.encode()) for name in MARKS}
        self._size = {name: len(os.environ.get(name, "")) for name in MARKS}

    def write(self, environment: Mapping[str, str]) -> None:
        """Make this process's own marks visible."""
        for name, place in self._place.items():
            value = environment.get(name, "").encode()[: self._size[name]]
            if place:
                ctypes.memmove(place, value.ljust(self._size[name], b"-"), self._size[name])


def become(request: Request, files: Sequence[int], connection: int, marks: Marks) -> NoReturn:
    """Turn this forked process into the one that was asked for; it ends here.

    files: descriptors of standard input, output, error, and of a pipe that ends with the process that asked.
    connection: descriptor of the socket on which the exit code is said.
    """
    code = 1
    try:
        _take_over(request, files, marks)
        _fresh_generators()
        _fresh_streams()
        code = _run(request.arguments)
    except BaseException:  # noqa: BLE001 (the end of a process: shown as the interpreter would)
        traceback.print_exc()
    finally:
        _end(code, connection)


def _take_over(request: Request, files: Sequence[int], marks: Marks) -> None:
    """Take the files, signals, folder and environment of the process that asked."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, file in enumerate(files[:3]):
        os.dup2(file, place)
        os.close(file)
    fcntl.fcntl(files[3], fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(files[3], _F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(files[3], fcntl.F_SETFL, fcntl.fcntl(files[3], fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    os.umask(request.umask)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    tempfile.tempdir = None  # looked up anew: a run has a temporary folder of its own
    marks.write(request.environment)


def _fresh_generators() -> None:
    """Give the process random generators of its own: those it inherits are its siblings' as well."""
    import numpy as np
    import torch

    random.seed()
    np.random.seed()  # noqa: NPY002 (the global generator is what libraries share)
    torch.seed()


def _fresh_streams() -> None:
    """Open standard output and error anew: the server's are files, and what it knows of them (where they can be
    searched, their encoder's state) is wrong of a pipe. Log handlers keep the old ones, which write to the same place.
    """
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    for name, number in (("stdout", 1), ("stderr", 2)):
        former = getattr(sys, name)
        assert isinstance(former, io.TextIOWrapper), "the server prints to files"
        former.reconfigure(line_buffering=True, write_through=unbuffered)
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw), former.encoding, former.errors, line_buffering=True, write_through=unbuffered
        )
        setattr(sys, name, stream)


def _run(arguments: list[str]) -> int:
    """Run `SCRIPT ...` or `-m MODULE ...` as the interpreter would; return the exit code."""
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.modules.pop(arguments[1], None)  # the server imported it; run as a script, it is another module
            sys.path[0] = os.getcwd()
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        return _exit_code(end.code)
    return 0


def _exit_code(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 255
    print(value, file=sys.stderr)
    return 1


def _end(code: int, connection: int) -> NoReturn:
    """Run what was to run at the end, say the exit code and leave without taking the imported world down."""
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the stand-in ends when it has read the code, and its end is one
        try:
            os.write(connection, json.dumps({"exit": code}).encode() + b"\n")
        finally:
            os._exit(code)
