"""Curves: one line per method with a band over seeds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.benchmarks import Floats
from analysis.plots.style import figure
from analysis.stats.curves import band

_MOST_POINTS = 120  # per line: enough for the eye, and the page stays small


def bands(
    grid_T: Floats,
    curves: Mapping[str, Floats],
    colour: Mapping[str, str],
    *,
    x: str,
    y: str,
    level: float = 0.95,
    with_band: bool = True,
) -> Figure:
    """Draw the mean over seeds per method and its pointwise t band (n >= 2). curves: {method: (S, T)}."""
    made, (axes,) = figure(6.4, 3.2)
    pick_T = np.unique(np.linspace(0, len(grid_T) - 1, min(len(grid_T), _MOST_POINTS)).astype(int))
    tops = []
    for method, y_ST in curves.items():
        mean_T, low_T, high_T = (v[pick_T] for v in band(y_ST, level))
        real_T = ~np.isnan(mean_T)
        axes.plot(grid_T[pick_T][real_T], mean_T[real_T], color=colour[method], lw=1.4, label=method)
        tops.append(mean_T[real_T])
        if with_band and (~np.isnan(low_T)).any():
            axes.fill_between(grid_T[pick_T], low_T, high_T, color=colour[method], alpha=0.13, lw=0)
    _limits(axes, tops)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    made.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return made


def lines(points: Mapping[str, tuple[Floats, Floats]], colour: Mapping[str, str], *, x: str, y: str) -> Figure:
    """Draw one line per method through (x_T, y_T): score against tokens."""
    made, (axes,) = figure(6.4, 3.2)
    for method, (x_T, y_T) in points.items():
        pick_T = np.unique(np.linspace(0, len(x_T) - 1, min(len(x_T), _MOST_POINTS)).astype(int))
        axes.plot(x_T[pick_T], y_T[pick_T], color=colour[method], lw=1.4, label=method)
        axes.plot(x_T[-1], y_T[-1], "o", color=colour[method], ms=4)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    made.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return made


def curves_text(curves: Mapping[str, Floats], unit: str) -> str:
    """Say where every mean curve starts and ends."""
    parts = []
    for method, y_ST in curves.items():
        mean_T = band(y_ST)[0]
        real_T = mean_T[~np.isnan(mean_T)]
        if len(real_T):
            parts.append(f"{method} from {real_T[0]:.2f} to {real_T[-1]:.2f} {unit}")
    return "; ".join(parts)


def _limits(axes: Axes, means: list[Floats]) -> None:
    """Frame the means: a band of two or three seeds can be wider than any score."""
    whole = np.concatenate(means) if means else np.array([])
    if not len(whole):
        return
    low, high = float(whole.min()), float(whole.max())
    room = max(0.5 * (high - low), 0.05 * abs(high), 1e-3)
    axes.set_ylim(low - room, high + room)
