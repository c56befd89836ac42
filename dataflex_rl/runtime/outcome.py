"""How a run ended: its exit code, and its reason in a file that the process which started it has named.

Nobody has to look for the reason in what a run prints: that is for people.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

from dataflex_rl.record.files import RecordError, read_object, write_json

VARIABLE = "DATAFLEX_RL_OUTCOME"  # the environment variable with the path of the file


class Exit(IntEnum):
    """The exit codes of `dataflex_rl.run`."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    BUSY = 3
    INTERRUPTED = 130


def report(code: int, reason: str | None = None, environment: MutableMapping[str, str] = os.environ) -> int:
    """Leave code and reason where the process that started this one has asked for them; returns the code.

    Where nobody asked nothing is written, and a disk that refuses changes nothing: the exit code stands.
    """
    path = environment.get(VARIABLE)
    if path:
        with suppress(RecordError):
            write_json(Path(path), {"schema": 1, "code": int(code), "reason": reason})
    return code


def read_reason(path: Path, code: int) -> str | None:
    """Return the reason that a process which ended with a code has left; None if it left none.

    A file that is broken, or is of another exit code (a process killed after it wrote), gives no reason either.
    """
    try:
        found = read_object(path)
    except RecordError:
        return None
    reason = found.get("reason") if found is not None and found.get("code") == code else None
    return reason if isinstance(reason, str) else None
