"""Paired differences: known answers, guards, laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.bootstrap import percentile_interval
from analysis.stats.equivalence import tost
from analysis.stats.paired import paired, sign_flip_p, smallest_p, wilcoxon_p

vectors = st.lists(st.floats(-20, 20).map(lambda x: round(x, 3)), min_size=3, max_size=10).filter(
    lambda v: np.ptp(v) > 0.01
)


def test_three_seeds_by_hand(rng):
    result = paired(np.array([1.0, 2.0, 3.0]), rng)
    # mean 2, sd 1, se 1/sqrt(3) = 0.57735; t quantile at df 2 is 4.30265: half width 2.48414.
    assert (result.n, result.mean, result.sd, result.d_z) == (3, 2.0, 1.0, 2.0)
    assert result.ci_low == pytest.approx(2 - 2.484138, abs=1e-5)
    assert result.ci_high == pytest.approx(2 + 2.484138, abs=1e-5)
    # t = 2 * sqrt(3) = 3.4641; for df 2 the two-sided p is 1 - t / sqrt(2 + t^2) = 1 - 3.4641 / 3.74166.
    assert result.p_t == pytest.approx(1 - 3.4641016 / math.sqrt(14), abs=1e-7)
    # All three differences are positive: 2 of the 8 sign patterns are as extreme.
    assert result.p_perm == 0.25
    assert result.p_wilcoxon == 0.25


def test_sd_has_divisor_n_minus_1(rng):
    assert paired(np.array([0.0, 2.0]), rng).sd == pytest.approx(math.sqrt(2.0))


def test_one_pair_has_no_sd_and_no_test(rng):
    result = paired(np.array([1.5]), rng)
    assert result.mean == 1.5
    assert math.isnan(result.sd)
    assert math.isnan(result.p_t)
    assert "one pair" in result.reason


def test_no_pair(rng):
    result = paired(np.array([]), rng)
    assert result.n == 0
    assert math.isnan(result.mean)


@pytest.mark.parametrize("delta", [[0.4, 0.4, 0.4], [0.0, 0.0, 0.0], [0.1 + 0.2, 0.3, 0.3]])
def test_zero_variance_is_not_testable_even_through_float_noise(delta, rng):
    result = paired(np.array(delta), rng)
    assert not result.testable
    assert "not testable" in result.reason
    assert all(math.isnan(v) for v in (result.p_t, result.p_perm, result.p_wilcoxon, result.ci_low))
    assert math.isnan(tost(np.array(delta), 1.0).p)


def test_equal_counts_are_constant_whatever_was_printed(rng):
    # 10.0 -> 13.3 and 13.3 -> 16.7 of 30 items are both one item more: +3.3 and +3.4 as printed.
    assert not paired(np.array([3.3, 3.4, 3.3]), rng, constant=True).testable


def test_float_noise_does_not_break_ties(rng):
    # 0.3 and 0.1 + 0.2 are one value; with the noise the ranks would be 1, 2 and the tie lost.
    noisy, clean = np.array([0.1 + 0.2, -0.3, 0.7, 0.9]), np.array([0.3, -0.3, 0.7, 0.9])
    assert paired(noisy, rng).p_wilcoxon == paired(clean, rng).p_wilcoxon


def test_sign_flips_count_in_whole_units(rng):
    # 0.7 - 0.4 - 0.3 + 0.1 - 0.1 is 0, so every pattern is as extreme (p = 1), whatever the float sum leaves.
    for tenths in ([7, -4, -3, 1, -1], [-28, -19, 29, 18], [29, -22, -4, 3, -6], [3, 1, -2, 5]):
        sum_R = np.array(list(itertools.product((1, -1), repeat=len(tenths)))) @ np.array(tenths)
        exact = np.mean(np.abs(sum_R) >= abs(sum(tenths)))
        assert sign_flip_p(np.array(tenths) / 10, rng) == exact


def test_smallest_p():
    assert [smallest_p(n) for n in (1, 3, 5, 6)] == [1.0, 0.25, 0.0625, 0.03125]


@settings(max_examples=60, deadline=None)
@given(vectors)
def test_agrees_with_scipy(values):
    delta, rng = np.array(values), np.random.default_rng(0)
    result = paired(delta, rng)
    expected = stats.ttest_1samp(delta, 0.0)
    assert result.p_t == pytest.approx(expected.pvalue)
    assert result.ci_low == pytest.approx(expected.confidence_interval(0.95).low)
    flips = stats.permutation_test((delta,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    assert sign_flip_p(delta, rng) == pytest.approx(flips.pvalue)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=3, max_size=7).filter(any))
def test_wilcoxon_with_ties_and_zeros_agrees_with_scipys_exact_permutation(values):
    delta = np.array(values, dtype=float)
    expected = stats.wilcoxon(delta, method=stats.PermutationMethod(n_resamples=np.inf)).pvalue
    assert wilcoxon_p(delta) == pytest.approx(expected)


def test_wilcoxon_of_nothing_but_zeros_does_not_exist():
    assert math.isnan(wilcoxon_p(np.zeros(4)))


@settings(max_examples=60, deadline=None)
@given(vectors, st.floats(0.1, 10))
def test_swapping_sides_mirrors_and_units_scale(values, factor):
    delta, rng = np.array(values), np.random.default_rng(0)
    one, other, scaled = paired(delta, rng), paired(-delta, rng), paired(delta * factor, rng)
    assert other.mean == pytest.approx(-one.mean)
    assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low))
    assert other.p_perm == pytest.approx(one.p_perm)
    assert scaled.p_t == pytest.approx(one.p_t)
    assert scaled.ci_high == pytest.approx(one.ci_high * factor)


def test_many_seeds_sample_the_sign_flips_from_the_given_generator():
    delta = np.random.default_rng(5).normal(0.4, 1, 20)
    first, again = (sign_flip_p(delta, np.random.default_rng(7)) for _ in range(2))
    assert first == again
    assert first == pytest.approx(stats.ttest_1samp(delta, 0).pvalue, abs=0.03)


def test_tost_by_hand():
    # mean 0, sd 0.1, n = 4: se 0.05, t = 1 / 0.05 = 20 on both sides; p = P(T3 > 20).
    result = tost(np.array([-0.1, 0.1, -0.1, 0.1]) * math.sqrt(3) / 2, 1.0)
    assert result.p == pytest.approx(stats.t.sf(20, 3))
    # 90% interval: quantile 2.35336 times 0.05.
    assert result.ci_high == pytest.approx(2.353363 * 0.05, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(vectors, st.floats(0.05, 10))
def test_tost_decides_as_its_interval(values, margin):
    result = tost(np.array(values), margin)
    inside = -margin < result.ci_low and result.ci_high < margin
    assert (result.p < 0.05) == inside or abs(result.p - 0.05) < 1e-9


def test_percentile_bootstrap_is_refused_below_eight_seeds_and_repeats_with_the_generator():
    assert all(math.isnan(v) for v in percentile_interval(np.arange(7.0), np.random.default_rng(0)))
    delta = np.arange(8.0)
    first, again = (percentile_interval(delta, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    # The normal approximation of the resampled mean: 3.5 +- 1.96 * population sd 2.2913 / sqrt(8).
    assert first == pytest.approx((3.5 - 1.588, 3.5 + 1.588), abs=0.12)


def test_global_random_state_is_untouched(rng):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    delta = np.arange(20.0)
    paired(delta, rng)
    percentile_interval(delta, rng)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
