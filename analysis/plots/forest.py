"""Forest plot: deltas with intervals, the equivalence margin shaded, verdicts by mark and colour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from analysis.plots.style import BAD, FAINT, GOOD, INK, NEUTRAL, figure

_LOOK = {"superior": (GOOD, "^"), "inferior": (BAD, "v"), "equivalent": (INK, "s"), "inconclusive": (NEUTRAL, "o")}


def forest(rows: Sequence[Mapping[str, Any]], margin: float) -> Figure:
    """Draw one row per method (best on top): delta, the t interval that decided its verdict, hollow
    mark: delta without suspect runs.

    rows: comparison rows of one block, family and summary. Rows without a delta are left out. Intervals wider than
    three times the widest |delta| (and five margins) run into an arrow at the frame.
    """
    shown = sorted((r for r in rows if not math.isnan(r["delta"])), key=lambda r: r["delta"])
    made, (axes,) = figure(6.4, 1.3 + 0.34 * max(len(shown), 1))
    reach = max([5 * margin, *(3 * abs(r["delta"]) for r in shown)])
    axes.axvspan(-margin, margin, color=FAINT, alpha=0.18, lw=0)
    axes.axvline(0, color=INK, lw=0.8)
    for y, row in enumerate(shown):
        colour, mark = _LOOK.get(row["verdict"], (NEUTRAL, "x"))
        if not math.isnan(row["verdict_low"]):
            axes.plot([max(row["verdict_low"], -reach), min(row["verdict_high"], reach)], [y, y], color=colour, lw=2)
            _arrows(axes, row, y, reach, colour)
        axes.plot(row["delta"], y, mark, color=colour, ms=7)
        if row.get("delta_clean") is not None and abs(row["delta_clean"] - row["delta"]) > 1e-9:
            axes.plot(row["delta_clean"], y, "o", mfc="none", mec=INK, ms=8)
    axes.set_yticks(range(len(shown)), [r["method"] for r in shown])
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlim(-reach * 1.04, reach * 1.04)
    axes.set_xlabel(f"difference to {shown[0]['control'] if shown else 'control'} [points], interval of the verdict")
    return made


def _arrows(axes: Any, row: Mapping[str, Any], y: int, reach: float, colour: str) -> None:
    if row["verdict_low"] < -reach:
        axes.plot(-reach, y, "<", color=colour, ms=5)
    if row["verdict_high"] > reach:
        axes.plot(reach, y, ">", color=colour, ms=5)


def forest_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what the forest plot shows."""
    return "; ".join(
        f"{r['method']} {r['delta']:+.2f} points"
        + ("" if math.isnan(r["verdict_low"]) else f" [{r['verdict_low']:+.2f}, {r['verdict_high']:+.2f}]")
        + f", {r['verdict']}"
        for r in sorted((r for r in rows if not math.isnan(r["delta"])), key=lambda r: -r["delta"])
    )
