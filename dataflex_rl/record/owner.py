"""The lock of a run record: one process at a time, with the children it names, works on it (see `lock`).

Both the process that acquired it and the one that writes the record give signs of life, so that one of them may hang.
A machine that is gone frees the record after a minute. One that was only cut off or asleep finds, at its next write or
within a heartbeat of its return, that another has taken over; it writes nothing more and ends all processes of its
lock. Its steps since the newest checkpoint are not lost: the successor has made the same ones anew.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import RecordError, set_guard, sync_folder
from dataflex_rl.record.lock import Lock, describe, join_holder
from dataflex_rl.record.lock import acquire as acquire_lock
from dataflex_rl.record.lockfile import Holder, holder_of, is_alive, is_here, locked, runs
from dataflex_rl.record.paths import RunRecord

HEARTBEAT = 2.0  # [s] between two signs of life


class RecordBusy(ConfigError):
    """Another live process works on the record."""


class RecordLock:
    """The lock of a record, held by this process; every write of the record goes through its guard.

    `recovered` says whether a dead process had left one.
    """

    def __init__(self, record: RunRecord, lock: Lock) -> None:
        self.record, self.recovered, self._lock = record, lock.recovered, lock
        set_guard(record.path, lock.guard)

    def add_process(self, pid: int) -> None:
        """Let the lock last until this process, too, has ended (a training child that may outlive its parent)."""
        if not self._lock.add_process(pid):
            raise _busy(self.record, holder_of(self.record.lock) or self._lock.holder)

    def release(self) -> None:
        """Give the record back; processes that were added and still run keep it until they end."""
        set_guard(self.record.path, None)
        self._lock.release()

    def set_aside(self) -> Path | None:
        """Move the record to <dir>.old-<n> and continue, still locked, in an empty folder in its place.

        Returns where it went; None, and nothing moved, if the folder holds nothing but the lock.
        """
        path = self.record.path
        if {entry.name for entry in path.iterdir()} <= {self.record.lock.name}:
            return None
        number = 1
        while (old := path.with_name(f"{path.name}.old-{number}")).exists():
            number += 1
        fresh = RunRecord(Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)))
        try:
            fresh.path.chmod(0o755)
            with locked(fresh.lock) as file:
                file.write(self._lock.holder)
            with self._lock.guard():
                path.rename(old)
            fresh.path.rename(path)  # refused by the system if somebody made a record there meanwhile
        except (OSError, RecordError) as error:
            shutil.rmtree(fresh.path, ignore_errors=True)
            raise RecordError.of("set aside", path, error) if isinstance(error, OSError) else error from error
        (old / self.record.lock.name).unlink()
        sync_folder(path.parent)
        return old


@contextmanager
def holding(record: RunRecord) -> Iterator[RecordLock]:
    """Hold a record for the length of a with-block; its folder is created where it is missing.

    Raises:
        RecordBusy: a live process holds it.
    """
    held = acquire(record)
    try:
        yield held
    finally:
        held.release()


def acquire(record: RunRecord) -> RecordLock:
    """Lock a record for this process, until `release` or its death.

    A holder on another host is watched for its heartbeat first, for a minute if there is none.

    Raises:
        RecordBusy: a live process holds it.
    """
    record.create()
    lock = acquire_lock(
        record.lock,
        every=HEARTBEAT,
        busy=lambda holder: _busy(record, holder),
        lost=lambda mine, successor: _end(record, mine, successor),
    )
    return RecordLock(record, lock)


def join(record: RunRecord) -> None:
    """Let the lock on a record last until this process, too, has ended, keep it alive, and write under its guard.

    Where nobody holds the record nothing happens.
    """
    lock = join_holder(record.lock, every=HEARTBEAT, lost=lambda mine, successor: _end(record, mine, successor))
    if lock is not None:
        set_guard(record.path, lock.guard)


def holder_alive(record: RunRecord) -> bool:
    """Say whether a live process holds the record; changes nothing."""
    holder = holder_of(record.lock)
    return holder is not None and is_alive(holder)


def supervisor_alive(record: RunRecord) -> bool:
    """Say whether the process that acquired the lock lives; those it added may outlive it for a moment."""
    holder = holder_of(record.lock)
    return holder is not None and is_alive({**holder, "processes": holder["processes"][:1]})


def _busy(record: RunRecord, holder: Holder) -> RecordBusy:
    facts = describe(holder)
    return RecordBusy(
        f"run record {record.path} is in use by process {facts['pids']} on {facts['host']} since {facts['since']}; "
        "wait for it, or end it"
    )


def _end(record: RunRecord, mine: Holder, successor: Holder) -> None:
    """End all processes of a lock that another has taken over, this one last."""
    print(
        f"error: run record {record.path} was taken over by a process on {successor['host']}, which had seen no "
        "sign of life from here for a minute",
        file=sys.stderr,
        flush=True,
    )
    for process in filter(runs, mine["processes"] if is_here(mine) else []):  # the supervisor first: it says no more
        if process["pid"] != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(process["pid"], signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
