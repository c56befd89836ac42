"""status.json: where a run stands."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from dataflex_rl.record.files import RecordError, read_object, write_json
from dataflex_rl.record.paths import RunRecord

STATES = ("pending", "running", "done", "failed", "interrupted")
_OPTIONAL: dict[str, type] = {"error": str, "pid": int}  # fields that may be None, and what they are else


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of a run. Times are ISO 8601, UTC.

    `phase` says what a running one is doing (start, untrained, train, trained, ...); `error` is one line. A killed
    process leaves `running` behind: the lock tells whether it lives.
    """

    state: str = "pending"
    attempts: int = 0
    step: int = 0
    steps: int = 0
    phase: str = ""
    error: str | None = None
    pid: int | None = None
    host: str = ""
    started: str = ""
    updated: str = ""


def now() -> str:
    """Return the time as ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_status(record: RunRecord) -> Status:
    """Return the state of a run; `pending` with no attempts where nothing is written yet.

    Raises:
        RecordError: the file is broken, holds an unknown state, or a field of another kind.
    """
    value = read_object(record.status)
    if value is None:
        return Status()
    if value.get("state") not in STATES:
        raise RecordError(f"run record: {record.status}: state {value.get('state')!r}; known: {', '.join(STATES)}")
    known = {field.name: type(field.default) for field in fields(Status) if field.name in value}
    for name, kind in (known | _OPTIONAL).items():
        found = value.get(name)
        if name in known and not (type(found) is kind or (found is None and name in _OPTIONAL)):
            raise RecordError(f"run record: {record.status}: {name} is {found!r}, expected {kind.__name__}")
    return Status(**{name: value[name] for name in known})


def write_status(record: RunRecord, status: Status) -> Status:
    """Write the state, stamped with the time; returns what was written."""
    assert status.state in STATES, f"unknown state {status.state!r}"
    stamped = replace(status, updated=now())
    write_json(record.status, {"schema": 1, **asdict(stamped)})
    return stamped


def update_status(record: RunRecord, **changes: Any) -> Status:
    """Change some fields of the state (`state="failed", error="..."`); a new error is cut to its first line."""
    if changes.get("error"):
        changes["error"] = str(changes["error"]).strip().splitlines()[0]
    return write_status(record, replace(read_status(record), **changes))


def begin_attempt(record: RunRecord, *, steps: int, step: int = 0, pid: int | None = None) -> Status:
    """Count one more attempt and mark the run as running, from a step, in a process (default: this one)."""
    return update_status(
        record,
        state="running",
        attempts=read_status(record).attempts + 1,
        step=step,
        steps=steps,
        phase="start",
        error=None,
        pid=os.getpid() if pid is None else pid,
        host=socket.gethostname(),
        started=now(),
    )
