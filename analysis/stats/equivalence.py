"""Equivalence of a mean difference to zero within a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from analysis.benchmarks import Floats
from analysis.stats.paired import SMALLEST_N


@dataclass(frozen=True, kw_only=True)
class Tost:
    """p of the two one-sided t tests, and the (1 - 2 alpha) interval that decides alike. NaN where not computable."""

    p: float
    ci_low: float
    ci_high: float


def tost(delta_S: Floats, margin: float, *, alpha: float = 0.05) -> Tost:
    """Test that the mean of paired differences lies inside (-margin, margin) [points].

    Two one-sided t tests (Schuirmann); p is the larger one. The interval has level 1 - 2 alpha: 90% at alpha 0.05.
    With fewer than three seeds or zero variance nothing is computable.
    """
    if len(delta_S) < SMALLEST_N or np.ptp(np.round(delta_S, 9)) == 0:
        return Tost(p=math.nan, ci_low=math.nan, ci_high=math.nan)
    described = DescrStatsW(delta_S)
    low, high = described.tconfint_mean(alpha=2 * alpha)
    return Tost(p=float(described.ttost_mean(-margin, margin)[0]), ci_low=float(low), ci_high=float(high))
