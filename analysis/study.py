"""Everything that tables, figures and the report are made of: the runs, the comparisons, and curves read on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.benchmarks import Floats
from analysis.blocks import blocks
from analysis.compare import Comparison, compare_all
from analysis.load import Run, Runs, load
from analysis.load.metrics import read_curves
from analysis.options import Options


@dataclass(frozen=True, kw_only=True)
class Study:
    """Runs compared under one set of options. `curve_notes` grows as metrics files are read (cut-off lines)."""

    runs: Runs
    options: Options
    comparisons: tuple[Comparison, ...]
    curve_notes: list[str] = field(default_factory=list)
    _curves: dict[str, Mapping[str, Floats]] = field(default_factory=dict)

    def curves(self, run: Run) -> Mapping[str, Floats]:
        """Give a run's curves ("step" and keys over T lines); empty where no metrics were recorded."""
        if run.curves is not None:
            return run.curves
        if run.source not in self._curves:
            path = run.path / "metrics.jsonl" if run.path is not None else None
            found: Mapping[str, Floats] = {}
            if path is not None and path.exists():
                found, notes = read_curves(path)
                self.curve_notes.extend(notes)
            self._curves[run.source] = found
        return self._curves[run.source]


def make_study(sources: Sequence[str], options: Options) -> Study:
    """Load the sources and compare everything that may be compared. Raises AnalysisError as the loaders do."""
    runs = load(sources)
    return Study(runs=runs, options=options, comparisons=tuple(compare_all(blocks(runs), options, runs.left_out)))
