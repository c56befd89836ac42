"""Adjusted p-values over families with gaps, the level each member was tested at, and the verdict in words."""

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
HOLM, BH = "holm", "bh"


def adjusted(p_F: Floats, method: str) -> Floats:
    """Adjust a family of p-values ("holm" or "bh"). NaN (not testable) stays NaN and is no member of the family."""
    p_F = np.asarray(p_F, dtype=np.float64)
    result_F = np.full(p_F.shape, np.nan)
    real_F = ~np.isnan(p_F)
    if real_F.any():
        result_F[real_F] = _holm(p_F[real_F]) if method == HOLM else stats.false_discovery_control(p_F[real_F])
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


def levels(p_F: Floats, method: str, alpha: float = 0.05) -> Floats:
    """Give the level at which each member's own p was compared, so that p < level where the family rejects and p >=
    level where it does not: an interval at this level and the verdict never disagree.

    Of F members R are rejected. Holm: alpha / (F - i) for the i-th smallest rejected p (i from 0), alpha / (F - R) for
    the others. Benjamini-Hochberg: alpha R / F for the rejected (the level of false-coverage-rate intervals), alpha
    (R + 1) / F for the others. NaN stays NaN. Source: doi 10.1198/016214504000001907 (BH).
    """
    p_F = np.asarray(p_F, dtype=np.float64)
    reject_F = adjusted(p_F, method) < alpha
    size, rejected = int((~np.isnan(p_F)).sum()), int(reject_F.sum())
    level_F = np.where(np.isnan(p_F), np.nan, alpha)
    if method == BH:
        return level_F * np.where(reject_F, rejected, min(rejected + 1, size)) / max(size, 1)
    rank_F = np.argsort(np.argsort(np.where(np.isnan(p_F), np.inf, p_F), kind="stable"), kind="stable")
    return np.asarray(level_F / np.where(reject_F, size - rank_F, max(size - rejected, 1)))


def verdict(delta: float, p: float, p_equivalence: float, alpha: float = 0.05) -> str:
    """Say what a comparison shows: superior or inferior (adjusted p < alpha), else equivalent (adjusted TOST p <
    alpha), else inconclusive.

    An interval that includes 0 is never called equal. NaN p: not testable.
    """
    if math.isnan(p):
        return UNTESTABLE
    if p < alpha:
        return SUPERIOR if delta > 0 else INFERIOR
    return EQUIVALENT if p_equivalence < alpha else INCONCLUSIVE
