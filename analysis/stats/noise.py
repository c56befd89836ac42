"""The noise floor of a block: spread of runs, its split over benchmarks, late evaluations, and tests among controls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats
from analysis.stats.layout import layout, sd_interval
from analysis.stats.paired import SMALLEST_N, t_quantile

_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Sd of a run [points] pooled within methods, its degrees of freedom and limits. NaN without two runs of one
    method.
    """

    sd: float
    df: int
    low: float
    high: float


def centred(score_MS: Floats) -> Floats:
    """Subtract each method's mean over its runs; missing runs stay NaN."""
    count_M1 = (~np.isnan(score_MS)).sum(axis=1, keepdims=True)
    total_M1 = np.nansum(score_MS, axis=1, keepdims=True)
    mean_M1 = np.divide(total_M1, count_M1, out=np.full(count_M1.shape, np.nan), where=count_M1 > 0)
    return np.asarray(np.round(score_MS - mean_M1, _DIGITS))


def run_spread(score_MS: Floats, level: float = 0.95) -> Spread:
    """Pool the variance of runs within methods, whatever the number of runs of each; limits by chi-square."""
    real_MS = ~np.isnan(score_MS)
    df = int((real_MS.sum(axis=1) - 1).clip(min=0).sum())
    if df < 1:
        return Spread(sd=math.nan, df=0, low=math.nan, high=math.nan)
    sd = math.sqrt(float(np.nansum(centred(score_MS) ** 2)) / df)
    low, high = sd_interval(sd, df, level)
    return Spread(sd=sd, df=df, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class OverBinomial:
    """Variance of runs on one benchmark over that of a binomial with the same accuracy and items, with limits.

    Drawing answers to fixed questions makes at most 1: what lies above it are training runs that differ.
    """

    ratio: float
    low: float
    high: float


def over_binomial(score_MS: Floats, items: int | None, level: float = 0.95) -> OverBinomial:
    """Compare the spread of runs [percent] with p (1 - p) / items, p each method's mean. NaN where items are unknown,
    no run differs from another's method, or every mean is 0 or 100.
    """
    spread = run_spread(score_MS, level)
    mean_MS = np.where(np.isnan(score_MS), np.nan, score_MS - centred(score_MS)) / 100.0
    expected = 1e4 * float(np.nanmean(mean_MS * (1 - mean_MS))) / items if items and spread.df else math.nan
    if not expected > 0:
        return OverBinomial(ratio=math.nan, low=math.nan, high=math.nan)
    return OverBinomial(ratio=spread.sd**2 / expected, low=spread.low**2 / expected, high=spread.high**2 / expected)


def variance_shares(score_MSK: Floats, weight_K: Floats) -> Floats:
    """Split the variance of a weighted sum of benchmarks over runs: w_k cov(x_k, sum) / var(sum), which add up to 1.

    Over runs with every benchmark, within methods; NaN without spread.
    """
    whole_MS = np.asarray(~np.isnan(score_MSK).any(axis=2))
    kept_MSK = np.where(whole_MS[:, :, None], score_MSK, np.nan)
    away_MSK = np.stack([centred(kept_MSK[:, :, k]) for k in range(score_MSK.shape[2])], axis=2)
    away_NK = away_MSK[whole_MS]
    total_N = away_NK @ weight_K
    variance = float((total_N**2).sum())
    if not variance > 0:
        return np.full(len(weight_K), np.nan)
    return np.asarray(weight_K * (away_NK * total_N[:, None]).sum(axis=0) / variance)


@dataclass(frozen=True, kw_only=True)
class LateRatio:
    """R: variance of a paired difference at the last evaluation over that of the mean of the last ones.

    Above 1 the mean is the less noisy score. r: correlation of the two scores' residuals.
    """

    ratio: float
    low: float
    high: float
    r: float


def late_ratio(last_MS: Floats, mean_MS: Floats, level: float = 0.95) -> LateRatio:
    """Compare two scores of the same runs by the residuals of method + seed; limits as for the variances of correlated
    samples (Pitman and Morgan). NaN with fewer than three residual degrees of freedom or without residuals.
    """
    whole_S = np.asarray(~np.isnan(last_MS + mean_MS).any(axis=0))
    fits = [layout(x[:, whole_S]) for x in (last_MS, mean_MS)]
    df = fits[0].df
    if df < 3 or not min(f.residual_sd for f in fits) > 0:
        return LateRatio(ratio=math.nan, low=math.nan, high=math.nan, r=math.nan)
    a_MS, b_MS = (_residuals(x[:, whole_S]) for x in (last_MS, mean_MS))
    ratio = (fits[0].residual_sd / fits[1].residual_sd) ** 2
    r = float((a_MS * b_MS).sum() / math.sqrt(float((a_MS**2).sum() * (b_MS**2).sum())))
    k = 1 + 2 * (1 - r**2) * t_quantile(level, df - 1) ** 2 / (df - 1)
    width = math.sqrt(max(0.0, k**2 - 1))
    return LateRatio(ratio=ratio, low=ratio * (k - width), high=ratio * (k + width), r=r)


def _residuals(score_MS: Floats) -> Floats:
    return np.asarray(
        score_MS - score_MS.mean(axis=1, keepdims=True) - score_MS.mean(axis=0, keepdims=True) + score_MS.mean()
    )


@dataclass(frozen=True, kw_only=True)
class SameAgainstSame:
    """Share of A/A comparisons with p < alpha, each of `n` runs of the control against `n` others, over resamples."""

    rejected: float
    n: int
    resamples: int


def same_against_same(
    control_S: Floats, rng: np.random.Generator, *, resamples: int = 2000, alpha: float = 0.05
) -> SameAgainstSame:
    """Split the control's runs at random into halves and test them as pairs. NaN with fewer than six runs, where a
    half has no test, or where the runs do not differ.
    """
    control_S = control_S[~np.isnan(control_S)]
    n = len(control_S) // 2
    if n < SMALLEST_N or np.ptp(np.round(control_S, _DIGITS)) == 0:
        return SameAgainstSame(rejected=math.nan, n=n, resamples=0)
    order_RS = rng.permuted(np.tile(np.arange(len(control_S)), (resamples, 1)), axis=1)
    delta_RS = control_S[order_RS[:, :n]] - control_S[order_RS[:, n : 2 * n]]
    sd_R = delta_RS.std(axis=1, ddof=1)
    t_R = np.abs(delta_RS.mean(axis=1)) / np.where(sd_R > 0, sd_R / math.sqrt(n), np.inf)
    rejected = float(np.mean(t_R > stats.t.isf(alpha / 2, n - 1)))
    return SameAgainstSame(rejected=rejected, n=n, resamples=resamples)
