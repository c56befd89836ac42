"""One launcher per sweep: a lock with a heartbeat (see `dataflex_rl.record.lock`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError
from dataflex_rl.record import lock as locks
from dataflex_rl.record.lockfile import Holder, holder_of, is_alive, is_here, stamp_of

HEARTBEAT = 1.0  # [s] between two signs of life, and until a lock that somebody has deleted is back


class SweepBusy(ConfigError):
    """Another launcher works on the sweep."""


class SweepLock:
    """A held lock. `recovered` says whether a dead launcher had left one, `lost` whether another has taken it over."""

    def __init__(self, path: Path) -> None:
        self.lost = False
        self._lock = locks.acquire(
            path, every=HEARTBEAT, busy=lambda holder: _busy(path, holder), lost=lambda mine, successor: self._lose()
        )
        self.recovered = self._lock.recovered

    def _lose(self) -> None:
        self.lost = True

    def release(self) -> None:
        """Give the sweep back; without its folder there is nothing to give."""
        with suppress(RecordError):
            self._lock.release()


def acquire(path: Path) -> SweepLock:
    """Lock a sweep; a holder on another host is watched for its heartbeat first, for a minute if there is none.

    Raises:
        SweepBusy: a live launcher holds it.
    """
    return SweepLock(path)


def _busy(path: Path, holder: Holder) -> SweepBusy:
    facts = locks.describe(holder)
    return SweepBusy(
        f"sweep {path.parents[1]} is being launched by process {facts['pids']} on {facts['host']} since "
        f"{facts['since']}; watch it with `status`, end it with `cancel`, or launch under new_sweep=NAME"
    )


@contextmanager
def held(path: Path) -> Iterator[SweepLock]:
    """Hold the lock for the length of a with-block; SweepBusy as `acquire`."""
    lock = acquire(path)
    try:
        yield lock
    finally:
        lock.release()


def launcher_alive(path: Path) -> bool:
    """Say whether a live launcher holds the lock; changes nothing.

    On another host: whether its last sign of life is younger than a minute by our clock, else whether it gives one
    within three seconds, whatever the clocks say.
    """
    holder = holder_of(path)
    if holder is None or is_here(holder):
        return holder is not None and is_alive(holder)
    before = stamp_of(path)
    if before is not None and abs(time.time() - before[0] / 1e9) < locks.SILENT:
        return True
    time.sleep(3 * HEARTBEAT)
    return stamp_of(path) != before
