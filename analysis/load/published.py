"""CSV files in the two published layouts: one row per run, one column per benchmark, percent.

Runs layout: run_id, campaign, model, method, seed, steps, regime, then the twelve benchmarks by name.
Summary layout: scale, name, seed, then math, aime24, olympiadbench, minerva_math, gsm8k, gpqa. Its `math` column is not
math500 (the values are no multiples of 1/500), so it stays a benchmark of its own with an unknown number of items.
A blank cell is missing; 0.0 is a score. A file in which no cell exceeds 1 is read as fractions and turned into percent;
one that mixes both is refused.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from analysis.benchmarks import DOMAINS, PAPER
from analysis.errors import AnalysisError
from analysis.load.frame import Run, Score
from analysis.load.units import in_percent

_RUN_COLUMNS = ("run_id", "campaign", "model", "method", "seed", "steps", "regime")
_SUMMARY_COLUMNS = ("scale", "name", "seed")
_SUMMARY_BENCHMARKS = {
    "math": "math",
    "aime24": "aime24",
    "olympiadbench": "olympiadbench",
    "minerva_math": "minerva_math",
    "gsm8k": "gsm8k",
    "gpqa": "gpqa_diamond",
}
_MISSING = ("", "nan", "na", "null", "none")


def load(path: Path) -> tuple[list[Run], list[str]]:
    """Read one CSV file.

    Raises AnalysisError naming file, row (line number) and column: unknown or missing columns, a seed or step that is
    no whole number, a cell that is no number, an empty method or model, a row with too few or too many cells, fractions
    beside percent.
    """
    header, rows = _read(path)
    summary = set(_SUMMARY_COLUMNS) <= set(header)
    keys = _SUMMARY_COLUMNS if summary else _RUN_COLUMNS
    benchmarks = _benchmark_columns(path, header, keys, summary)
    runs = [(_summary_run if summary else _study_run)(path, line, row, benchmarks) for line, row in rows]
    runs, units = in_percent(path, runs)
    notes = units + _blank_notes(path, runs) + _unused_notes(path, runs)
    if summary:
        notes.append(
            f"{path.name}: column 'math' is not math500 (no multiples of 0.2): summary 'six' here uses it instead"
        )
    return runs, notes


def _read(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AnalysisError(f"{path}: cannot be read as a CSV file: {error}") from error
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    if not header:
        raise AnalysisError(f"{path}: empty file; expected a header row with {', '.join(_RUN_COLUMNS)} and benchmarks")
    if len(set(header)) != len(header):
        twice = sorted({c for c in header if header.count(c) > 1})
        raise AnalysisError(f"{path}: row 1: column {', '.join(map(repr, twice))} appears twice")
    rows = []
    for cells in reader:
        if not any(c.strip() for c in cells):
            continue
        if len(cells) != len(header):
            raise AnalysisError(
                f"{path}: row {reader.line_num}: {len(cells)} cells, expected {len(header)} as in the header"
            )
        rows.append((reader.line_num, dict(zip(header, (c.strip() for c in cells), strict=True))))
    if not rows:
        raise AnalysisError(f"{path}: no run below the header")
    return header, rows


def _benchmark_columns(path: Path, header: list[str], keys: tuple[str, ...], summary: bool) -> dict[str, str]:
    """Map benchmark columns to benchmark names; every other column is an error."""
    missing = [c for c in keys if c not in header and c != "regime"]
    if missing:
        raise AnalysisError(f"{path}: row 1: no column {', '.join(map(repr, missing))}; found {', '.join(header)}")
    known = _SUMMARY_BENCHMARKS if summary else {name: name for name in PAPER}
    extra = [c for c in header if c not in keys and c not in known]
    if extra:
        raise AnalysisError(
            f"{path}: row 1: unknown benchmark column {', '.join(map(repr, extra))}; known: {', '.join(known)}"
        )
    found = {c: known[c] for c in header if c in known}
    if not found:
        raise AnalysisError(f"{path}: row 1: no benchmark column; known: {', '.join(known)}")
    return found


def _study_run(path: Path, line: int, row: Mapping[str, str], benchmarks: Mapping[str, str]) -> Run:
    regime = row.get("regime", "")
    return Run(
        run_id=row["run_id"] or f"row {line}",
        source=f"{path}:{line}",
        model=_text(path, line, row, "model"),
        task=_text(path, line, row, "campaign"),
        regime=None if regime.lower() in _MISSING else regime,
        steps=_whole(path, line, row, "steps"),
        evaluation=_evaluation(benchmarks),
        method=_text(path, line, row, "method"),
        seed=_whole(path, line, row, "seed"),
        trained=_scores(path, line, row, benchmarks),
        domains=DOMAINS,
    )


def _summary_run(path: Path, line: int, row: Mapping[str, str], benchmarks: Mapping[str, str]) -> Run:
    scale = _text(path, line, row, "scale")
    method, seed = _text(path, line, row, "name"), _whole(path, line, row, "seed")
    return Run(
        run_id=f"{scale}__{method}_s{seed}",
        source=f"{path}:{line}",
        model=scale,
        task=path.stem,
        regime=None,
        steps=None,
        evaluation=f"{path.stem} ({len(benchmarks)} benchmarks)",
        method=method,
        seed=seed,
        trained=_scores(path, line, row, benchmarks),
        domains=DOMAINS,
    )


def _evaluation(benchmarks: Mapping[str, str]) -> str:
    absent = [name for name in PAPER if name not in benchmarks.values()]
    return "paper12" if not absent else f"paper12 without {', '.join(absent)}"


def _scores(path: Path, line: int, row: Mapping[str, str], benchmarks: Mapping[str, str]) -> tuple[Score, ...]:
    return tuple(
        Score(
            benchmark=name,
            domain=PAPER[name].domain if name in PAPER else "math",
            accuracy=_percent(path, line, row, column),
            total=PAPER[name].items if name in PAPER else None,
        )
        for column, name in benchmarks.items()
    )


def _percent(path: Path, line: int, row: Mapping[str, str], column: str) -> float:
    text = row[column]
    if text.lower() in _MISSING:
        return math.nan
    try:
        value = float(text)
    except ValueError as error:
        raise AnalysisError(f"{path}: row {line}: column {column!r}: {text!r} is not a number") from error
    if not 0.0 <= value <= 100.0:
        raise AnalysisError(f"{path}: row {line}: column {column!r}: accuracy {text} is outside 0..100 percent")
    return value


def _whole(path: Path, line: int, row: Mapping[str, str], column: str) -> int:
    try:
        value = float(row[column])
    except ValueError as error:
        raise AnalysisError(f"{path}: row {line}: column {column!r}: {row[column]!r} is not a whole number") from error
    if not value.is_integer() or value < 0:
        raise AnalysisError(f"{path}: row {line}: column {column!r}: {row[column]!r} is not a whole number >= 0")
    return int(value)


def _text(path: Path, line: int, row: Mapping[str, str], column: str) -> str:
    if row[column].lower() in _MISSING:
        raise AnalysisError(f"{path}: row {line}: column {column!r} is empty")
    return row[column]


def _blank_notes(path: Path, runs: list[Run]) -> list[str]:
    """Name blank cells per model and benchmark, and what reading them as 0 or skipping them would do to a mean."""
    blank: dict[tuple[str, str], int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    for run in runs:
        count[run.model] += 1
        for score in run.trained:
            blank[(run.model, score.benchmark)] += math.isnan(score.accuracy)
    return [
        f"{path.name}: {model}: {benchmark} is blank in {k} of {count[model]} runs: missing, not 0; "
        f"averages over it are refused{_difference(runs, model, benchmark)}"
        for (model, benchmark), k in blank.items()
        if k
    ]


def _difference(runs: list[Run], model: str, benchmark: str) -> str:
    """Say how far the two wrong readings of a blank lie apart, in points of the mean over the row's cells."""
    skipped, zeroed = [], []
    for run in runs:
        cells = {s.benchmark: s.accuracy for s in run.trained}
        if run.model == model and math.isnan(cells[benchmark]):
            present = [a for b, a in cells.items() if not math.isnan(a) and b != benchmark]
            if present:
                skipped.append(sum(present) / len(present))
                zeroed.append(sum(present) / (len(present) + 1))
    if not skipped:
        return ""
    gap = sum(skipped) / len(skipped) - sum(zeroed) / len(zeroed)
    return f" (skipping the blank would read {gap:.2f} points higher than calling it 0)"


def _unused_notes(path: Path, runs: list[Run]) -> list[str]:
    named = {s.benchmark for s in runs[0].trained}
    absent = [d for d in DOMAINS if not any(PAPER[b].domain == d for b in named if b in PAPER)]
    gaps = {d: [b.name for b in PAPER.values() if b.domain == d and b.name not in named] for d in DOMAINS}
    partial = [
        f"{path.name}: no column for {', '.join(names)}: the {d} score is the mean of the others, not the study's"
        for d, names in gaps.items()
        if names and d not in absent
    ]
    return partial + [
        f"{path.name}: no {d} benchmark: the {d} score and the domain-balanced average are missing" for d in absent
    ]
