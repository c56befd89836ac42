"""Locks that outlast a crash and cross machines: a file with its holder, kept by a heartbeat.

On the holder's own host its processes are looked up: a kill frees the lock at once, and a process that is stopped or
asleep keeps it. On another host, or in another container, they cannot be seen; there the heartbeat decides. A holder
counts as gone when somebody has watched its file for SILENT seconds and seen no sign of life. Only the watcher's own
steady clock is used, and only while it could look: a clock that jumps, on either side, changes nothing, nor does a
disk that hangs for the watcher too.

A holder may be alive and silent: its machine was suspended, its network disk hung. Two things keep it from writing what
is no longer its own. Every write of a record happens under `guard`: the system's lock on the file, with the holder
looked up, so that nobody takes over in the middle of a write and nobody writes after a takeover. And its heartbeat,
which learns of the successor within seconds, ends what it still runs.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import RecordError
from dataflex_rl.record.lockfile import (
    Holder,
    Stamp,
    SystemLockTimeout,
    holder_of,
    host_id,
    identity,
    is_alive,
    is_here,
    locked,
    runs,
    stamp_of,
)
from dataflex_rl.record.status import now

SILENT = 60.0  # [s] without a sign of life after which a holder on another host counts as gone
WRITING = 10.0  # [s] for which a holder may be in the middle of a write
_LOOK = 0.5  # [s] between two looks at a holder's file
_NOBODY = {"pid": 0, "start": 0}  # stands for a holder that gave the lock back before its children ended


class LockLostError(RecordError):
    """Another process has taken the lock over: nothing may be written any more."""


class Lock(threading.Thread):
    """A lock that this process holds: the thread of its heartbeat, until `release`.

    Args:
        holder: what the file says.
        every: between two signs of life. [s]
        lost: called once, with the successor, when another holder is found in the file.
        recovered: whether a holder that is gone had left the lock.
    """

    def __init__(
        self,
        path: Path,
        holder: Holder,
        *,
        every: float,
        lost: Callable[[Holder, Holder], None],
        recovered: bool = False,
    ) -> None:
        super().__init__(name=f"heartbeat-{path.name}", daemon=True)
        self.recovered = recovered
        self.holder = holder
        self._path, self._every, self._on_lost = path, every, lost
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        """Give signs of life."""
        while not self._stopped.wait(self._every):
            with suppress(RecordError, OSError):  # a full disk, a folder on the move: the next one tries again
                successor = self._beat()
                if successor is not None:
                    self._on_lost(self.holder, successor)
                    return

    def _beat(self) -> Holder | None:
        """Touch the file, or write it again where somebody has deleted it; return a successor."""
        with locked(self._path) as file:
            current = file.read()
            if current is None:
                file.write(self.holder)
            elif current["token"] != self.holder["token"]:
                return current
            else:
                self.holder = current  # others may have joined
                file.touch()
        return None

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Write inside: nobody takes over meanwhile.

        Raises:
            LockLostError: somebody has before.
        """
        with locked(self._path) as file:
            current = file.read()
            if current is not None and current["token"] != self.holder["token"]:
                raise LockLostError(
                    f"run record: {self._path.parent} was taken over by a process on {current['host']}; "
                    "nothing was written"
                )
            yield

    def add_process(self, pid: int) -> bool:
        """Let the lock last until this process, too, has ended; False if another holds it."""
        with locked(self._path) as file:
            current = file.read() or self.holder
            if current["token"] != self.holder["token"]:
                return False
            current["processes"].append(identity(pid))
            self.holder = current
            file.write(current)
        return True

    def release(self) -> None:
        """Give the lock back; processes that were added and still run keep it until they end."""
        self._stopped.set()
        self.join()
        with locked(self._path) as file:
            holder = file.read()
            if holder is None or holder["token"] != self.holder["token"]:
                return
            holder["processes"][0] = _NOBODY
            if any(runs(process) for process in holder["processes"]):
                file.write(holder)
            else:
                file.clear()


def acquire(
    path: Path,
    *,
    every: float,
    busy: Callable[[Holder], ConfigError],
    lost: Callable[[Holder, Holder], None],
) -> Lock:
    """Put this process in the place of no holder, or of one that is gone. Arguments as `Lock`.

    A holder on another host is watched first, for SILENT seconds if it gives no sign of life.

    Raises:
        ConfigError: `busy` of a live holder.
    """
    mine: Holder = {
        "host": socket.gethostname(),
        "host_id": host_id(),
        "since": now(),
        "token": uuid.uuid4().hex,
        "processes": [identity(os.getpid())],
    }
    silent: Stamp | None = None
    while True:
        try:
            with locked(path, wait=WRITING) as file:
                holder, stamp = file.read(), file.stamp()
                if holder is None or not is_alive(holder) or stamp == silent:
                    file.write(mine)
                    return Lock(path, mine, every=every, lost=lost, recovered=holder is not None)
        except SystemLockTimeout:
            holder = holder_of(path)
            if holder is None:
                raise
            raise busy(holder) from None
        if is_here(holder):
            raise busy(holder)
        print(f"{path}: held on {holder['host']}; watching for a minute whether it lives", file=sys.stderr, flush=True)
        if not _is_silent(path, stamp):
            raise busy(holder)
        silent = stamp


def _is_silent(path: Path, stamp: Stamp) -> bool:
    """Watch a file for SILENT seconds; say whether it kept its stamp.

    Time in which this process could not look (it was stopped, the disk hung) does not count.
    """
    watched, last = 0.0, time.monotonic()
    while watched < SILENT:
        time.sleep(_LOOK)
        if stamp_of(path) != stamp:
            return False
        passed, last = time.monotonic() - last, time.monotonic()
        watched += min(passed, 2 * _LOOK)
    return True


def join_holder(path: Path, *, every: float, lost: Callable[[Holder, Holder], None]) -> Lock | None:
    """Let a lock last until this process, too, has ended, and keep it alive; None where nobody holds it."""
    with locked(path) as file:
        holder = file.read()
        if holder is None:
            return None
        if is_here(holder):  # a process on another host can only give signs of life
            holder["processes"].append(identity(os.getpid()))
            file.write(holder)
    return Lock(path, holder, every=every, lost=lost)


def describe(holder: Holder) -> dict[str, Any]:
    """Return what a message says of a holder: `pids` that may still run, `host`, `since`."""
    pids = ", ".join(str(process["pid"]) for process in holder["processes"] if process != _NOBODY)
    return {"pids": pids, "host": holder["host"], "since": holder["since"]}
