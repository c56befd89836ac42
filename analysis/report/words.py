"""Verdicts and audit in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.options import Options
from analysis.report.html import paragraphs
from analysis.stats.multiplicity import EQUIVALENT, INCONCLUSIVE, INFERIOR, SUPERIOR, UNTESTABLE
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes, caption, flagged_controls
from analysis.tables.table import Row, unique
from analysis.verdicts import family_text, interval_text, remarks, seeds_text, shared_noise


def verdicts(study: Study) -> str:
    """Say, per block and family, what is shown and what is not."""
    lines = [line for c in study.comparisons for line in _block(c, study.options)]
    return f'<div class="lead">{paragraphs(lines or ["Nothing could be compared: see the audit."])}</div>'


def audit(study: Study) -> str:
    """Say what was compared and how, what was left out, and which controls are suspect."""
    rows = [r for c in study.comparisons for r in c.rows]
    runs, blocks = len(study.runs.runs), len(study.comparisons)
    streams = {a.streams for c in study.comparisons for a in c.audits.values()}
    lines = [
        f"{runs} runs in {blocks} {'block' if blocks == 1 else 'blocks'}; a block holds the runs of one "
        "model, task, regime, "
        "number of steps and evaluation. Methods are paired with their control by seed; the seed is the unit "
        "of replication.",
        f"Recorded prompt streams: {_streams(streams)}.",
        *caption(study, rows),
        *block_notes(study, study.comparisons),
        *study.curve_notes,
    ]
    return paragraphs(unique(lines))


def _block(comparison: Comparison, options: Options) -> list[str]:
    lines = []
    for match in comparison.matches:
        rows = [r for r in comparison.rows if r["summary"] == DOMAIN_BALANCED and r["family"] == match.family]
        if rows:
            lines.append(_sentence(comparison, rows, options))
    return lines + shared_noise(comparison, options)


def _sentence(comparison: Comparison, rows: Sequence[Row], options: Options) -> str:
    seeds = sorted({r["n"] for r in rows})
    spread = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    parts = [f"{comparison.block.name}, {spread} paired seeds against {rows[0]['control']}, {family_text(rows[0])}:"]
    groups = [
        (v, [r for r in rows if r["verdict"] == v]) for v in (SUPERIOR, INFERIOR, EQUIVALENT, INCONCLUSIVE, UNTESTABLE)
    ]
    if not any(found for v, found in groups if v in (SUPERIOR, INFERIOR)):
        parts.append(f"no method of {len(rows)} is shown to be better or worse.")
    names = {EQUIVALENT: f"equivalent within {options.margin:g} points", UNTESTABLE: "not testable"}
    parts += [
        f"{names.get(v, v).capitalize()}: {', '.join(_delta(r, options) for r in found)}."
        for v, found in groups
        if found
    ]
    parts += _detectable(rows, options)
    suspects = len({(f.method, f.seed) for f in comparison.flags if f.level == "suspect"})
    if suspects:
        moved = " A control run is among them: it moves every delta." if flagged_controls(comparison) else ""
        parts.append(f"{suspects} suspect {'evaluation' if suspects == 1 else 'evaluations'}.{moved}")
    return " ".join(parts)


def _detectable(rows: Sequence[Row], options: Options) -> list[str]:
    known = [r for r in rows if not math.isnan(r["mde80_pooled"])]
    if not known:
        return []
    row = max(known, key=lambda r: r["n"])
    return [
        f"Detectable with 80% power at n = {row['n']}: {row['mde80_pooled']:.1f} points ({row['mde80_pooled_low']:.1f} "
        f"to {row['mde80_pooled_high']:.1f}, the {100 * options.level:g}% limits of the pooled sd)."
    ]


def _delta(row: Row, options: Options) -> str:
    if math.isnan(row["delta"]):
        return str(row["method"])
    extra = [*(remarks(row, options) if row["verdict"] != EQUIVALENT else []), seeds_text(row)]
    said = "; ".join(e for e in extra if e)
    return f"{row['method']} {row['delta']:+.2f} {interval_text(row)}".rstrip() + (f" ({said})" if said else "")


def _streams(states: set[str]) -> str:
    if states == {"agree"}:
        return "all pairs agree"
    return ", ".join(sorted(states)) if states else "no pair"
