"""Claims: one process at a time works on a record.

The claim is a file with the processes that hold it (pid and start) and their place. It ends with `release` or with the
death of every one of them: a kill leaves nothing to clean up, and a reused pid does not count as alive. A short file
lock makes looking and taking one step.

Whether a process on another machine, or in another container, lives cannot be seen: there the claim's heartbeat decides
(see `locks`). Both the claimant and the process that writes the record beat, so that one of them may hang. A machine
that is gone thus frees the record after a minute. One that was only cut off or asleep finds, within a beat of its
return, that another has taken over, and ends all processes of its claim at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import RecordError, sync_folder
from dataflex_rl.record.locks import Heart, here, identity, locked, look, place, runs, win
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import now

BEAT = 10.0  # [s] between two beats
_KEYS = frozenset({"host", "place", "since", "token", "processes"})
_NOBODY = {"pid": 0, "start": 0}  # stands for a claimant that gave the record back before its children ended


class RecordBusy(ConfigError):
    """Another live process works on the record."""


class Claim:
    """A claim held by this process. `recovered` says whether a dead process had left one."""

    def __init__(self, record: RunRecord, holder: dict[str, Any], recovered: bool) -> None:
        self.record = record
        self.recovered = recovered
        self._holder = holder
        self._heart = _heart(record, holder)

    def add_process(self, pid: int) -> None:
        """Let the claim last until this process, too, has ended (a training child that may outlive its parent)."""
        with locked(self.record.claim, _KEYS) as file:
            current = file.read() or self._holder  # others may have joined
            if current["token"] != self._holder["token"]:
                raise _busy(self.record, current)
            self._holder = current
            self._holder["processes"].append(identity(pid))
            file.write(self._holder)

    def release(self) -> None:
        """Give the record back; processes that were added and still run keep it until they end."""
        self._heart.stop()
        with locked(self.record.claim, _KEYS) as file:
            holder = file.read()
            if holder is None or holder["token"] != self._holder["token"]:
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
    """Claim a record for this process, until `release` or its death.

    A claim from elsewhere is watched for its heartbeat first, for a minute if there is none.

    Raises:
        RecordBusy: a live process holds it.
    """
    record.create()
    mine = {
        "host": socket.gethostname(),
        "place": place(),
        "since": now(),
        "token": uuid.uuid4().hex,
        "processes": [identity(os.getpid())],
    }
    holder = win(record.claim, _KEYS, mine, alive=_alive, busy=lambda holder: _busy(record, holder))
    return Claim(record, mine, recovered=holder is not None)


def _busy(record: RunRecord, holder: dict[str, Any]) -> RecordBusy:
    pids = ", ".join(str(process["pid"]) for process in holder["processes"] if process != _NOBODY)
    return RecordBusy(
        f"run record {record.path} is in use by process {pids} on {holder['host']} since {holder['since']}; "
        "wait for it, or end it"
    )


def holder_alive(record: RunRecord) -> bool:
    """Say whether a live process holds the record; changes nothing."""
    holder = look(record.claim, _KEYS)
    return holder is not None and _alive(holder)


def supervisor_alive(record: RunRecord) -> bool:
    """Say whether the process that made the claim lives; the processes it added may outlive it for a moment."""
    holder = look(record.claim, _KEYS)
    return holder is not None and _alive({**holder, "processes": holder["processes"][:1]})


def join_claim(record: RunRecord) -> None:
    """Let the claim on a record last until this process, too, has ended, and beat; without a claim nothing happens."""
    with locked(record.claim, _KEYS) as file:
        holder = file.read()
        if holder is None:
            return
        if here(holder):  # a process of another machine can only beat
            holder["processes"].append(identity(os.getpid()))
            file.write(holder)
    _heart(record, holder)


def _heart(record: RunRecord, holder: dict[str, Any]) -> Heart:
    """Beat for a claim of this process; it ends, and all of its claim with it, when another has the record."""

    def lost(successor: dict[str, Any]) -> None:
        print(
            f"error: run record {record.path} was taken over by a process on {successor['host']}, which had seen no "
            "sign of life from here for a minute",
            file=sys.stderr,
            flush=True,
        )
        mine = heart.holder["processes"] if here(heart.holder) else []
        for process in filter(runs, mine):  # the claimant first, so that it says no more
            if process["pid"] != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(process["pid"], signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    heart = Heart(record.claim, _KEYS, holder, every=BEAT, lost=lost)
    return heart


def _alive(holder: dict[str, Any]) -> bool:
    """Say whether any process of a claim still runs; a process elsewhere does as far as we can tell."""
    return not here(holder) or any(runs(process) for process in holder["processes"])
