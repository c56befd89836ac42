"""Power of the two-sided paired t test, of the verdict after Holm and of TOST; detectable effects; seeds needed.

Both powers are integrals over the sample sd. (statsmodels' TTestPower is silently wrong at n = 3 with small alpha, and
scipy's noncentral t is NaN for one degree of freedom and a large shift; where it is finite the tests compare with it.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special, stats

from analysis.benchmarks import Floats
from analysis.stats.paired import SMALLEST_N

_MOST_SEEDS = 10_000
_PILOT_NODES, _SAMPLE_NODES = 128, 512
_SIMULATED = 2000  # studies


def paired_power(effect: float, sd: float, n: int, alpha: float = 0.05) -> float:
    """Give the power of the two-sided paired t test: mean difference `effect`, `sd` per difference, n seeds.

    NaN for n < 2 or sd not positive.
    """
    if n < 2 or not sd > 0:
        return math.nan
    return _power(abs(effect) / sd, n, alpha)


@lru_cache(maxsize=512)
def detectable_d(n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Give the standardised effect (mean / sd of differences) that n seeds detect with the given power."""
    if n < 2:
        return math.nan
    high = 1.0
    while _power(high, n, alpha) < power:
        high *= 2
    return float(optimize.brentq(lambda d: _power(d, n, alpha) - power, 0.0, high, xtol=1e-10))


def detectable(sd: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Give the smallest mean difference [points] that n seeds detect with the given power. NaN for sd 0 or n < 2."""
    return detectable_d(n, alpha, power) * sd if sd > 0 and n >= 2 else math.nan


def verdict_power(
    effect: float, sd: float, n: int, *, alpha: float = 0.05, arms: int = 1, df: int | None = None
) -> float:
    """Give the chance that a method that is `effect` points better gets the verdict "superior", Holm over `arms`.

    It is the chance at Holm's first step (one-sided alpha / 2 / arms), the power where no other arm differs; with other
    arms that do differ Holm's is higher. sd of a paired difference: known, or (df given) estimated by a pilot with df
    degrees of freedom; the power is then averaged over what the true sd may be, sd / sqrt(chi-square / df). Seeds
    chosen by this average deliver it over pilots, as Stein's two-stage test does. NaN for n < 3 or sd not positive.
    Source: doi 10.1214/aoms/1177731088 (Stein).
    """
    if n < SMALLEST_N or not sd > 0:
        return math.nan
    critical = _t_quantile(1 - alpha / 2 / arms, n - 1)
    shift = effect * math.sqrt(n) / sd
    if df is None:
        below = _over_sd(lambda u: float(special.ndtr(critical * u - shift)), n - 1, math.inf, kink=shift / critical)
        return 1.0 - below
    v_V, u_U = _sd_nodes(df, _PILOT_NODES), _sd_nodes(n - 1, _SAMPLE_NODES)
    return float(np.mean(special.ndtr(shift * v_V[:, None] - critical * u_U)))


@lru_cache(maxsize=256)
def _sd_nodes(df: int, nodes: int) -> Floats:
    """Give equally likely values of a sample sd over the true one, the middles of quantile bins."""
    return np.asarray(np.sqrt(stats.chi2.ppf((np.arange(nodes) + 0.5) / nodes, df) / df))


def holm_power(
    effect: float, sd: float, n: int, rng: np.random.Generator, *, arms: int, df: int, alpha: float = 0.05
) -> float:
    """Give the power per arm by simulation where every arm is `effect` better: Holm over arms that share a control.

    sd as in verdict_power, with a pilot of df degrees of freedom. NaN for n < 3 or sd not positive.
    """
    if n < SMALLEST_N or not sd > 0:
        return math.nan
    score_RMS = rng.standard_normal((_SIMULATED, arms + 1, n))
    delta_RMS = (score_RMS[:, 1:] - score_RMS[:, :1]) / math.sqrt(2)
    shift_R = effect / sd * np.sqrt(rng.chisquare(df, _SIMULATED) / df)
    t_RM = (delta_RMS.mean(axis=2) + shift_R[:, None]) / (delta_RMS.std(axis=2, ddof=1) / math.sqrt(n))
    return float(holm_superior(t_RM, n - 1, alpha).mean())


def holm_superior(t_RM: Floats, df: int, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
    """Say which t statistics Holm calls superior, two-sided over M arms, in each of R studies."""
    m = t_RM.shape[1]
    size_RM = np.abs(t_RM)
    order_RM = np.argsort(-size_RM, axis=1)
    critical_M = stats.t.isf(alpha / 2 / (m - np.arange(m)), df)
    passed_RM = np.logical_and.accumulate(np.take_along_axis(size_RM, order_RM, axis=1) > critical_M, axis=1)
    rejected_RM = np.zeros(t_RM.shape, dtype=bool)
    np.put_along_axis(rejected_RM, order_RM, passed_RM, axis=1)
    return np.asarray(rejected_RM & (t_RM > 0))


def seeds_needed(
    effect: float, sd: float, alpha: float = 0.05, power: float = 0.8, *, arms: int = 1, df: int | None = None
) -> int | None:
    """Give the smallest n >= 3 whose verdict_power reaches `power`; None beyond 10,000 seeds or without an sd."""
    if not (effect > 0 and sd > 0):
        return None

    def reaches(n: int) -> bool:
        """Say whether n seeds are enough."""
        return verdict_power(effect, sd, n, alpha=alpha, arms=arms, df=df) >= power

    low, high = SMALLEST_N - 1, SMALLEST_N
    while not reaches(high):
        low, high = high, high * 2
        if low > _MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high if high <= _MOST_SEEDS else None


def tost_power(margin: float, sd: float, n: int, alpha: float = 0.05, effect: float = 0.0) -> float:
    """Give the power of TOST at +-margin [points] when the true difference is `effect` and the sd is known. NaN for
    n < 2 or sd not positive.
    """
    if n < 2 or not sd > 0:
        return math.nan
    df, se = n - 1, sd / math.sqrt(n)
    t = _t_quantile(1 - alpha, df)

    def concludes(u: float) -> float:
        """Give the chance that the mean lies inside what a sample sd of u * sd leaves of the margin."""
        room = margin - t * se * u
        return max(0.0, float(special.ndtr((room - effect) / se) - special.ndtr((-room - effect) / se)))

    return _over_sd(concludes, df, margin / (t * se))


def expected_tost_power(margin: float, sd: float, n: int, df: int, *, alpha: float = 0.05, arms: int = 1) -> float:
    """Give the power of TOST at Holm's first step over `arms`, at a true difference of 0, averaged over what a pilot
    with df degrees of freedom leaves open about the sd. NaN for n < 3 or sd not positive.
    """
    if n < SMALLEST_N or not sd > 0:
        return math.nan
    se_V1 = (sd / math.sqrt(n) / _sd_nodes(df, _PILOT_NODES))[:, None]
    room_VU = margin - _t_quantile(1 - alpha / arms, n - 1) * se_V1 * _sd_nodes(n - 1, _SAMPLE_NODES)
    return float(np.mean(np.maximum(0.0, 2 * special.ndtr(room_VU / se_V1) - 1)))


def _power(d: float, n: int, alpha: float) -> float:
    df, shift = n - 1, d * math.sqrt(n)
    critical = _t_quantile(1 - alpha / 2, df)

    def keeps(u: float) -> float:
        """Give the chance of |t| <= critical given a sample sd of u true ones."""
        return float(special.ndtr(critical * u - shift) - special.ndtr(-critical * u - shift))

    return 1.0 - _over_sd(keeps, df, math.inf, kink=shift / critical)


def _over_sd(given: Callable[[float], float], df: int, top: float, kink: float | None = None) -> float:
    """Integrate given(u) over the density of u = sample sd / true sd, chi(df) / sqrt(df), from 0 to top."""
    log_c = math.log(2) + (df / 2) * math.log(df / 2) - float(special.gammaln(df / 2))

    def weighted(u: float) -> float:
        """Give given(u) times the density at u > 0."""
        return given(u) * math.exp(log_c + (df - 1) * math.log(u) - df * u * u / 2) if u > 0 else 0.0

    spread = 9.0 / math.sqrt(2 * df)
    low, high = max(0.0, 1.0 - spread), min(top, 1.0 + spread)
    if high <= low:
        return 0.0
    points = [kink] if kink is not None and low < kink < high else None
    return float(integrate.quad(weighted, low, high, limit=200, points=points, epsabs=1e-12, epsrel=1e-10)[0])


@lru_cache(maxsize=512)
def _t_quantile(q: float, df: int) -> float:
    return float(stats.t.ppf(q, df))
