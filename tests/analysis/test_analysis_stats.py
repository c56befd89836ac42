"""Multiplicity, the two-way layout, rankings."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

from analysis.stats.layout import layout, pairing_gain, pooled_difference_sd, probability_better
from analysis.stats.multiplicity import adjusted, verdict
from analysis.stats.ranks import agreement, rank_intervals, ranks, seed_resamples

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_and_bh_by_hand():
    p = np.array([0.01, 0.04, 0.03])
    # Holm: 0.01 * 3 = 0.03; 0.03 * 2 = 0.06; 0.04 * 1 = 0.04, made monotone: 0.06.
    assert adjusted(p, "holm") == pytest.approx([0.03, 0.06, 0.06])
    # BH from above: 0.04; min(0.04, 0.03 * 3 / 2 = 0.045) = 0.04; min(0.04, 0.01 * 3) = 0.03.
    assert adjusted(p, "bh") == pytest.approx([0.03, 0.04, 0.04])


@settings(max_examples=12, deadline=None)
@given(p_values, st.sampled_from([("holm", "holm"), ("bh", "fdr_bh")]))
def test_adjusted_agrees_with_statsmodels(values, names):
    ours, theirs = names
    assert adjusted(np.array(values), ours) == pytest.approx(multipletests(values, method=theirs)[1])


def test_a_comparison_that_is_not_testable_is_no_member_of_the_family():
    assert adjusted(np.array([0.02, np.nan, 0.03]), "holm") == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)


@pytest.mark.parametrize(
    ("name", "delta", "p", "tost_p", "expected"),
    [
        ("clear gain", 1.2, 0.01, 0.7, "superior"),
        ("clear loss", -1.2, 0.01, 0.7, "inferior"),
        ("significant and inside the margin stays a difference", 0.2, 0.01, 0.001, "superior"),
        ("small and shown small", 0.1, 0.6, 0.01, "equivalent"),
        ("an interval that includes 0 is not equal", 0.1, 0.6, 0.4, "inconclusive"),
        ("no variance", 0.0, math.nan, math.nan, "not testable"),
    ],
)
def test_verdict(name, delta, p, tost_p, expected):
    assert verdict(delta, p, tost_p) == expected, name


def test_layout_agrees_with_the_anova_table(rng):
    score_MS = rng.normal(50, 1, (4, 5)) + rng.normal(0, 2, 5)
    fit = layout(score_MS)
    frame = pd.DataFrame({"y": score_MS.ravel(), "m": np.repeat(range(4), 5), "s": np.tile(range(5), 4)})
    table = anova_lm(smf.ols("y ~ C(m) + C(s)", frame).fit())
    mean_square = table["sum_sq"] / table["df"]
    assert fit.df == table.loc["Residual", "df"] == 12
    assert fit.residual_sd == pytest.approx(math.sqrt(mean_square["Residual"]))
    seed_variance = (mean_square["C(s)"] - mean_square["Residual"]) / 4
    assert fit.icc == pytest.approx(seed_variance / (seed_variance + mean_square["Residual"]))


def test_icc_is_cut_at_zero():
    # Seed means are equal (5, 5): mean square of seeds 0, residuals +-1 -> variance estimate negative, cut to 0.
    fit = layout(np.array([[4.0, 6.0], [6.0, 4.0]]))
    assert fit.icc == 0.0
    # Residuals are -1, 1, 1, -1 with df 1: residual variance 4, sd of a paired difference sqrt(8).
    assert fit.residual_sd == 2.0
    assert pooled_difference_sd(fit) == pytest.approx(math.sqrt(8))


def test_seeds_with_a_missing_cell_are_no_part_of_the_layout():
    whole = np.array([[1.0, 2.0, 4.0], [2.0, 3.5, 4.0]])
    with_gap = np.column_stack([whole, [np.nan, 9.0]])
    assert layout(with_gap) == layout(whole)
    assert math.isnan(layout(whole[:1]).residual_sd)


def test_pairing_gain_by_hand():
    a, b = np.array([0.0, 10.0, 20.0]), np.array([0.0, 11.0, 19.0])
    gain = pairing_gain(a, b)
    # var(a) = 100; b is centred as (-10, 1, 9): var(b) = (100 + 1 + 81) / 2 = 91; a - b = (0, -1, 1): variance 1.
    assert gain.variance_ratio == pytest.approx(1 / 191)
    assert gain.r == pytest.approx(stats.pearsonr(a, b).statistic)
    assert math.isnan(pairing_gain(a[:2], b[:2]).r)
    assert math.isnan(pairing_gain(np.ones(3), b).r)


def test_probability_better_counts_ties_half():
    # Pairs (1,1) tie, (1,2) lose, (3,1) win, (3,2) win: (0.5 + 0 + 1 + 1) / 4.
    assert probability_better(np.array([1.0, 3.0]), np.array([1.0, 2.0])) == 0.625
    a, b = np.random.default_rng(0).normal(0, 1, 6), np.random.default_rng(1).normal(0, 1, 5)
    assert probability_better(a, b) == pytest.approx(stats.mannwhitneyu(a, b).statistic / 30)


def test_rank_correlations_agree_with_scipy(rng):
    a_MS, b_MS = np.round(rng.normal(0, 1, (9, 3)), 1), np.round(rng.normal(0, 1, (9, 3)), 1)
    found = agreement(a_MS, b_MS, rng)
    a_M, b_M = a_MS.mean(axis=1), b_MS.mean(axis=1)
    assert found.spearman == pytest.approx(stats.spearmanr(np.round(a_M, 9), np.round(b_M, 9)).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(np.round(a_M, 9), np.round(b_M, 9)).statistic)
    left_out = [
        stats.spearmanr(*(np.round(np.delete(x, s, axis=1).mean(axis=1), 9) for x in (a_MS, b_MS))).statistic
        for s in range(3)
    ]
    assert found.spearman_loso == pytest.approx((min(left_out), max(left_out)))


def test_ranks_use_unrounded_means():
    # Rounded to one decimal all three would tie.
    score_MS = np.array([[1.04, 1.02], [1.01, 1.03], [1.0, 1.0]])
    assert agreement(score_MS, -score_MS, np.random.default_rng(0)).spearman == pytest.approx(-1.0)
    assert ranks(np.array([0.3, 0.1 + 0.2, 0.2])).tolist() == [1.5, 1.5, 3.0]


def test_few_seeds_are_resampled_exhaustively():
    assert seed_resamples(3, np.random.default_rng(0), 10).shape == (27, 3)
    assert seed_resamples(12, np.random.default_rng(0), 10).shape == (10, 12)


def test_rank_intervals_by_hand():
    # Method 0 wins at both seeds: rank 1 in every resample. Methods 1 and 2 swap: each is 2 or 3, or 2.5 tied.
    rank_M, low_M, high_M = rank_intervals(np.array([[9.0, 9.0], [2.0, 1.0], [1.0, 2.0]]), np.random.default_rng(0))
    assert rank_M.tolist() == [1.0, 2.5, 2.5]
    assert (low_M[0], high_M[0]) == (1.0, 1.0)
    assert (round(low_M[1], 2), round(high_M[1], 2)) == (2.04, 2.96)  # quantiles of (2, 2.5, 2.5, 3)


def test_too_few_methods_or_seeds():
    found = agreement(np.ones((2, 3)), np.ones((2, 3)), np.random.default_rng(0))
    assert math.isnan(found.spearman)
    assert np.isnan(rank_intervals(np.full((3, 2), np.nan), np.random.default_rng(0))[0]).all()
    assert np.isnan(rank_intervals(np.ones((3, 1)), np.random.default_rng(0))[1]).all()
