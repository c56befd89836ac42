"""One vector of paired differences, one seed per element."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats

SMALLEST_N = 3  # pairs; below there is no interval and no test
_EXACT_UP_TO = 16  # 2**16 sign patterns; beyond that the permutation p is sampled
_DIGITS = 9  # differences are compared at 1e-9 points: float noise must not break ties
_NOISE = 1e-10  # points; far above the float noise of a sum of scores, below any difference that counts


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Result for n differences [points]. NaN where not computable; `reason` says why ("" where everything is)."""

    n: int
    mean: float
    sd: float
    ci_low: float
    ci_high: float
    p_t: float
    p_perm: float
    p_wilcoxon: float
    d_z: float
    testable: bool
    reason: str


def paired(delta_S: Floats, rng: np.random.Generator, *, level: float = 0.95, constant: bool = False) -> Paired:
    """Test whether the mean difference is zero.

    delta_S: differences without missing values. The interval is Student's t, however wide it is at n = 3; fewer than
    three pairs have no interval and no test (one has no sd either). With zero variance (all differences equal to 1e-9,
    or `constant`: the counts behind them differ by the same amount) the t statistic does not exist: "not testable",
    never p = 0.
    `rng` draws sign flips only for n > 16; below, all 2**n patterns are used. sd has divisor n - 1.
    """
    assert not np.isnan(delta_S).any(), "missing pairs are dropped by the caller, by name"
    n, rounded_S = len(delta_S), np.round(delta_S, _DIGITS)
    mean = float(delta_S.mean()) if n else math.nan
    sd = float(delta_S.std(ddof=1)) if n > 1 else math.nan
    if n < SMALLEST_N:
        pairs = ("no pair", "one pair: no sd", "two pairs")[n]
        return _untestable(n, mean, sd, f"{pairs}; expected {SMALLEST_N} or more for an interval or a test")
    if constant or np.ptp(rounded_S) == 0:
        return _untestable(n, mean, 0.0, "not testable: the differences have zero variance")
    t_test = stats.ttest_1samp(delta_S, 0.0)
    interval = t_test.confidence_interval(level)
    return Paired(
        n=n,
        mean=mean,
        sd=sd,
        ci_low=float(interval.low),
        ci_high=float(interval.high),
        p_t=float(t_test.pvalue),
        p_perm=sign_flip_p(rounded_S, rng),
        p_wilcoxon=wilcoxon_p(rounded_S),
        d_z=mean / sd,
        testable=True,
        reason="",
    )


def sign_flip_p(delta_S: Floats, rng: np.random.Generator) -> float:
    """Give the two-sided sign-flip permutation p of the mean, over all 2**n patterns for n <= 16 (else 20,000 drawn).

    The exact form is one matrix product (scipy.stats.permutation_test gives the same p some hundred times slower).
    """
    if len(delta_S) <= _EXACT_UP_TO:
        sum_R = _signs(len(delta_S)) @ delta_S
        return float(np.mean(np.abs(sum_R) >= abs(delta_S.sum()) - _NOISE))
    result = stats.permutation_test(
        (delta_S,), np.mean, permutation_type="samples", vectorized=True, n_resamples=20_000, rng=rng
    )
    return float(result.pvalue)


def wilcoxon_p(delta_S: Floats) -> float:
    """Give the two-sided Wilcoxon signed-rank p: exact for n <= 16, with ties too; zeros are left out. All zero: NaN.

    With ties scipy's exact table does not hold and its permutation is slow: the sign flips of the ranks are the same
    test.
    """
    real_S = delta_S[delta_S != 0]
    if not len(real_S):
        return math.nan
    rank_S = stats.rankdata(np.abs(real_S))
    if len(set(rank_S)) == len(real_S) or len(real_S) > _EXACT_UP_TO:
        return float(stats.wilcoxon(real_S).pvalue)
    sum_R = _signs(len(real_S)) @ rank_S
    return float(np.mean(np.abs(sum_R) >= abs(float((np.sign(real_S) * rank_S).sum())) - 1e-9))


@lru_cache(maxsize=16)
def _signs(n: int) -> Floats:
    """List all sign patterns, (2**n, n)."""
    bits_RS = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(1.0 - 2.0 * bits_RS)


def smallest_p(n: int) -> float:
    """Give the smallest two-sided p that n sign flips (permutation or Wilcoxon) can reach: 2 / 2**n, at most 1."""
    return min(1.0, 2.0 ** (1 - n))


@lru_cache(maxsize=256)
def t_quantile(level: float, df: int) -> float:
    """Give the two-sided Student quantile of a confidence level."""
    return float(stats.t.ppf(0.5 + level / 2, df))


def _untestable(n: int, mean: float, sd: float, reason: str) -> Paired:
    nan = math.nan
    return Paired(
        n=n,
        mean=mean,
        sd=sd,
        ci_low=nan,
        ci_high=nan,
        p_t=nan,
        p_perm=nan,
        p_wilcoxon=nan,
        d_z=nan,
        testable=False,
        reason=reason,
    )
