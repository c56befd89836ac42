"""Heat map of deltas: methods x domains (or benchmarks), every cell with its number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from analysis.benchmarks import Floats
from analysis.plots.style import figure


def heatmap(delta_MD: Floats, methods: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw deltas [points] on a scale that is symmetric about 0; a missing cell is empty and says n/a."""
    made, (axes,) = figure(1.6 + 1.1 * max(len(columns), 2), 1.1 + 0.34 * max(len(methods), 1))
    finite = np.abs(delta_MD[np.isfinite(delta_MD)])
    top = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    edge_x, edge_y = (np.arange(n + 1) - 0.5 for n in (len(columns), len(methods)))
    axes.pcolormesh(edge_x, edge_y, np.ma.masked_invalid(delta_MD), cmap="RdBu", vmin=-top, vmax=top)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), list(columns))
    axes.set_yticks(range(len(methods)), list(methods))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    for i in range(len(methods)):
        for j in range(len(columns)):
            value = delta_MD[i, j]
            if not np.isfinite(value):
                axes.text(j, i, "n/a", ha="center", va="center")
                continue
            colour = "white" if abs(value) > 0.6 * top else "#111111"
            axes.text(j, i, f"{value:+.2f}", ha="center", va="center", color=colour)
    return made


def heatmap_text(delta_MD: Floats, methods: Sequence[str], columns: Sequence[str]) -> str:
    """Say what the heat map shows."""
    return "; ".join(
        f"{m}: "
        + ", ".join(f"{c} {v:+.2f}" if np.isfinite(v) else f"{c} n/a" for c, v in zip(columns, row, strict=True))
        for m, row in zip(methods, delta_MD, strict=True)
    )
