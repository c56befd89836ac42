"""When the pooled boundary may be used, and how much of the control may serve as covariate.

With normal runs of one spread the errors are .025 for superior and for no gain; heavy tails, skew, collapsed runs and
arms of another spread move them (the slow tests print by how much). Two guards refuse the pooled boundary: too many
suspect evaluations, and arms of visibly different spread. The study then goes on to its largest number of runs and is
decided by a paired t test.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats
from analysis.stats.layout import SeedCorrelation

MOST_SUSPECT = 0.05
LEVENE_ALPHA = 0.05


def levene_p(groups: list[Floats]) -> float:
    """Give the p of Levene's test about medians (Brown and Forsythe) over groups of scores.

    NaN with fewer than two groups of two runs, or where no group varies. Source: doi 10.1080/01621459.1974.10482955.
    """
    usable = [g for g in groups if len(g) > 1]
    if len(usable) < 2 or all(np.ptp(g) == 0 for g in usable):
        return math.nan
    return float(stats.levene(*usable, center="median").pvalue)


def levene_p_moments(n_RG: Floats, mean_RG: Floats, square_RG: Floats) -> Floats:
    """Give the same p for R studies from the absolute deviations about each group's median: their number, mean and sum
    of squares about that mean.
    """
    total_R = n_RG.sum(axis=1)
    grand_R1 = ((n_RG * mean_RG).sum(axis=1) / total_R)[:, None]
    groups = n_RG.shape[1]
    between_R = (n_RG * (mean_RG - grand_R1) ** 2).sum(axis=1) / (groups - 1)
    within_R = square_RG.sum(axis=1) / (total_R - groups)
    return np.asarray(stats.f.sf(between_R / within_R, groups - 1, total_R - groups))


def refusal(levene: float, suspects: int, runs: int) -> str:
    """Say why the pooled boundary must not be used, or "". levene NaN: nothing to hold against it."""
    if suspects > MOST_SUSPECT * runs:
        return f"{suspects} of {runs} runs are suspect, more than {100 * MOST_SUSPECT:g}%"
    if levene < LEVENE_ALPHA:
        return f"the spread of runs differs between arms (Levene p = {levene:.3f} < {LEVENE_ALPHA:g})"
    return ""


def covariate_beta(pilot: SeedCorrelation) -> float:
    """Give the largest beta that a pilot allows: the lower 90% bound of its seed correlation, at least 0.

    The pilot must be other runs than the study's. A beta above the true correlation raises errors (.4 where it is 0:
    to .056); one below it is safe.
    """
    return 0.0 if math.isnan(pilot.lower90) else max(0.0, pilot.lower90)
