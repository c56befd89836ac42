"""Learning and policy curves from metrics.jsonl."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from analysis.benchmarks import Floats
from analysis.errors import AnalysisError

# What the figures and the cost table read; everything else of a metrics line is skipped.
WANTED = re.compile(r"dataflex/|val-core/.+/acc/mean@\d+$|timing_s/(step|gen)$|critic/rewards/mean$")


def read_curves(path: Path) -> tuple[dict[str, Floats], list[str]]:
    """Read {"step": n, "data": {...}} lines: "step" and each expected key as an array over the T lines.

    A key that a line lacks, or holds as null (a number that was not finite), is NaN there. A truncated last line is
    what a crash leaves: it is dropped and named in the notes. Raises AnalysisError naming file and line for any other
    broken line and for a step that does not grow.
    """
    steps: list[int] = []
    columns: dict[str, Floats] = {}
    lines, notes = _lines(path)
    for row, (number, line) in enumerate(lines):
        step = line["step"]
        if steps and step <= steps[-1]:
            raise AnalysisError(f"{path}: row {number}: step {step} after step {steps[-1]}; expected growing steps")
        steps.append(step)
        for key, value in line["data"].items():
            if key not in columns:
                if not WANTED.match(key):
                    continue
                columns[key] = np.full(len(lines), np.nan)
            columns[key][row] = _number(value)
    return {"step": np.asarray(steps, dtype=np.float64), **columns}, notes


def _lines(path: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error}") from error
    raw = text.rstrip().split(b"\n")
    kept: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(raw, start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            if number == len(raw):
                return kept, [f"{path}: row {number}: the last line is cut off (a crash leaves one): dropped"]
            raise AnalysisError(f"{path}: row {number}: not JSON: {error}") from error
        kept.append((number, _shaped(path, number, parsed)))
    return kept, []


def _shaped(path: Path, number: int, line: Any) -> dict[str, Any]:
    if isinstance(line, dict) and isinstance(line.get("data"), dict):
        step = line.get("step")
        if isinstance(step, int) and not isinstance(step, bool):
            return line
    raise AnalysisError(f'{path}: row {number}: expected {{"step": whole number, "data": {{...}}}}')


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return float("nan")
    return float(value)
