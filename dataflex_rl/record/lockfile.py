"""A file that says who holds a lock, changed under a lock of the system; and which process still runs.

The system's lock (flock) lasts for a look and a change and ends with the process; what the file says outlasts it.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from dataflex_rl.record.files import RecordError, reading

Holder = dict[str, Any]  # {host, host_id, since, token, processes: [{pid, start}, ...]}
Stamp = tuple[int, bytes]  # when a file was last written or touched [ns], and its content

_KEYS = frozenset({"host", "host_id", "since", "token", "processes"})
_TRY = 0.05  # [s] between two tries at a system lock
_LINUX = sys.platform == "linux"


class SystemLockTimeout(RecordError):
    """Another process has held the system's lock for too long: it was stopped in the middle of a write."""


class LockFile:
    """An open file that says who holds a lock."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path, self._handle = path, handle

    def read(self) -> Holder | None:
        """Return the holder; None if there is none, or a kill left half a file."""
        try:
            holder = json.loads(self._content())
        except (ValueError, RecursionError):
            return None
        whole = isinstance(holder, dict) and holder.keys() >= _KEYS and isinstance(holder["processes"], list)
        return holder if whole else None

    def write(self, holder: Mapping[str, Any]) -> None:
        """Write the holder; RecordError where the disk refuses, and the old one stays."""
        before = self._content()
        try:
            self._replace(json.dumps(holder).encode())
            os.fsync(self._handle)
        except OSError as error:
            with suppress(OSError):
                self._replace(before)
            raise RecordError.of("write", self._path, error) from error

    def clear(self) -> None:
        """Say that nobody holds it."""
        os.ftruncate(self._handle, 0)

    def touch(self) -> None:
        """Give a sign of life; needs no room on the disk."""
        os.utime(self._handle)

    def stamp(self) -> Stamp:
        """Return what changes with every sign of life, whatever the clocks say."""
        return os.fstat(self._handle).st_mtime_ns, self._content()

    def _content(self) -> bytes:
        with reading(self._path):
            return os.pread(self._handle, os.fstat(self._handle).st_size, 0)

    def _replace(self, content: bytes) -> None:
        done = 0
        while done < len(content):
            done += os.pwrite(self._handle, content[done:], done)
        os.ftruncate(self._handle, len(content))


@contextmanager
def locked(path: Path, *, wait: float | None = None) -> Iterator[LockFile]:
    """Open a file, made where missing, under an exclusive lock of the system.

    Args:
        wait: for another process that has it, before SystemLockTimeout; None: for ever. [s]

    Raises:
        RecordError: that fails.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RecordError.of("open", path, error) from error
    try:
        _flock(path, handle, wait)
        yield LockFile(path, handle)
    finally:
        os.close(handle)


def _flock(path: Path, handle: int, wait: float | None) -> None:
    deadline = None if wait is None else time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if deadline is None else fcntl.LOCK_NB))
            return
        except BlockingIOError as error:
            if deadline is not None and time.monotonic() >= deadline:
                raise SystemLockTimeout(
                    f"run record: {path} is locked by a process in the middle of a write"
                ) from error
            time.sleep(_TRY)
        except OSError as error:
            raise RecordError.of("lock", path, error) from error


@contextmanager
def _opened(path: Path) -> Iterator[LockFile | None]:
    """Open a file for reading, without waiting for its lock; None without one."""
    try:
        with reading(path):
            handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    try:
        yield LockFile(path, handle)
    finally:
        os.close(handle)


def holder_of(path: Path) -> Holder | None:
    """Return the holder without waiting or changing anything; None if there is none.

    Raises:
        UnreadableError: the system refuses to show the file.
    """
    with _opened(path) as file:
        return None if file is None else file.read()


def stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file, opened anew so that a network file system asks its server; None without one."""
    with _opened(path) as file:
        return None if file is None else file.stamp()


def host_id() -> str:
    """Return what is the same where process numbers mean what they mean here: host, boot and container."""
    if not _LINUX:
        return socket.gethostname()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"


def is_here(holder: Mapping[str, Any]) -> bool:
    """Say whether the processes of a holder can be looked up from here."""
    return bool(holder["host_id"] == host_id())


def is_alive(holder: Mapping[str, Any]) -> bool:
    """Say whether any process of a holder still runs; one on another host does as far as we can tell."""
    return not is_here(holder) or any(runs(process) for process in holder["processes"])


def identity(pid: int) -> dict[str, Any]:
    """Return what tells a process from a later one with its number: {pid, start}."""
    return {"pid": pid, "start": _start_of(pid) or 0}


def runs(process: object) -> bool:
    """Say whether the process of an `identity` still runs; one that has ended but is not yet reaped does not.

    One that the system hides from this user (hidepid) runs as far as we can tell.
    """
    if not isinstance(process, dict) or type(process.get("pid")) is not int or process["pid"] <= 0:
        return False
    start = _start_of(process["pid"])
    if start is None:
        return _hidden(process["pid"])
    return start == process.get("start")


def _hidden(pid: int) -> bool:
    """Say whether a process that cannot be looked up is there all the same, as another user's."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        pass  # there is none
    return False


def _start_of(pid: int) -> float | None:
    """Return when a process was started, on a clock that nobody can set; None if it cannot be looked up."""
    if not _LINUX:
        try:
            found = psutil.Process(pid)
            return None if found.status() == psutil.STATUS_ZOMBIE else found.create_time()
        except (psutil.NoSuchProcess, ValueError):
            return None
    try:
        # after the command's name: state, ..., and as the 20th the ticks from the boot to the start
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])
