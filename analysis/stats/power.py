"""Power of the two-sided paired t test and of TOST; detectable effects; seeds needed.

Both powers are integrals over the sample sd. (statsmodels' TTestPower is silently wrong at n = 3 with small alpha, and
scipy's noncentral t is NaN for one degree of freedom and a large shift; where it is finite the tests compare with it.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from scipy import integrate, optimize, special, stats

_MOST_SEEDS = 10_000


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


def seeds_needed(effect: float, sd: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Give the smallest n >= 2 whose power for `effect` reaches `power`; None beyond 10,000 seeds or without an sd."""
    if not (effect > 0 and sd > 0):
        return None
    low, high = 1, 2
    while paired_power(effect, sd, high, alpha) < power:
        low, high = high, high * 2
        if low > _MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if paired_power(effect, sd, middle, alpha) >= power else (middle, high)
    return high if high <= _MOST_SEEDS else None


def tost_power(margin: float, sd: float, n: int, alpha: float = 0.05, effect: float = 0.0) -> float:
    """Give the power of TOST at +-margin [points] when the true difference is `effect`. NaN as in paired_power."""
    if n < 2 or not sd > 0:
        return math.nan
    df, se = n - 1, sd / math.sqrt(n)
    t = _t_quantile(1 - alpha, df)

    def concludes(u: float) -> float:
        """Give the chance that the mean lies inside what a sample sd of u * sd leaves of the margin."""
        room = margin - t * se * u
        return max(0.0, float(special.ndtr((room - effect) / se) - special.ndtr((-room - effect) / se)))

    return _over_sd(concludes, df, margin / (t * se))


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
