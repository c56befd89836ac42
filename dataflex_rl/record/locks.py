"""Files that say who holds something: JSON changed under a lock of the system; which process still runs; heartbeats.

The lock lasts for a look and a change and ends with the process; what the file says outlasts it. Where process numbers
mean what they mean here (`here`), a holder is looked up. Elsewhere its heartbeat decides: a touch of the file every few
seconds. A holder counts as gone when somebody has watched its file for `SILENT` seconds and seen no change: no clocks
of two machines are compared. A holder that was only asleep learns at its next beat that it was replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import RecordError

SILENT = 60.0  # [s] without a beat after which a holder elsewhere counts as gone
_LOOK = 0.5  # [s] between two looks at a holder's beats
_LINUX = sys.platform == "linux"

Stamp = tuple[int, bytes]  # when a file was last written or touched [ns], and its content


class HolderFile:
    """An open file that says who holds something; `keys` are those that every holder has."""

    def __init__(self, path: Path, handle: int, keys: frozenset[str]) -> None:
        self._path, self._handle, self._keys = path, handle, keys

    def read(self) -> dict[str, Any] | None:
        """Return the holder; None if there is none, or a kill left half a file."""
        try:
            holder = json.loads(self._content())
        except (ValueError, RecursionError):
            return None
        return holder if isinstance(holder, dict) and self._keys <= set(holder) else None

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
        """Beat; needs no room on the disk."""
        os.utime(self._handle)

    def stamp(self) -> Stamp:
        """Return what changes with every beat."""
        return os.fstat(self._handle).st_mtime_ns, self._content()

    def _content(self) -> bytes:
        return os.pread(self._handle, os.fstat(self._handle).st_size, 0)

    def _replace(self, content: bytes) -> None:
        done = 0
        while done < len(content):
            done += os.pwrite(self._handle, content[done:], done)
        os.ftruncate(self._handle, len(content))


@contextmanager
def locked(path: Path, keys: frozenset[str]) -> Iterator[HolderFile]:
    """Open a file, made where missing, under an exclusive lock of the system; RecordError if that fails."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RecordError.of("open", path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield HolderFile(path, handle, keys)
    finally:
        os.close(handle)


@contextmanager
def _opened(path: Path, keys: frozenset[str]) -> Iterator[HolderFile | None]:
    """Open a file for reading, without waiting for its lock; None without one."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise RecordError.of("read", path, error) from error
    try:
        yield HolderFile(path, handle, keys)
    finally:
        os.close(handle)


def look(path: Path, keys: frozenset[str]) -> dict[str, Any] | None:
    """Return the holder without waiting or changing anything; None if there is none."""
    with _opened(path, keys) as file:
        return None if file is None else file.read()


def win(
    path: Path,
    keys: frozenset[str],
    mine: Mapping[str, Any],
    *,
    alive: Callable[[dict[str, Any]], bool],
    busy: Callable[[dict[str, Any]], ConfigError],
) -> dict[str, Any] | None:
    """Put a holder in the place of none, or of one that is gone; return that one.

    One that lives elsewhere as far as `alive` can tell is watched, for `SILENT` seconds if it does not beat.

    Raises:
        ConfigError: `busy` of a live holder.
    """
    silent: Stamp | None = None
    while True:
        with locked(path, keys) as file:
            holder, stamp = file.read(), file.stamp()
            if holder is None or not alive(holder) or stamp == silent:
                file.write(mine)
                return holder
        if here(holder):
            raise busy(holder)
        print(f"{path}: held on {holder['host']}; watching for a minute whether it lives", file=sys.stderr, flush=True)
        if not _unchanged(path, stamp):
            raise busy(holder)
        silent = stamp


def _unchanged(path: Path, stamp: Stamp) -> bool:
    """Watch a file for `SILENT` seconds; say whether it kept its stamp."""
    deadline = time.monotonic() + SILENT
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        with _opened(path, frozenset()) as file:  # opened anew: a network file system then asks its server
            if file is None or file.stamp() != stamp:
                return False
    return True


class Heart(threading.Thread):
    """Beats for a holder until `stop`: touches its file, and writes the holder again where somebody has deleted it.

    Args:
        holder: has a `token`; `keys` are those of the file.
        every: between two beats. [s]
        lost: called once, with what the file says, when another holder is found in it; that was the last beat.
    """

    def __init__(
        self,
        path: Path,
        keys: frozenset[str],
        holder: dict[str, Any],
        *,
        every: float,
        lost: Callable[[dict[str, Any]], None],
    ) -> None:
        super().__init__(name=f"heartbeat-{path.name}", daemon=True)
        self.holder = holder
        self._path, self._keys, self._every, self._lost = path, keys, every, lost
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        """Beat."""
        while not self._stopped.wait(self._every):
            with suppress(RecordError, OSError):  # a full disk, a folder on the move: the next beat tries again
                successor = self._beat()
                if successor is not None:
                    self._lost(successor)
                    return

    def _beat(self) -> dict[str, Any] | None:
        with locked(self._path, self._keys) as file:
            current = file.read()
            if current is None:
                file.write(self.holder)
            elif current["token"] != self.holder["token"]:
                return current
            else:
                self.holder = current
                file.touch()
        return None

    def stop(self) -> None:
        """End, after the beat that may be under way."""
        self._stopped.set()
        self.join()


def place() -> str:
    """Return what is the same where process numbers mean what they mean here: host, boot and container."""
    if not _LINUX:
        return socket.gethostname()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"


def here(holder: Mapping[str, Any]) -> bool:
    """Say whether the processes of a holder can be looked up from here."""
    return bool(holder["place"] == place())


def identity(pid: int) -> dict[str, Any]:
    """Return what tells a process from a later one with its number: {pid, start}."""
    return {"pid": pid, "start": _start_of(pid) or 0}


def runs(process: object) -> bool:
    """Say whether the process of an `identity` still runs; one that has ended but is not yet reaped does not."""
    if not isinstance(process, dict) or not isinstance(process.get("pid"), int):
        return False
    start = _start_of(process["pid"])
    return start is not None and start == process.get("start")


def _start_of(pid: int) -> float | None:
    """Return when a process was started, on a clock that nobody can set; None if it does not run."""
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
