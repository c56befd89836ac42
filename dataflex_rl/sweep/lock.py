"""One launcher per sweep: a file with a heartbeat.

On the launcher's own machine its process is looked up, so that a kill frees the sweep at once; from another machine the
heartbeat decides, and a launcher that has been silent for two minutes counts as dead.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError
from dataflex_rl.record.status import now

BEAT = 10.0  # [s] between two beats
SILENT = 120.0  # [s] without a beat after which a launcher on another machine counts as dead
_SLACK = 1.0  # [s] start times of one process read twice agree to within this


class SweepBusy(ConfigError):
    """Another launcher works on the sweep."""


class Lock:
    """A held lock. `recovered` says whether a dead launcher had left one, `lost` whether another has taken it over."""

    def __init__(self, path: Path, holder: dict[str, Any], recovered: bool) -> None:
        self.recovered, self.lost = recovered, False
        self._path, self._holder = path, holder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="sweep-heartbeat", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stop.wait(BEAT):
            try:
                with _locked(self._path) as handle:
                    current = _read(handle)
                    if current is not None and current["token"] != self._holder["token"]:
                        self.lost = True
                        return
                    _write(self._path, handle, {**self._holder, "beat": time.time()})
            except RecordError:  # a full disk: the next beat tries again
                continue

    def release(self) -> None:
        """Give the sweep back."""
        self._stop.set()
        self._thread.join()
        with _locked(self._path) as handle:
            current = _read(handle)
            if current is not None and current["token"] == self._holder["token"]:
                os.ftruncate(handle, 0)


def take(path: Path) -> Lock:
    """Take the lock of a sweep.

    Raises:
        SweepBusy: a live launcher holds it.
    """
    with _locked(path) as handle:
        holder = _read(handle)
        if holder is not None and _alive(holder):
            raise SweepBusy(
                f"sweep {path.parents[1]} is being launched by process {holder['pid']} on {holder['host']} since "
                f"{holder['since']}; watch it with `status`, end it with `cancel`, or launch under new_sweep=NAME"
            )
        mine = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "start": psutil.Process().create_time(),
            "token": uuid.uuid4().hex,
            "since": now(),
            "beat": time.time(),
        }
        _write(path, handle, mine)
    return Lock(path, mine, recovered=holder is not None)


@contextmanager
def held(path: Path) -> Iterator[Lock]:
    """Hold the lock for the length of a with-block; SweepBusy as `take`."""
    lock = take(path)
    try:
        yield lock
    finally:
        lock.release()


def launcher_alive(path: Path) -> bool:
    """Say whether a live launcher holds the lock; changes nothing."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        holder = _read(handle)
    finally:
        os.close(handle)
    return holder is not None and _alive(holder)


def _alive(holder: dict[str, Any]) -> bool:
    if holder["host"] != socket.gethostname():
        return bool(time.time() - holder["beat"] < SILENT)
    try:
        process = psutil.Process(holder["pid"])
        return bool(abs(process.create_time() - holder["start"]) < _SLACK and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the file under an exclusive lock of the system, which ends with the process."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise RecordError.of("lock", path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _read(handle: int) -> dict[str, Any] | None:
    """Return who holds the lock; None if nobody does, or a kill left half a file."""
    try:
        holder = json.loads(os.pread(handle, os.fstat(handle).st_size, 0))
    except ValueError:
        return None
    keys = {"host", "pid", "start", "token", "since", "beat"}
    return holder if isinstance(holder, dict) and keys <= set(holder) else None


def _write(path: Path, handle: int, holder: dict[str, Any]) -> None:
    text = json.dumps(holder).encode()
    try:
        os.pwrite(handle, text, 0)
        os.ftruncate(handle, len(text))
    except OSError as error:
        raise RecordError.of("lock", path, error) from error
