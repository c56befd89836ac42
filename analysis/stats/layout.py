"""The two-way method + seed layout: residual sd, seed ICC, and what pairing gains."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Fit of score = method + seed + residual over complete seeds.

    residual_sd [points] with df = (M - 1)(S - 1); icc = seed variance over seed plus residual variance, cut at 0.
    A paired difference has sd sqrt(2) * residual_sd. NaN where fewer than two methods or seeds are complete; residuals
    below 1e-9 points are float noise: exactly 0.
    """

    methods: int
    seeds: int
    df: int
    residual_sd: float
    icc: float


def layout(score_MS: Floats) -> Layout:
    """Fit the layout on the seeds at which every method has a score."""
    complete_MS = score_MS[:, ~np.isnan(score_MS).any(axis=0)]
    m, s = complete_MS.shape
    if m < 2 or s < 2:
        return Layout(methods=m, seeds=s, df=0, residual_sd=math.nan, icc=math.nan)
    seed_S = complete_MS.mean(axis=0)
    residual_MS = complete_MS - complete_MS.mean(axis=1, keepdims=True) - seed_S + complete_MS.mean()
    df = (m - 1) * (s - 1)
    ms_residual = float((np.round(residual_MS, 9) ** 2).sum() / df)
    ms_seed = float(m * seed_S.var(ddof=1))
    seed_variance = max(0.0, (ms_seed - ms_residual) / m)
    total = seed_variance + ms_residual
    return Layout(
        methods=m,
        seeds=s,
        df=df,
        residual_sd=math.sqrt(ms_residual),
        icc=seed_variance / total if total > 1e-18 else math.nan,
    )


@dataclass(frozen=True, kw_only=True)
class SeedCorrelation:
    """Correlation between the scores of two methods at one seed, its interval, and its one-sided lower 90% bound."""

    rho: float
    low: float
    high: float
    lower90: float


def seed_correlation(score_MS: Floats, level: float = 0.95) -> SeedCorrelation:
    """Estimate the correlation over seeds of any two methods, from the seeds complete for all (ICC(3,1), consistency).

    rho = (MS seed - MS residual) / (MS seed + (M - 1) MS residual); limits from the F distribution of the ratio. NaN
    with fewer than two methods or seeds, or without residuals. Source: Shrout and Fleiss, doi
    10.1037/0033-2909.86.2.420.
    """
    complete_MS = score_MS[:, ~np.isnan(score_MS).any(axis=0)]
    fit = layout(score_MS)
    if not fit.residual_sd > 0:
        return SeedCorrelation(rho=math.nan, low=math.nan, high=math.nan, lower90=math.nan)
    m, s = complete_MS.shape
    ratio = float(m * complete_MS.mean(axis=0).var(ddof=1)) / fit.residual_sd**2

    def rho(f: float) -> float:
        """Turn a ratio of mean squares into a correlation."""
        return float((f - 1) / (f + m - 1))

    low, high, lower90 = (
        rho(ratio / float(f)) for f in stats.f.ppf([0.5 + level / 2, 0.5 - level / 2, 0.9], s - 1, fit.df)
    )
    return SeedCorrelation(rho=rho(ratio), low=low, high=high, lower90=lower90)


def pooled_difference_sd(fit: Layout) -> float:
    """Give the sd of a paired difference that the block's residuals imply."""
    return math.sqrt(2.0) * fit.residual_sd


def sd_interval(sd: float, df: int, level: float = 0.95) -> tuple[float, float]:
    """Give the chi-square interval of a true sd from an estimate with df degrees of freedom; NaN for df 0 or sd 0."""
    if df < 1 or not sd > 0:
        return math.nan, math.nan
    low, high = stats.chi2.ppf([0.5 + level / 2, 0.5 - level / 2], df)
    return sd * math.sqrt(df / float(low)), sd * math.sqrt(df / float(high))


@dataclass(frozen=True, kw_only=True)
class Gain:
    """What pairing by seed gains: r between paired scores, variance of the paired over the unpaired difference."""

    r: float
    variance_ratio: float


def pairing_gain(a_S: Floats, b_S: Floats) -> Gain:
    """Compare the variance of a - b with var(a) + var(b); below 1 pairing helps. NaN for n < 3 or constant scores."""
    if len(a_S) < 3:
        return Gain(r=math.nan, variance_ratio=math.nan)
    var_a, var_b = float(a_S.var(ddof=1)), float(b_S.var(ddof=1))
    r = math.nan if min(var_a, var_b) < 1e-18 else float(np.corrcoef(a_S, b_S)[0, 1])
    unpaired = var_a + var_b
    return Gain(r=r, variance_ratio=float((a_S - b_S).var(ddof=1)) / unpaired if unpaired > 1e-18 else math.nan)


def probability_better(a_S: Floats, b_S: Floats) -> float:
    """Give P(A > B) over all pairs of runs, a tie counting one half (Mann-Whitney U / (n_a n_b)). NaN without runs."""
    if not len(a_S) or not len(b_S):
        return math.nan
    difference_SS = np.round(a_S[:, None] - b_S[None, :], 9)
    return float(np.mean((difference_SS > 0) + 0.5 * (difference_SS == 0)))
