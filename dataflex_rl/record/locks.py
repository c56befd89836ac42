"""Files that say who holds something: JSON changed under a lock of the system; and which process still runs.

The lock lasts for a look and a change and ends with the process; what the file says outlasts it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from dataflex_rl.record.files import RecordError

_SLACK = 1.0  # [s] start times of one process read twice agree to within this


class HolderFile:
    """An open file that says who holds something; `keys` are those that every holder has."""

    def __init__(self, path: Path, handle: int, keys: frozenset[str]) -> None:
        self._path, self._handle, self._keys = path, handle, keys

    def read(self) -> dict[str, Any] | None:
        """Return the holder; None if there is none, or a kill left half a file."""
        try:
            holder = json.loads(self._content())
        except ValueError:
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


def look(path: Path, keys: frozenset[str]) -> dict[str, Any] | None:
    """Return the holder without waiting or changing anything; None if there is none."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError.of("read", path, error) from error
    try:
        return HolderFile(path, handle, keys).read()
    finally:
        os.close(handle)


def identity(pid: int) -> dict[str, Any]:
    """Return what tells a process from a later one with its number: {pid, start}."""
    try:
        return {"pid": pid, "start": psutil.Process(pid).create_time()}
    except psutil.NoSuchProcess:
        return {"pid": pid, "start": 0.0}


def runs(process: Mapping[str, Any]) -> bool:
    """Say whether the process of an `identity` still runs; one that has ended but is not yet reaped does not."""
    try:
        found = psutil.Process(process["pid"])
        return bool(abs(found.create_time() - process["start"]) < _SLACK and found.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
