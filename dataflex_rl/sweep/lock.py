"""One launcher per sweep: a file with a heartbeat.

On the launcher's own machine its process is looked up, so that a kill frees the sweep at once; from another machine the
heartbeat decides, and a launcher that has been silent for two minutes counts as dead.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError
from dataflex_rl.record.locks import identity, locked, look, runs
from dataflex_rl.record.status import now

BEAT = 10.0  # [s] between two beats
SILENT = 120.0  # [s] without a beat after which a launcher on another machine counts as dead
_KEYS = frozenset({"host", "pid", "start", "token", "since", "beat"})


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
                with locked(self._path, _KEYS) as file:
                    current = file.read()
                    if current is not None and current["token"] != self._holder["token"]:
                        self.lost = True
                        return
                    file.write({**self._holder, "beat": time.time()})
            except RecordError:  # a full disk: the next beat tries again
                continue

    def release(self) -> None:
        """Give the sweep back."""
        self._stop.set()
        self._thread.join()
        with locked(self._path, _KEYS) as file:
            current = file.read()
            if current is not None and current["token"] == self._holder["token"]:
                file.clear()


def take(path: Path) -> Lock:
    """Take the lock of a sweep.

    Raises:
        SweepBusy: a live launcher holds it.
    """
    with locked(path, _KEYS) as file:
        holder = file.read()
        if holder is not None and _alive(holder):
            raise SweepBusy(
                f"sweep {path.parents[1]} is being launched by process {holder['pid']} on {holder['host']} since "
                f"{holder['since']}; watch it with `status`, end it with `cancel`, or launch under new_sweep=NAME"
            )
        mine = {
            "host": socket.gethostname(),
            **identity(os.getpid()),
            "token": uuid.uuid4().hex,
            "since": now(),
            "beat": time.time(),
        }
        file.write(mine)
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
    holder = look(path, _KEYS)
    return holder is not None and _alive(holder)


def _alive(holder: dict[str, Any]) -> bool:
    if holder["host"] != socket.gethostname():
        return bool(time.time() - holder["beat"] < SILENT)
    return runs(holder)
