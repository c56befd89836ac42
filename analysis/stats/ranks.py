"""How much a ranking depends on the summary and on the seeds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats

_ENUMERATE_UP_TO = 4096  # resamples of seeds are enumerated while S**S stays below


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Rank correlation of two summaries over M methods, with the ranges that show how fragile it is.

    *_loso: smallest and largest value leaving one seed out; *_boot: the central 95% over resampled seeds (all S**S
    of them where few). NaN where ranks are constant or fewer than three methods exist.
    """

    methods: int
    seeds: int
    spearman: float
    kendall: float
    spearman_loso: tuple[float, float]
    kendall_loso: tuple[float, float]
    spearman_boot: tuple[float, float]
    kendall_boot: tuple[float, float]


def agreement(a_MS: Floats, b_MS: Floats, rng: np.random.Generator, *, resamples: int = 1000) -> Agreement:
    """Correlate the method rankings of two summaries on unrounded means over the seeds complete in both."""
    whole_S = ~(np.isnan(a_MS).any(axis=0) | np.isnan(b_MS).any(axis=0))
    a_MS, b_MS = a_MS[:, whole_S], b_MS[:, whole_S]
    m, s = a_MS.shape
    everything = _correlate(a_MS, b_MS, np.arange(s))
    left_out = [_correlate(a_MS, b_MS, np.delete(np.arange(s), i)) for i in range(s)] if s > 1 else []
    resampled = [_correlate(a_MS, b_MS, pick) for pick in seed_resamples(s, rng, min(resamples, 1000))] if s > 1 else []
    return Agreement(
        methods=m,
        seeds=s,
        spearman=everything[0],
        kendall=everything[1],
        spearman_loso=_range([c[0] for c in left_out], 0.0),
        kendall_loso=_range([c[1] for c in left_out], 0.0),
        spearman_boot=_range([c[0] for c in resampled], 0.025),
        kendall_boot=_range([c[1] for c in resampled], 0.025),
    )


def seed_resamples(s: int, rng: np.random.Generator, resamples: int) -> list[np.ndarray]:
    """List seed resamples with replacement: all S**S where that is at most 4096, else `resamples` random ones."""
    if s**s <= _ENUMERATE_UP_TO:
        return [np.array(pick) for pick in itertools.product(range(s), repeat=s)]
    return list(rng.integers(0, s, size=(resamples, s)))


def ranks(score_M: Floats) -> Floats:
    """Rank methods, 1 the best; equal scores (to 1e-9) share their mean rank."""
    return np.asarray(stats.rankdata(-np.round(score_M, 9)), dtype=np.float64)


def rank_intervals(
    score_MS: Floats, rng: np.random.Generator, *, resamples: int = 1000, level: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """Give each method's rank by its mean, and the interval of that rank over seed resamples: rank_M, low_M, high_M.

    Seeds are resampled as a whole (paired). Without at least two seeds complete for all methods the interval is NaN.
    """
    complete_MS = score_MS[:, ~np.isnan(score_MS).any(axis=0)]
    m, s = complete_MS.shape
    if s == 0:
        return np.full(m, np.nan), np.full(m, np.nan), np.full(m, np.nan)
    rank_M = ranks(complete_MS.mean(axis=1))
    if s < 2:
        return rank_M, np.full(m, np.nan), np.full(m, np.nan)
    rank_RM = np.stack([ranks(complete_MS[:, pick].mean(axis=1)) for pick in seed_resamples(s, rng, resamples)])
    low_M, high_M = np.quantile(rank_RM, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return rank_M, low_M, high_M


def _correlate(a_MS: Floats, b_MS: Floats, pick_S: np.ndarray) -> tuple[float, float]:
    if len(a_MS) < 3 or not len(pick_S):
        return math.nan, math.nan
    a_M, b_M = ranks(a_MS[:, pick_S].mean(axis=1)), ranks(b_MS[:, pick_S].mean(axis=1))
    if np.ptp(a_M) == 0 or np.ptp(b_M) == 0:
        return math.nan, math.nan
    return float(np.corrcoef(a_M, b_M)[0, 1]), float(stats.kendalltau(a_M, b_M, method="asymptotic").statistic)


def _range(values: list[float], tail: float) -> tuple[float, float]:
    real = [v for v in values if not math.isnan(v)]
    if not real:
        return math.nan, math.nan
    low, high = np.quantile(real, [tail, 1 - tail])
    return float(low), float(high)
