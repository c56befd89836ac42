"""main: every block's select and reweight methods against the control."""

from __future__ import annotations

from analysis.study import Study
from analysis.tables.shared import block_notes, block_views, caption, controls, family_rows
from analysis.tables.table import Table, unique


def build(study: Study) -> Table:
    """Methods x benchmarks, domain scores, averages, delta with interval and verdict, for every block."""
    parts = family_rows(study, None)
    rows = [r for _, _, found in parts for r in found]
    notes = caption(study, rows) + block_notes(study, study.comparisons)
    if not rows:
        notes.insert(0, "no select or reweight method with its control in this source")
    return Table(
        name="main",
        title="Data policies against the control",
        rows=tuple(rows),
        views=tuple(v for c, family, found in parts for v in block_views(c, family, found, study.options)),
        notes=unique(notes),
        controls=tuple(r for c, family, _ in parts for r in controls(c, family)),
    )
