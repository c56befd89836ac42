"""mixers: domain mixers against the fixed mixture."""

from __future__ import annotations

from dataclasses import replace

from analysis import paper
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes, block_views, caption, controls, family_rows
from analysis.tables.table import Column, Table, unique


def build(study: Study) -> Table:
    """Mixers x benchmarks with deltas against static; the study's deltas where the setting matches."""
    parts = family_rows(study, "mixers")
    rows, views = [], []
    for comparison, family, found in parts:
        for row in found:
            known = paper.mixer_delta(comparison.block, row["method"]) if row["summary"] == DOMAIN_BALANCED else None
            row["paper_delta"] = known
        rows += found
        headline, *rest = block_views(comparison, family, found, study.options)
        if any(r["paper_delta"] is not None for r in found):
            extra = Column(key="paper_delta", title="paper (12 seeds)", style="delta")
            headline = replace(headline, columns=(*headline.columns, extra))
        views += [headline, *rest]
    notes = caption(study, rows) + block_notes(study, [c for c, _, _ in parts])
    if not rows:
        notes.insert(0, "no mixer with its control (static) in this source")
    return Table(
        name="mixers",
        title="Domain mixers against the fixed mixture",
        rows=tuple(rows),
        views=tuple(views),
        notes=unique(notes),
        controls=tuple(r for c, family, _ in parts for r in controls(c, family)),
    )
