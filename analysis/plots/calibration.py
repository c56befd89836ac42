"""Predicted against observed solve rates: one line per method, first and later visits side by side."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from analysis.load.predictions import VISITS, Scored
from analysis.plots.style import INK, figure

_LARGEST = 60.0  # area of the mark with most responses [points squared]


def calibration(scored: Mapping[str, Mapping[str, Scored]], colour: Mapping[str, str]) -> Figure:
    """Draw {method: {visits: Scored}}: on the diagonal a prediction holds; a mark's area is its share of responses."""
    made, axes = figure(7.4, 3.4, columns=len(VISITS))
    for one, visits in zip(axes, VISITS, strict=True):
        one.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=":")
        for method, of in scored.items():
            if visits not in of:
                continue
            bins = of[visits].bins
            x, y = [part.predicted for part in bins], [part.observed for part in bins]
            one.plot(x, y, color=colour[method], lw=1.2, label=method)
            one.scatter(x, y, s=[_LARGEST * part.responses / of[visits].responses for part in bins],
                        color=colour[method])  # fmt: skip
        one.set_xlabel("predicted solve rate")
        one.set_title(f"{visits} visits of a prompt", fontsize=9)
        one.set_xlim(0, 1)
        one.set_ylim(0, 1)
    axes[0].set_ylabel("observed")
    known = {label: line for one in axes for line, label in zip(*one.get_legend_handles_labels(), strict=True)}
    made.legend(list(known.values()), list(known), loc="outside right upper", fontsize=8)
    return made


def calibration_text(scored: Mapping[str, Mapping[str, Scored]]) -> str:
    """Say each Brier score, beside that of the domain's mean."""
    return "; ".join(
        f"{method}, {visits} visits: Brier score {one.brier:.3f}, of the domain mean {one.brier_domain:.3f}, over "
        f"{one.responses:,.0f} responses"
        for method, of in scored.items()
        for visits, one in of.items()
    )
