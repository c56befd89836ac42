"""Verdicts and audit in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.report.html import paragraphs
from analysis.stats.multiplicity import EQUIVALENT, INCONCLUSIVE, INFERIOR, SUPERIOR, UNTESTABLE
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes, caption, flagged_controls, verdict_text
from analysis.tables.table import Row, unique


def verdicts(study: Study) -> str:
    """Say, per block and family, what is shown and what is not."""
    lines = [line for c in study.comparisons for line in _block(c, study.options.margin)]
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


def _block(comparison: Comparison, margin: float) -> list[str]:
    lines = []
    for match in comparison.matches:
        rows = [r for r in comparison.rows if r["summary"] == DOMAIN_BALANCED and r["family"] == match.family]
        if rows:
            lines.append(_sentence(comparison, rows, margin))
    return lines


def _sentence(comparison: Comparison, rows: Sequence[Row], margin: float) -> str:
    seeds = sorted({r["n"] for r in rows})
    spread = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    parts = [f"{comparison.block.name}, {spread} paired seeds against {rows[0]['control']}:"]
    groups = [
        (v, [r for r in rows if r["verdict"] == v]) for v in (SUPERIOR, INFERIOR, EQUIVALENT, INCONCLUSIVE, UNTESTABLE)
    ]
    if not any(found for v, found in groups if v in (SUPERIOR, INFERIOR)):
        parts.append(f"no method of {len(rows)} is shown to be better or worse.")
    names = {EQUIVALENT: f"equivalent within {margin:g} points", UNTESTABLE: "not testable"}
    parts += [f"{names.get(v, v).capitalize()}: {', '.join(map(_delta, found))}." for v, found in groups if found]
    sizes = [r["mde80"] for r in rows if not math.isnan(r["mde80"])]
    if sizes:
        parts.append(
            f"Detectable with 80% power: {min(sizes):.1f} to {max(sizes):.1f} points, depending on the method."
        )
    suspects = len({(f.method, f.seed) for f in comparison.flags if f.level == "suspect"})
    if suspects:
        moved = " A control run is among them: it moves every delta." if flagged_controls(comparison) else ""
        parts.append(f"{suspects} suspect {'evaluation' if suspects == 1 else 'evaluations'}.{moved}")
    return " ".join(parts)


def _delta(row: Row) -> str:
    if math.isnan(row["delta"]):
        return str(row["method"])
    inside = " within margin" if "within margin" in verdict_text(row) else ""
    interval = "" if math.isnan(row["ci_low"]) else f" [{row['ci_low']:+.2f}, {row['ci_high']:+.2f}]"
    return f"{row['method']} {row['delta']:+.2f}{interval}{inside}"


def _streams(states: set[str]) -> str:
    if states == {"agree"}:
        return "all pairs agree"
    return ", ".join(sorted(states)) if states else "no pair"
