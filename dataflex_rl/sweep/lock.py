"""One launcher per sweep: a file with a heartbeat.

On the launcher's own machine its process is looked up, so that a kill frees the sweep at once; from elsewhere the
heartbeat decides, and a launcher that has been silent for a minute counts as dead.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError
from dataflex_rl.record.locks import SILENT, Heart, here, identity, locked, look, place, runs, win
from dataflex_rl.record.status import now

BEAT = 1.0  # [s] between two beats, and until a lock that somebody has deleted is back
_KEYS = frozenset({"host", "place", "pid", "start", "token", "since"})


class SweepBusy(ConfigError):
    """Another launcher works on the sweep."""


class Lock:
    """A held lock. `recovered` says whether a dead launcher had left one, `lost` whether another has taken it over."""

    def __init__(self, path: Path, holder: dict[str, Any], recovered: bool) -> None:
        self.recovered, self.lost = recovered, False
        self._path, self._holder = path, holder
        self._heart = Heart(path, _KEYS, holder, every=BEAT, lost=self._lose)

    def _lose(self, successor: dict[str, Any]) -> None:
        self.lost = True

    def release(self) -> None:
        """Give the sweep back."""
        self._heart.stop()
        with suppress(RecordError), locked(self._path, _KEYS) as file:  # without the folder there is nothing to give
            current = file.read()
            if current is not None and current["token"] == self._holder["token"]:
                file.clear()


def take(path: Path) -> Lock:
    """Take the lock of a sweep; one from elsewhere is watched for its heartbeat first, for a minute if there is none.

    Raises:
        SweepBusy: a live launcher holds it.
    """
    mine = {
        "host": socket.gethostname(),
        "place": place(),
        **identity(os.getpid()),
        "token": uuid.uuid4().hex,
        "since": now(),
    }
    holder = win(path, _KEYS, mine, alive=_alive, busy=lambda holder: _busy(path, holder))
    return Lock(path, mine, recovered=holder is not None)


def _busy(path: Path, holder: dict[str, Any]) -> SweepBusy:
    return SweepBusy(
        f"sweep {path.parents[1]} is being launched by process {holder['pid']} on {holder['host']} since "
        f"{holder['since']}; watch it with `status`, end it with `cancel`, or launch under new_sweep=NAME"
    )


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
    holder = look(path, _KEYS)
    if holder is None or here(holder):
        return holder is not None and runs(holder)
    with suppress(FileNotFoundError):
        return abs(time.time() - path.stat().st_mtime) < SILENT
    return False


def _alive(holder: dict[str, Any]) -> bool:
    """Say whether a launcher lives; one elsewhere does as far as we can tell."""
    return not here(holder) or runs(holder)
