"""Claims: one process at a time works on a record.

The claim is a file with the processes that hold it (pid and start time) and their host. It ends with `release` or with
the death of every one of them: a kill leaves nothing to clean up, and a reused pid does not count as alive. A short
file lock makes looking and taking one step. Whether a process on another host lives cannot be seen: it counts as alive.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import RecordError, sync_folder
from dataflex_rl.record.locks import identity, locked, look, runs
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import now

_KEYS = frozenset({"host", "since", "processes"})
_NOBODY = {"pid": 0, "start": 0.0}  # stands for a claimant that gave the record back before its children ended


class RecordBusy(ConfigError):
    """Another live process works on the record."""


class Claim:
    """A claim held by this process. `recovered` says whether a dead process had left one."""

    def __init__(self, record: RunRecord, holder: dict[str, Any], recovered: bool) -> None:
        self.record = record
        self.recovered = recovered
        self._holder = holder

    def add_process(self, pid: int) -> None:
        """Let the claim last until this process, too, has ended (a training child that may outlive its parent)."""
        with locked(self.record.claim, _KEYS) as file:
            self._holder = file.read() or self._holder  # others may have joined
            self._holder["processes"].append(identity(pid))
            file.write(self._holder)

    def release(self) -> None:
        """Give the record back; processes that were added and still run keep it until they end."""
        with locked(self.record.claim, _KEYS) as file:
            holder = file.read()
            if holder is None or not _same(holder, self._holder):
                return
            holder["processes"][0] = _NOBODY
            if _alive(holder):
                file.write(holder)
            else:
                file.clear()

    def set_aside(self) -> Path | None:
        """Move the record to <dir>.old-<n> and continue, still claimed, in an empty folder in its place.

        Returns where it went; None, and nothing moved, if the folder holds nothing but the claim.
        """
        path = self.record.path
        if {entry.name for entry in path.iterdir()} <= {self.record.claim.name}:
            return None
        number = 1
        while (old := path.with_name(f"{path.name}.old-{number}")).exists():
            number += 1
        fresh = RunRecord(Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)))
        try:
            fresh.path.chmod(0o755)
            with locked(fresh.claim, _KEYS) as file:
                file.write(self._holder)
            path.rename(old)
            fresh.path.rename(path)  # refused by the system if somebody made a record there meanwhile
        except (OSError, RecordError) as error:
            shutil.rmtree(fresh.path, ignore_errors=True)
            raise RecordError.of("set aside", path, error) if isinstance(error, OSError) else error from error
        (old / self.record.claim.name).unlink()
        sync_folder(path.parent)
        return old


@contextmanager
def claim(record: RunRecord) -> Iterator[Claim]:
    """Hold a record for the length of a with-block; its folder is created where it is missing.

    Raises:
        RecordBusy: a live process holds it.
    """
    held = take(record)
    try:
        yield held
    finally:
        held.release()


def take(record: RunRecord) -> Claim:
    """Claim a record for this process, until `release` or its death; RecordBusy if a live process holds it."""
    record.create()
    mine = {"host": socket.gethostname(), "since": now(), "processes": [identity(os.getpid())]}
    with locked(record.claim, _KEYS) as file:
        holder = file.read()
        if holder is not None and _alive(holder):
            pids = ", ".join(str(process["pid"]) for process in holder["processes"] if process != _NOBODY)
            raise RecordBusy(
                f"run record {record.path} is in use by process {pids} on {holder['host']} since {holder['since']}; "
                f"wait for it, or delete {record.claim} if you know that it is gone"
            )
        file.write(mine)
    return Claim(record, mine, recovered=holder is not None)


def holder_alive(record: RunRecord) -> bool:
    """Say whether a live process holds the record; changes nothing."""
    holder = look(record.claim, _KEYS)
    return holder is not None and _alive(holder)


def supervisor_alive(record: RunRecord) -> bool:
    """Say whether the process that made the claim lives; the processes it added may outlive it for a moment."""
    holder = look(record.claim, _KEYS)
    return holder is not None and _alive({**holder, "processes": holder["processes"][:1]})


def join_claim(record: RunRecord) -> None:
    """Let the claim on a record last until this process, too, has ended; without a claim nothing happens."""
    with locked(record.claim, _KEYS) as file:
        holder = file.read()
        if holder is not None:
            holder["processes"].append(identity(os.getpid()))
            file.write(holder)


def _same(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    """Say whether two claims are the same one."""
    return one is not None and one["host"] == other["host"] and one["processes"][0] == other["processes"][0]


def _alive(holder: dict[str, Any]) -> bool:
    """Say whether any process of a claim still runs; a process of another host does as far as we can tell."""
    if holder["host"] != socket.gethostname():
        return True
    return any(runs(process) for process in holder["processes"])
