"""Power of the two-sided paired t test and of TOST; detectable effects; seeds needed.

The noncentral t of scipy is used directly: statsmodels' TTestPower is silently wrong at n = 3 with small alpha.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import integrate, optimize, stats

_MOST_SEEDS = 10_000


def paired_power(effect: float, sd: float, n: int, alpha: float = 0.05) -> float:
    """Give the power of the two-sided paired t test for a mean difference `effect` with `sd` per difference, n seeds."""
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
    """Give the smallest n >= 2 whose power for `effect` reaches `power`; None beyond 10,000 seeds."""
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
    """Give the power of TOST at +-margin when the true difference is `effect`, by integrating over the sample sd."""
    if n < 2 or not sd > 0:
        return math.nan
    df, se = n - 1, sd / math.sqrt(n)
    t = float(stats.t.ppf(1 - alpha, df))

    def given(u: float) -> float:
        """Give the chance to conclude, times the density of the chi variable u = sqrt(df) * s / sd."""
        room = margin - t * se * u / math.sqrt(df)
        inside = stats.norm.cdf((room - effect) / se) - stats.norm.cdf((-room - effect) / se)
        return float(max(0.0, inside) * stats.chi.pdf(u, df))

    top = margin * math.sqrt(df) / (t * se)
    centre, spread = math.sqrt(df), 12.0
    low, high = max(0.0, centre - spread), min(top, centre + spread)
    if high <= low:
        return 0.0
    return float(integrate.quad(given, low, high, limit=200)[0])


def _power(d: float, n: int, alpha: float) -> float:
    df, shift = n - 1, d * math.sqrt(n)
    critical = float(stats.t.ppf(1 - alpha / 2, df))
    return float(stats.nct.sf(critical, df, shift) + stats.nct.cdf(-critical, df, shift))
