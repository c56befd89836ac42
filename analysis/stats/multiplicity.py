"""Adjusted p-values over families with gaps, and the verdict in words."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats

SUPERIOR, INFERIOR, EQUIVALENT, INCONCLUSIVE, UNTESTABLE = (
    "superior",
    "inferior",
    "equivalent",
    "inconclusive",
    "not testable",
)


def adjusted(p_F: Floats, method: str) -> Floats:
    """Adjust a family of p-values ("holm" or "bh"). NaN (not testable) stays NaN and is no member of the family."""
    p_F = np.asarray(p_F, dtype=np.float64)
    result_F = np.full(p_F.shape, np.nan)
    real_F = ~np.isnan(p_F)
    if real_F.any():
        result_F[real_F] = _holm(p_F[real_F]) if method == "holm" else stats.false_discovery_control(p_F[real_F])
    return result_F


def _holm(p_F: Floats) -> Floats:
    """Step down: the i-th smallest p times (F - i), made monotone. (statsmodels' runs a full garbage collection per
    call.)
    """
    order_F = np.argsort(p_F, kind="stable")
    stepped_F = np.maximum.accumulate(p_F[order_F] * (len(p_F) - np.arange(len(p_F))))
    result_F = np.empty_like(p_F)
    result_F[order_F] = np.minimum(stepped_F, 1.0)
    return result_F


def verdict(delta: float, p: float, p_equivalence: float, alpha: float = 0.05) -> str:
    """Say what a comparison shows: superior or inferior (adjusted p < alpha), else equivalent (TOST p < alpha), else
    inconclusive.

    An interval that includes 0 is never called equal. NaN p: not testable.
    """
    if math.isnan(p):
        return UNTESTABLE
    if p < alpha:
        return SUPERIOR if delta > 0 else INFERIOR
    return EQUIVALENT if p_equivalence < alpha else INCONCLUSIVE
