"""per_benchmark: every method x benchmark delta, adjusted with Benjamini-Hochberg."""

from __future__ import annotations

from analysis.study import Study
from analysis.tables.shared import block_notes, caption, with_reasons
from analysis.tables.table import Table, View, columns, unique

_COLUMNS = columns(
    "summary|benchmark",
    "method",
    "n||int",
    "control_score|control|score",
    "score||score",
    "delta||delta",
    "ci_low,ci_high|CI (t)|interval",
    "p_t|p (t)|p",
    "p_bh|p (BH)|p",
    "verdict_text|verdict",
    "verdict_ci|CI of the verdict",
)


def build(study: Study) -> Table:
    """One row per block, family, benchmark and method. The verdict uses the BH-adjusted p."""
    rows, views = [], []
    for comparison in study.comparisons:
        found = [with_reasons(r, study.options) for r in comparison.rows if r["kind"] == "benchmark"]
        for family in dict.fromkeys(r["family"] for r in found):
            members = [r for r in found if r["family"] == family]
            members.sort(key=lambda r: comparison.block.benchmarks.index(r["summary"]))
            title = f"{comparison.block.name}: against {members[0]['control']}"
            views.append(View(title=title, columns=_COLUMNS, rows=tuple(members)))
            rows += members
    notes = [*caption(study, rows), *block_notes(study, study.comparisons)]
    notes.append("Benchmark verdicts use the BH-adjusted p over method x benchmark of one block and family.")
    return Table(
        name="per_benchmark",
        title="Deltas per benchmark",
        rows=tuple(rows),
        views=tuple(views),
        notes=unique(notes),
    )
