"""metrics.jsonl: one line {"step": n, "data": {key: number}} per finished step, no step lost or doubled.

JSON has no NaN and no infinity: such a value is written as null, and its line says which it was under "nonfinite",
{"actor/grad_norm": "nan"}; lines without one have no such key. A trainer with a data policy also writes "applied":
whether the policy decided on the batch of that step.
A line counts once its newline is on the disk. What a kill left behind it is cut off before the next line.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dataflex_rl.record.files import RecordError, guarded, read_bytes, write_with
from dataflex_rl.record.paths import RunRecord


class MetricsLog:
    """The writer of metrics.jsonl. One at a time (see owner); cut_metrics comes before it, not during it."""

    def __init__(self, record: RunRecord) -> None:
        """Continue after the last whole line; cut off a part of a line left by a kill."""
        self._path = record.metrics
        content = read_bytes(self._path) or b""
        self.last_step = len(parse_lines(content, record))
        if not content.endswith(b"\n") and content:
            cut_metrics(record, self.last_step)

    def append(self, step: int, data: Mapping[str, Any], *, applied: bool | None = None) -> None:
        """Append the line of one step; it is on the disk when this returns.

        Args:
            step: 1 for the first line, then one more each time.
            data: numbers (Python, numpy, or tensors of one element), bools or strings.
            applied: whether the data policy decided on the step's batch; None where nobody says.

        Raises:
            RecordError: the step is not the next one, a value is none of these, or the disk refuses (the file is then
                as before).
        """
        if step != self.last_step + 1:
            raise RecordError(
                f"run record: {self._path}: step {step} cannot follow step {self.last_step}; "
                f"expected {self.last_step + 1} (steps are neither skipped, repeated nor reordered)"
            )
        line = metrics_line(step, data, applied=applied)
        with guarded(self._path):
            self._append(line)
        self.last_step = step

    def _append(self, line: str) -> None:
        """Write a line in one call and sync it; on failure restore the file's length."""
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                length = os.fstat(handle).st_size
                try:
                    _write_all(handle, line.encode())
                    os.fsync(handle)
                except OSError:
                    with suppress(OSError):  # the reason is the first error; half a line is cut off by the next writer
                        os.ftruncate(handle, length)
                    raise
            finally:
                os.close(handle)
        except OSError as error:
            raise RecordError.of("append to", self._path, error) from error


def _write_all(handle: int, content: bytes) -> None:
    """Write in one call; a short write (a nearly full disk) is continued, which raises the reason."""
    view = memoryview(content)
    while view:
        view = view[os.write(handle, view) :]


def metrics_line(step: int, data: Mapping[str, Any], *, applied: bool | None = None) -> str:
    """Return the line of one step, with its newline; RecordError names a key whose value is no number."""
    plain = {str(key): _scalar(str(key), value) for key, value in data.items()}
    bad = {key: value for key, value in plain.items() if isinstance(value, float) and not math.isfinite(value)}
    line: dict[str, Any] = {"step": step, "data": {key: None if key in bad else value for key, value in plain.items()}}
    if applied is not None:
        line["applied"] = applied
    if bad:
        line["nonfinite"] = {key: str(value) for key, value in bad.items()}
    return json.dumps(line, allow_nan=False, separators=(",", ":")) + "\n"


def _scalar(key: str, value: Any) -> bool | int | float | str | None:
    """Return a metric as a JSON scalar."""
    if hasattr(value, "item"):
        with suppress(ValueError, RuntimeError):  # numpy and torch, for more than one element: refused below
            value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RecordError(f"run record: metric {key!r} is a {type(value).__name__}, expected a number")


def read_metrics(record: RunRecord) -> list[dict[str, Any]]:
    """Return the lines of all finished steps, in order: steps 1..n.

    A last line without its newline (a kill in the middle of a write) does not count. No file, no steps.

    Raises:
        RecordError: any other line is broken, or the steps are not 1, 2, 3, ...
    """
    return parse_lines(read_bytes(record.metrics) or b"", record)


def parse_lines(content: bytes, record: RunRecord) -> list[dict[str, Any]]:
    """Return the whole lines of a metrics.jsonl as read_metrics does."""
    whole = content[: content.rfind(b"\n") + 1]
    return [parse_line(line, number, record) for number, line in enumerate(whole.splitlines(), start=1)]


def parse_line(line: bytes, number: int, record: RunRecord) -> dict[str, Any]:
    """Return the line of step `number`; RecordError naming file and line if it is not that."""
    place = f"run record: {record.metrics}:{number}"
    try:
        value = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{place} is no JSON ({error})") from error
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        raise RecordError(f'{place} is no {{"step": ..., "data": ...}}')
    if type(value.get("step")) is not int or value["step"] != number:
        raise RecordError(f"{place} holds step {value.get('step')!r}, expected step {number}")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def cut_metrics(record: RunRecord, to_step: int) -> int:
    """Drop the lines after a step, in one atomic rewrite; returns how many steps were dropped.

    Raises:
        RecordError: the step has no line (nothing is changed then).
    """
    content = read_bytes(record.metrics)
    lines = len(parse_lines(content or b"", record))
    if not 0 <= to_step <= lines:
        raise RecordError(f"run record: {record.metrics} ends at step {lines}: cannot be cut to step {to_step}")
    if content is not None:
        kept = b"".join(content.splitlines(keepends=True)[:to_step])
        write_with(record.metrics, lambda file: file.write(kept))
    return lines - to_step


def cut_trace(record: RunRecord, to_step: int) -> None:
    """Drop the trace lines after a step, and a last line that a kill left in part.

    Raises:
        RecordError: a line is broken or cannot be read (nothing is changed then).
    """
    content = read_bytes(record.trace)
    if content is None:
        return
    try:
        lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        kept = b"".join(line for line in lines if json.loads(line)["step"] <= to_step)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(f"run record: {record.trace} has a line that is none of a step ({error})") from error
    write_with(record.trace, lambda file: file.write(kept))
