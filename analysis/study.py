"""Everything that tables, figures and the report are made of: the runs, the comparisons, and curves read on demand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from analysis.benchmarks import Floats
from analysis.blocks import blocks
from analysis.compare import Comparison, compare_all
from analysis.errors import LEFT_OUT, AnalysisError
from analysis.load import Broken, Run, Runs, load
from analysis.load.evaluations import parse_score, scored
from analysis.load.items import read_items
from analysis.load.metrics import read_curves
from analysis.options import Options

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Study:
    """Runs compared under one set of options. `curve_notes` grows as metrics files are read (cut-off lines).

    A file that turns out to be broken on the way is left out, and named in `unreadable`.
    """

    runs: Runs
    options: Options
    comparisons: tuple[Comparison, ...]
    curve_notes: list[str] = field(default_factory=list)
    unreadable: list[Broken] = field(default_factory=list)
    _curves: dict[str, Mapping[str, Floats]] = field(default_factory=dict)

    def curves(self, run: Run) -> Mapping[str, Floats]:
        """Give a run's curves ("step" and keys over T lines); empty where no metrics were recorded."""
        if run.curves is not None:
            return run.curves
        if run.source not in self._curves:
            found, notes = self._read(run, "metrics.jsonl", read_curves)
            self.curve_notes.extend(notes)
            self._curves[run.source] = found or {}
        return self._curves[run.source]

    def items(self, run: Run) -> tuple[dict[str, dict[str, bool]], list[str]]:
        """Give a run's {benchmark: {item: correct}} and notes; empty where no items were recorded."""
        found, notes = self._read(run, "eval_items.jsonl", read_items)
        return found or {}, notes

    def _read(self, run: Run, name: str, reader: Callable[[Path], tuple[_T, list[str]]]) -> tuple[_T | None, list[str]]:
        """Read a file of a run, None where there is none or it is broken."""
        if run.path is None:
            return None, []
        try:
            return reader(run.path / name) if (run.path / name).exists() else (None, [])
        except (AnalysisError, OSError) as error:
            self.unreadable.append(Broken(f"{run.path}: {name} left out: {error}"))
            return None, [self.unreadable[-1]]

    def exit_code(self) -> int:
        """Name on stderr what was left out as broken; give 3 if anything was, else 0. Unfinished runs do not count."""
        broken = (*self.runs.broken, *self.unreadable)
        for note in broken:
            sys.stderr.write(f"warning: {note}\n")
        return LEFT_OUT if broken else 0


def make_study(sources: Sequence[str], options: Options) -> Study:
    """Load the sources and compare everything that may be compared. Raises AnalysisError as the loaders do."""
    runs, count = load(sources), parse_score(options.score)
    runs = replace(runs, runs=tuple(scored(run, count) for run in runs.runs))
    return Study(runs=runs, options=options, comparisons=tuple(compare_all(blocks(runs), options, runs.left_out)))
