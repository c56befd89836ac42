"""The cause of a failure in a few lines, from the log of the training processes."""

from __future__ import annotations

import re
from pathlib import Path

_TAIL = 512 * 1024  # bytes of the log's end that are looked at
_LINES = 6  # most lines returned
_WIDTH = 300  # most characters of a line
_HEADER = "Traceback (most recent call last):"
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROCESS = re.compile(r"^\([\w.:-]*(?:[ ,][^()]*)?pid=\d+[^()]*\) ?")  # what Ray puts before a line of a worker
_FRAME = re.compile(r'^\s+File "(.+)", line (\d+), in (\S+)')
_RAISED = re.compile(r"^(?!ray::)[A-Za-z_][\w.]*(?:: .*|$)")  # ValueError: text


def cause_of(log: Path, since: int = 0) -> list[str]:
    """Return what the log's last traceback raised, and where; at most 6 lines.

    For an error that crossed Ray processes that is the original error, not Ray's wrapper. Without a traceback (a
    process killed by the system): the log's last lines. No log, or an empty one: one line saying so. What lies before
    `since` (the log's size when this attempt began) [bytes] does not count.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return [f"no log to read ({error.strerror})"]
    lines = [_PROCESS.sub("", _COLOUR.sub("", line)).rstrip() for line in re.split(r"\r\n|\r|\n", text)]
    found = _last_traceback(lines) or [line for line in lines if line.strip()][-_LINES:]
    return [line[:_WIDTH] for line in found] or ["the log is empty"]


def _last_traceback(lines: list[str]) -> list[str]:
    """Return the raised error with its message, and the frame it came from; none without a traceback.

    A traceback that Python ignored ("Exception ignored in ...") is none: it comes from shutting down.
    """
    starts = [
        number
        for number, line in enumerate(lines)
        if line.strip() == _HEADER and "Exception ignored in" not in lines[max(0, number - 1)]
    ]
    for start in reversed(starts):
        found = _read_traceback(lines[start + 1 :])
        if found:
            return found
    return []


def _read_traceback(lines: list[str]) -> list[str]:
    """Return error and place of the traceback that these lines begin with; none if its error is cut off."""
    frame, raised = "", -1
    for number, line in enumerate(lines):
        match = _FRAME.match(line)
        if match:
            frame = f"at {match[1]}:{match[2]}, in {match[3]}"
        elif _RAISED.match(line) and not line.startswith("ray.exceptions."):
            raised = number
            break
        elif line and not line.startswith((" ", "ray::", "ray.exceptions.")):
            break
    if raised < 0:
        return []
    message = [lines[raised]]
    for line in lines[raised + 1 : raised + _LINES - 1]:
        if not line.strip() or _HEADER in line or line.startswith("("):
            break
        message.append(line)
    return [*message[: _LINES - 1], *([frame] if frame else [])]
