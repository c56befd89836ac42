"""Per-question results from eval_items.jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError


def read_items(path: Path, phase: str = "trained") -> tuple[dict[str, dict[str, bool]], list[str]]:
    """Read {benchmark: {item id: correct}} of one phase.

    A truncated last line is dropped and named. Raises AnalysisError naming file and line for a broken line, a missing
    key, a `correct` that is neither true/false nor 0/1, and an item met twice.
    """
    result: dict[str, dict[str, bool]] = {}
    raw = path.read_bytes().rstrip().split(b"\n")
    for number, line in enumerate(raw, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            if number == len(raw):
                return result, [f"{path}: row {number}: the last line is cut off (a crash leaves one): dropped"]
            raise AnalysisError(f"{path}: row {number}: not JSON: {error}") from error
        _add(result, entry, phase, f"{path}: row {number}")
    return result, []


def _add(result: dict[str, dict[str, bool]], entry: Any, phase: str, at: str) -> None:
    missing = [k for k in ("phase", "benchmark", "item", "correct") if not isinstance(entry, dict) or k not in entry]
    if missing:
        raise AnalysisError(f"{at}: no key {', '.join(map(repr, missing))}")
    if entry["phase"] != phase:
        return
    if entry["correct"] not in (True, False):
        raise AnalysisError(f"{at}: 'correct' is {entry['correct']!r}; expected true or false")
    items = result.setdefault(str(entry["benchmark"]), {})
    item = str(entry["item"])
    if item in items:
        raise AnalysisError(f"{at}: item {item!r} of {entry['benchmark']!r} twice")
    items[item] = bool(entry["correct"])
