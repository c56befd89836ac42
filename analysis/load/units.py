"""Percent or fractions: which of the two the cells of a table are, by their sizes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from analysis.errors import AnalysisError
from analysis.load.frame import Run, Score


def in_percent(path: Path, runs: list[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs of a table in percent, and what is to be said of the unit.

    No cell above 1, and one above 0: all are fractions of 1, and turned into percent. Else they are percent, and a run
    or a benchmark that never exceeds 1 is suspect.

    Raises AnalysisError for a run whose cells, two or more above 0, are all at most 1 while others are not, and for a
    benchmark whose cells are less than one item of it.
    """
    cells = [score.accuracy for run in runs for score in run.trained if not math.isnan(score.accuracy)]
    if not any(cells):
        return runs, []
    if max(cells) <= 1.0:
        note = f"{path.name}: no cell exceeds 1: read as fractions, times 100"
        return [replace(run, trained=tuple(map(_scaled, run.trained))) for run in runs], [note]
    for run in runs:
        positive = _positive(run.trained)
        if len(positive) > 1 and max(positive) <= 1.0:
            raise AnalysisError(
                f"{run.source}: no cell exceeds 1, other rows are in percent; expected one unit per file"
            )
    return runs, _suspect_columns(path, runs)


def _scaled(score: Score) -> Score:
    return replace(score, accuracy=round(100 * score.accuracy, 10))


def _positive(scores: Iterable[Score]) -> list[float]:
    return [score.accuracy for score in scores if score.accuracy > 0]


def _suspect_columns(path: Path, runs: list[Run]) -> list[str]:
    columns: dict[str, list[Score]] = defaultdict(list)
    for run in runs:
        for score in run.trained:
            columns[score.benchmark].append(score)
    notes = []
    for name, scores in columns.items():
        positive, total = _positive(scores), scores[0].total
        if not positive or max(positive) > 1.0:
            continue
        if total is not None and min(positive) < 99 / total:  # one item is 100 / total percent, less 1 % for rounding
            raise AnalysisError(
                f"{path}: column of {name!r}: {min(positive):g} percent is less than one of its {total} items; are "
                "these fractions beside percent? expected one unit per file"
            )
        notes.append(f"{path.name}: {name} never exceeds 1: read as percent, as the other columns")
    return notes
