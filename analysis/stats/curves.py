"""Curves over steps and tokens: seed bands, smoothing, interpolation at equal tokens."""

from __future__ import annotations

import math

import numpy as np

from analysis.benchmarks import Floats
from analysis.stats.paired import SMALLEST_N, t_quantile


def cumulative(tokens_T: Floats) -> Floats:
    """Sum tokens over steps. From a step on that did not log them the sum is unknown (NaN), not smaller."""
    return np.cumsum(np.asarray(tokens_T, dtype=np.float64))


def smooth(y_T: Floats, window: int) -> Floats:
    """Give the trailing mean over up to `window` steps, NaN where all of them are missing."""
    real_T = ~np.isnan(y_T)
    total_T, count_T = np.cumsum(np.where(real_T, y_T, 0.0)), np.cumsum(real_T).astype(np.float64)
    total_T[window:] -= total_T[:-window].copy() if len(y_T) > window else 0.0
    count_T[window:] -= count_T[:-window].copy() if len(y_T) > window else 0.0
    return np.asarray(np.divide(total_T, count_T, out=np.full(len(y_T), np.nan), where=count_T > 0))


def at(x_T: Floats, y_T: Floats, x: float) -> float:
    """Interpolate a curve linearly at x; NaN outside the range it was measured in."""
    real_T = ~(np.isnan(x_T) | np.isnan(y_T))
    if not real_T.any() or math.isnan(x) or x < x_T[real_T].min() or x > x_T[real_T].max():
        return math.nan
    return float(np.interp(x, x_T[real_T], y_T[real_T]))


def first_reach(x_T: Floats, y_T: Floats, y: float) -> float:
    """Give the x at which a curve first reaches y, between its points interpolated; NaN where it never does."""
    real_T = ~(np.isnan(x_T) | np.isnan(y_T))
    x_T, y_T = x_T[real_T], y_T[real_T]
    above = np.flatnonzero(y_T >= y)
    if not len(above):
        return math.nan
    k = int(above[0])
    if k == 0:
        return float(x_T[0])
    return float(x_T[k - 1] + (y - y_T[k - 1]) / (y_T[k] - y_T[k - 1]) * (x_T[k] - x_T[k - 1]))


def band(y_ST: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Give mean, low and high over seeds per step (pointwise t interval); fewer than three seeds at a step: no
    interval there (NaN).
    """
    count_T = (~np.isnan(y_ST)).sum(axis=0)
    total_T = np.where(np.isnan(y_ST), 0.0, y_ST).sum(axis=0)
    mean_T = np.divide(total_T, count_T, out=np.full(y_ST.shape[1], np.nan), where=count_T > 0)
    square_T = np.where(np.isnan(y_ST), 0.0, (y_ST - mean_T) ** 2).sum(axis=0)
    half_T = np.full(y_ST.shape[1], np.nan)
    for n in set(count_T[count_T >= SMALLEST_N].tolist()):
        here_T = count_T == n
        half_T[here_T] = t_quantile(level, n - 1) * np.sqrt(square_T[here_T] / (n - 1) / n)
    return mean_T, mean_T - half_T, mean_T + half_T


def on_grid(step_T: Floats, y_T: Floats, grid_T: Floats) -> Floats:
    """Put a curve on a grid of steps; steps it does not have are NaN."""
    result_T = np.full(len(grid_T), np.nan)
    _, mine, theirs = np.intersect1d(step_T, grid_T, assume_unique=True, return_indices=True)
    result_T[theirs] = y_T[mine]
    return result_T
