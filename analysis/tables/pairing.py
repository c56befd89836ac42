"""pairing: the audit of every pair, and what pairing by seed gains."""

from __future__ import annotations

import math

from analysis.compare import Comparison, identity
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes
from analysis.tables.table import Row, Table, View, columns, unique

_COLUMNS = columns(
    "method",
    "control",
    "n||int",
    "seeds_text|paired seeds",
    "dropped_text|dropped seeds",
    "streams|prompt streams",
    "sd|sd of differences|score",
    "pairing_r|r|ratio",
    "variance_ratio|variance paired / unpaired|ratio",
    "p_better|P(A > B)|ratio",
    "mde80_pooled|MDE 80%|score",
    "mde80_pooled_low,mde80_pooled_high|its limits|limits",
)


def build(study: Study) -> Table:
    """One row per comparison on the primary summary; residual sd, seed ICC and pooled detectable effect per block."""
    rows: list[Row] = []
    views: list[View] = []
    for comparison in study.comparisons:
        found = [_row(comparison, r) for r in comparison.rows if r["summary"] == DOMAIN_BALANCED]
        if found:
            rows += found
            views.append(View(title=_title(comparison), columns=_COLUMNS, rows=tuple(found)))
    notes = [
        "Pairs are formed by seed inside one (model, task, regime, steps, evaluation) block. A variance "
        "ratio below 1 means "
        "that pairing by seed narrows the interval. P(A > B) is over all pairs of runs, paired or not.",
        "prompt streams: all of it must agree for select and reweight, per domain the common prefix for mixers; a "
        "prompt selector draws its own.",
        *block_notes(study, study.comparisons),
    ]
    return Table(name="pairing", title="Pairing audit", rows=tuple(rows), views=tuple(views), notes=unique(notes))


def _row(comparison: Comparison, row: Row) -> Row:
    audit = comparison.audits[(row["family"], row["method"])]
    fit = comparison.fit
    keys = (
        "family",
        "method",
        "control",
        "summary",
        "n",
        "dropped_seeds",
        "sd",
        "pairing_r",
        "variance_ratio",
        "p_better",
        "mde80",
        "mde80_pooled",
        "mde80_pooled_low",
        "mde80_pooled_high",
    )
    return (
        identity(comparison.block)
        | {k: row[k] for k in keys}
        | {
            "seeds": list(audit.seeds),
            "seeds_text": ", ".join(map(str, audit.seeds)),
            "dropped_text": ", ".join(map(str, row["dropped_seeds"])) or "none",
            "streams": audit.streams,
            "problems": list(audit.problems),
            "residual_sd": fit.residual_sd,
            "seed_icc": fit.icc,
        }
    )


def _title(comparison: Comparison) -> str:
    fit = comparison.fit
    if math.isnan(fit.residual_sd):
        return f"{comparison.block.name}: no two methods with two complete seeds"
    icc = "n/a" if math.isnan(fit.icc) else f"{fit.icc:.2f}"
    return (
        f"{comparison.block.name}: residual sd {fit.residual_sd:.2f} points ({fit.methods} methods x "
        f"{fit.seeds} seeds), "
        f"seed ICC {icc}"
    )
