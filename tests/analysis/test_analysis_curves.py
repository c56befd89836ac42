"""Curves, equal tokens, question-level tests."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.curves import at, band, cumulative, on_grid, smooth
from analysis.stats.items import item_difference, mcnemar_exact


def test_interpolation_and_its_range():
    x, y = np.array([0.0, 10.0, 20.0]), np.array([0.0, 50.0, 60.0])
    assert at(x, y, 15.0) == 55.0
    assert at(x, y, 20.0) == 60.0
    assert math.isnan(at(x, y, 20.1))
    assert at(x, np.array([0.0, np.nan, 60.0]), 10.0) == 30.0


def test_tokens_that_were_not_logged_make_the_sum_unknown_not_smaller():
    assert np.isnan(cumulative(np.array([5.0, np.nan, 5.0]))).tolist() == [False, True, True]
    assert cumulative(np.array([5.0, 6.0])).tolist() == [5.0, 11.0]


def test_trailing_mean_by_hand():
    assert smooth(np.array([1.0, 3.0, 5.0, 9.0]), 2).tolist() == [1.0, 2.0, 4.0, 7.0]
    assert smooth(np.array([np.nan, 4.0]), 3).tolist()[1] == 4.0
    assert np.isnan(smooth(np.array([np.nan]), 3)[0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.integers(1, 40))
def test_trailing_mean_is_the_mean_of_the_window(values, window):
    y = np.array(values)
    expected = [y[max(0, i - window + 1) : i + 1].mean() for i in range(len(y))]
    assert smooth(y, window) == pytest.approx(expected)


def test_band_is_the_pointwise_t_interval():
    y = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, np.nan]])
    mean, low, high = band(y)
    interval = stats.ttest_1samp(y[:, 0], 0).confidence_interval(0.95)
    assert (mean[0], low[0], high[0]) == pytest.approx((3.0, interval.low, interval.high))
    assert mean[1] == 2.0
    assert math.isnan(low[1])


def test_a_step_that_a_run_lacks_stays_empty():
    on = on_grid(np.array([1.0, 3.0]), np.array([10.0, 30.0]), np.array([1.0, 2.0, 3.0]))
    assert on[[0, 2]].tolist() == [10.0, 30.0]
    assert math.isnan(on[1])


def test_item_difference_by_hand():
    a, b = np.array([[1, 1, 0, 1], [1, 0, 0, 1]]), np.array([[0, 1, 0, 0], [0, 1, 0, 1]])
    # Differences by seed: (1, 0, 0, 1) and (1, -1, 0, 0); per item mean: 1, -0.5, 0, 0.5; mean 0.25 -> 25 points.
    result = item_difference(a, b)
    assert (result.items, result.seeds, result.delta) == (4, 2, 25.0)
    # sd of (1, -.5, 0, .5) is sqrt((.5625 + .5625 + .0625 + .0625) / 3) = 0.645497; over sqrt(4): 32.2749 points.
    assert result.se_items == pytest.approx(32.27486, abs=1e-4)
    # Seeds: 50 and 0 points: sd 35.3553, over sqrt(2): 25.
    assert result.se_seeds == pytest.approx(25.0)
    # Residuals of seed + item: +-.25 in all 8 cells, sum of squares .5, df 3: mean square 1/6; over 8: .144338^2.
    assert result.se_rest == pytest.approx(14.43376, abs=1e-4)
    # New runs and new questions: 1041.67 + 625 - 208.33 = 1458.33; of it questions alone 833.33, run x question 208.33.
    assert result.se_both == pytest.approx(math.sqrt(1458.3333), abs=1e-3)
    assert (result.share_items, result.share_rest) == pytest.approx((833.3333 / 1458.3333, 1 / 7), abs=1e-4)
    assert result.p_items == pytest.approx(stats.ttest_1samp([1, -0.5, 0, 0.5], 0).pvalue)


def test_equal_results_are_not_testable():
    # Every question is won in one run of seven: no spread over questions, though the float mean of 11 times 100/7 has.
    result = item_difference(np.repeat([[1.0]] + [[0.0]] * 6, 11, axis=1), np.zeros((7, 11)))
    assert (result.se_items, math.isnan(result.p_items)) == (0.0, True)
    result = item_difference(np.ones((2, 5)), np.ones((2, 5)))
    assert result.delta == 0.0
    assert math.isnan(result.p_items)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mcnemar_is_a_binomial_test_of_the_discordant_items(pairs):
    a, b = (np.array(x) for x in zip(*pairs, strict=True))
    found = mcnemar_exact(a, b)
    assert (found.only_a, found.only_b) == (int((a & ~b).sum()), int((~a & b).sum()))
    if found.only_a + found.only_b:
        assert found.p == pytest.approx(stats.binomtest(found.only_a, found.only_a + found.only_b).pvalue)
    else:
        assert math.isnan(found.p)
