"""How much a ranking depends on the summary and on the seeds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.benchmarks import Floats

Picks = npt.NDArray[np.int64]

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
    everything = _correlate(a_MS, b_MS, np.arange(s)[None, :])
    left_out = _correlate(a_MS, b_MS, np.array([np.delete(np.arange(s), i) for i in range(s)]))
    resampled = _correlate(a_MS, b_MS, seed_resamples(s, rng, resamples) if s > 1 else np.empty((0, 0), dtype=int))
    return Agreement(
        methods=m,
        seeds=s,
        spearman=_only(everything[0]),
        kendall=_only(everything[1]),
        spearman_loso=_range(left_out[0], 0.0),
        kendall_loso=_range(left_out[1], 0.0),
        spearman_boot=_range(resampled[0], 0.025),
        kendall_boot=_range(resampled[1], 0.025),
    )


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """How much a Spearman correlation hangs on means that hardly differ.

    gap: the smallest difference between neighbouring means of either summary, one_question what one more right answer
    in one run is worth at most [points]; low and high: the range when one pair of neighbours closer than that is
    exchanged. NaN with fewer than three methods.
    """

    gap: float
    one_question: float
    low: float
    high: float


def spearman(a_M: Floats, b_M: Floats) -> float:
    """Give Spearman's correlation of two vectors of means; NaN where ranks are constant, missing or fewer than 3."""
    if len(a_M) < 3 or np.isnan(a_M + b_M).any():
        return math.nan
    a_RM, b_RM = (ranks(x)[None, :] for x in (a_M, b_M))
    return _only(_cosine(*(x - x.mean(axis=1, keepdims=True) for x in (a_RM, b_RM))))


def closeness(a_M: Floats, b_M: Floats, step_a: float, step_b: float) -> Closeness:
    """Exchange each pair of neighbours whose means differ by less than one question (step [points]) and correlate."""
    whole = spearman(a_M, b_M)
    if math.isnan(whole):
        return Closeness(gap=math.nan, one_question=max(step_a, step_b), low=math.nan, high=math.nan)
    found, gaps = [whole], []
    for swapped_M, fixed_M, step in ((a_M, b_M, step_a), (b_M, a_M, step_b)):
        order_M = np.argsort(swapped_M, kind="stable")
        for low, high in itertools.pairwise(order_M):
            gaps.append(float(swapped_M[high] - swapped_M[low]))
            if gaps[-1] < step:
                other_M = swapped_M.copy()
                other_M[[low, high]] = swapped_M[[high, low]]
                found.append(spearman(other_M, fixed_M))
    return Closeness(gap=min(gaps), one_question=max(step_a, step_b), low=min(found), high=max(found))


def seed_resamples(s: int, rng: np.random.Generator, resamples: int) -> Picks:
    """List seed resamples with replacement: all S**S where that is at most 4096, else `resamples` random ones."""
    if s**s <= _ENUMERATE_UP_TO:
        return np.array(list(itertools.product(range(s), repeat=s)))
    return rng.integers(0, s, size=(resamples, s))


def ranks(score_M: Floats) -> Floats:
    """Rank methods along the last axis, 1 the best; equal scores (to 1e-9) share their mean rank."""
    return np.asarray(stats.rankdata(-np.round(score_M, 9), axis=-1), dtype=np.float64)


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
    rank_RM = ranks(_means(complete_MS, seed_resamples(s, rng, resamples)))
    low_M, high_M = np.quantile(rank_RM, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return rank_M, low_M, high_M


def _means(score_MS: Floats, pick_RS: Picks) -> Floats:
    """Give each method's mean over each pick of seeds, (R, M)."""
    return np.asarray(score_MS[:, pick_RS].mean(axis=-1).T)


def _correlate(a_MS: Floats, b_MS: Floats, pick_RS: Picks) -> tuple[Floats, Floats]:
    """Give Spearman and Kendall tau-b per pick of seeds, (R,) each; NaN where ranks are constant."""
    if len(a_MS) < 3 or not pick_RS.size:
        return np.array([]), np.array([])
    a_RM, b_RM = ranks(_means(a_MS, pick_RS)), ranks(_means(b_MS, pick_RS))
    sign_a, sign_b = (np.sign(x[:, :, None] - x[:, None, :]).reshape(len(x), -1) for x in (a_RM, b_RM))
    centred_a, centred_b = (x - x.mean(axis=1, keepdims=True) for x in (a_RM, b_RM))
    return _cosine(centred_a, centred_b), _cosine(sign_a, sign_b)


def _cosine(a_RX: Floats, b_RX: Floats) -> Floats:
    """Spearman is the cosine of centred ranks, tau-b that of the signs of all pairwise differences."""
    scale_R = np.sqrt((a_RX**2).sum(axis=1) * (b_RX**2).sum(axis=1))
    return np.asarray(np.divide((a_RX * b_RX).sum(axis=1), scale_R, out=np.full(len(a_RX), np.nan), where=scale_R > 0))


def _only(value_R: Floats) -> float:
    return float(value_R[0]) if len(value_R) else math.nan


def _range(value_R: Floats, tail: float) -> tuple[float, float]:
    real_R = value_R[~np.isnan(value_R)]
    if not len(real_R):
        return math.nan, math.nan
    low, high = np.quantile(real_R, [tail, 1 - tail])
    return float(low), float(high)
