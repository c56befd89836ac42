"""suspects: evaluations that do not fit their block, and every headline with and without them."""

from __future__ import annotations

from analysis.compare import Comparison, identity
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import flagged_controls
from analysis.tables.table import Row, Table, View, columns, unique

_FOUND = columns("level", "kind", "method", "seed||int", "run_id|run", "text|what", "z_text|robust z")
_EFFECT = columns(
    "method",
    "control",
    "summary",
    "n||int",
    "delta||delta",
    "ci_low,ci_high|CI (t)|interval",
    "n_clean|n without|int",
    "delta_clean|delta without suspects|delta",
    "ci_low_clean,ci_high_clean|CI without|interval",
    "shift||delta",
)


def build(study: Study) -> Table:
    """Rows of kind "flag" (one finding each) and kind "headline" (a delta with and without the suspect runs)."""
    rows: list[Row] = []
    views: list[View] = []
    notes = [
        f"A run is suspect when two benchmarks lie {study.options.z_joint:g} robust sd or more below the "
        "block's median "
        f"together, one lies {study.options.z_single:g} below, or one is at chance or zero where the block is "
        "not. The robust sd "
        "is the larger of 1.4826 MAD and the binomial sd. Nothing is dropped: headlines are shown both ways.",
        "kind 'note' is never left out: low or high cells, swings on tiny sets, benchmarks at chance or zero "
        "for a whole block.",
    ]
    for comparison in study.comparisons:
        flags = [_flag_row(comparison, i) for i in range(len(comparison.flags))]
        effects = _effects(comparison) if any(f["level"] == "suspect" for f in flags) else []
        rows += flags + effects
        notes += flagged_controls(comparison)
        if flags:
            views.append(View(title=f"{comparison.block.name}: found", columns=_FOUND, rows=tuple(flags)))
        if effects:
            primary = tuple(r for r in effects if r["summary"] == DOMAIN_BALANCED)
            title = f"{comparison.block.name}: headlines with and without suspects"
            views.append(View(title=title, columns=_EFFECT, rows=primary))
    if not rows:
        notes.append("nothing suspect was found")
    return Table(
        name="suspects", title="Suspect evaluations", rows=tuple(rows), views=tuple(views), notes=unique(notes)
    )


def _flag_row(comparison: Comparison, i: int) -> Row:
    flag = comparison.flags[i]
    run = (
        comparison.block.runs.get((flag.method, flag.seed))
        if flag.method is not None and flag.seed is not None
        else None
    )
    controls = {m.control for m in comparison.matches if m.control}
    return identity(comparison.block) | {
        "row": "flag",
        "level": flag.level,
        "kind": flag.kind,
        "method": flag.method or "(all runs)",
        "seed": flag.seed,
        "run_id": run.run_id if run else None,
        "benchmarks": list(flag.benchmarks),
        "z": list(flag.z),
        "z_text": ", ".join(f"{z:.1f}" for z in flag.z if z == z),
        "text": flag.text,
        "is_control": flag.method in controls,
    }


def _effects(comparison: Comparison) -> list[Row]:
    keys = ("family", "method", "control", "summary", "n", "delta", "ci_low", "ci_high")
    clean = ("n_clean", "delta_clean", "ci_low_clean", "ci_high_clean")
    return [
        identity(comparison.block)
        | {"row": "headline"}
        | {k: r[k] for k in (*keys, *clean)}
        | {"shift": r["delta_clean"] - r["delta"]}
        for r in comparison.rows
        if r["kind"] != "benchmark"
    ]
