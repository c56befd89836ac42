"""Question-level comparison of two methods: how much is the training runs, how much the choice of questions.

A difference at one seed and question is mean + seed + question + rest, the rest being what one run makes of one
question (answers drawn at random among it). The standard error over seeds (stats.paired) holds seeds and the rest, the
one over questions holds questions and the rest: the rest is in both, so that their squares do not add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from analysis.benchmarks import Floats
from analysis.stats.paired import t_quantile


@dataclass(frozen=True, kw_only=True)
class ItemResult:
    """Difference in points over I items and S paired runs. NaN: not computable.

    `se_items` is clustered by item, `se_seeds` by seed, `se_rest` is what both contain; `se_both` holds for new runs on
    new questions: se_seeds^2 + se_items^2 - se_rest^2. The shares are those of questions alone and of the rest in it.
    """

    items: int
    seeds: int
    delta: float
    se_items: float
    ci_low: float
    ci_high: float
    p_items: float
    se_seeds: float
    se_rest: float
    se_both: float
    share_items: float
    share_rest: float


def item_difference(correct_a_SI: Floats, correct_b_SI: Floats, *, level: float = 0.95) -> ItemResult:
    """Compare 0/1 results of the same I items in S paired runs.

    delta = 100 * mean of (a - b); se_items from the I per-item differences averaged over seeds (clustered by item, t
    with I - 1 df); se_seeds from the S per-seed differences; se_rest^2 = mean square of the seed x item residuals over
    S * I, from two seeds on. Shares are cut at 0. Zero variance gives NaN tests.
    """
    difference_SI = 100.0 * (np.asarray(correct_a_SI, dtype=np.float64) - np.asarray(correct_b_SI, dtype=np.float64))
    s, i = difference_SI.shape
    delta_I, delta_S = (np.round(difference_SI.mean(axis=axis), 9) for axis in (0, 1))
    delta = float(difference_SI.mean())
    se_items = _se(delta_I) if i > 1 else math.nan
    se_seeds = _se(delta_S) if s > 1 else math.nan
    testable = se_items > 0
    half = t_quantile(level, i - 1) * se_items if testable else math.nan
    se_rest = _se_rest(difference_SI) if min(s, i) > 1 else math.nan
    both = se_items**2 + se_seeds**2 - se_rest**2
    both = max(0.0, both) if both == both else math.nan
    return ItemResult(
        items=i,
        seeds=s,
        delta=delta,
        se_items=se_items,
        ci_low=delta - half,
        ci_high=delta + half,
        p_items=float(2 * stats.t.sf(abs(delta) / se_items, i - 1)) if testable else math.nan,
        se_seeds=se_seeds,
        se_rest=se_rest,
        se_both=math.sqrt(both),
        share_items=max(0.0, se_items**2 - se_rest**2) / both if both > 0 else math.nan,
        share_rest=min(1.0, se_rest**2 / both) if both > 0 else math.nan,
    )


def _se_rest(difference_SI: Floats) -> float:
    """Give the standard error that the residuals of the two-way seed + item layout leave in the mean."""
    s, i = difference_SI.shape
    rest_SI = difference_SI - difference_SI.mean(axis=0) - difference_SI.mean(axis=1, keepdims=True)
    rest_SI = np.round(rest_SI + difference_SI.mean(), 9)
    return math.sqrt(float((rest_SI**2).sum()) / ((s - 1) * (i - 1)) / (s * i))


def _se(value_N: Floats) -> float:
    """Give the standard error of the mean; equal values have 0, whatever the float mean leaves."""
    return float(value_N.std(ddof=1) / math.sqrt(len(value_N))) if np.ptp(value_N) > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Discordant:
    """McNemar's exact test of one pair of runs: items only a solved, items only b solved. NaN p without such items."""

    only_a: int
    only_b: int
    p: float


def mcnemar_exact(correct_a_I: Floats, correct_b_I: Floats) -> Discordant:
    """Test one pair of runs on one benchmark. Runs of several seeds share items: test each pair, never the pooled
    table.
    """
    a_I, b_I = np.asarray(correct_a_I, dtype=bool), np.asarray(correct_b_I, dtype=bool)
    only_a, only_b = int((a_I & ~b_I).sum()), int((b_I & ~a_I).sum())
    if only_a + only_b == 0:
        return Discordant(only_a=0, only_b=0, p=math.nan)
    table = [[int((a_I & b_I).sum()), only_a], [only_b, int((~a_I & ~b_I).sum())]]
    return Discordant(only_a=only_a, only_b=only_b, p=float(mcnemar(table, exact=True).pvalue))
