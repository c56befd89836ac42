"""Power, detectable effects, seeds needed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats.multiplicity import adjusted
from analysis.stats.power import (
    detectable,
    detectable_d,
    expected_tost_power,
    holm_superior,
    paired_power,
    seeds_needed,
    tost_power,
    verdict_power,
)


def by_noncentral_t(d, n, alpha):
    critical = stats.t.ppf(1 - alpha / 2, n - 1)
    shift = d * math.sqrt(n)
    # The other tail is below 1e-12 for a shift above 4, where scipy's cdf is NaN.
    other = stats.nct.cdf(-critical, n - 1, shift) if shift < 4 else 0.0
    return stats.nct.sf(critical, n - 1, shift) + other


@pytest.mark.parametrize("n", [3, 5, 12, 24])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
@pytest.mark.parametrize("d", [0.2, 0.8, 2.0])
def test_power_agrees_with_the_noncentral_t(n, alpha, d):
    assert paired_power(d, 1.0, n, alpha) == pytest.approx(by_noncentral_t(d, n, alpha), abs=1e-8)


def test_power_without_an_effect_is_alpha():
    assert paired_power(0.0, 2.0, 3) == pytest.approx(0.05, abs=1e-9)


def test_detectable_effect_known_values():
    # Cohen's tables: n = 12, alpha 0.05 two-sided, power 0.80 gives d = 0.89; n = 34 gives d = 0.50.
    assert detectable_d(12) == pytest.approx(0.89, abs=0.005)
    assert detectable_d(34) == pytest.approx(0.494, abs=0.005)
    assert detectable(2.0, 12) == pytest.approx(2 * detectable_d(12))


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_detectable_effect_has_power_80(n):
    assert paired_power(detectable(1.7, n), 1.7, n) == pytest.approx(0.8, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 5), st.floats(0.2, 5))
def test_seeds_needed_is_the_smallest_number(effect, sd):
    n = seeds_needed(effect, sd)
    assert verdict_power(effect, sd, n) >= 0.8
    assert n == 3 or verdict_power(effect, sd, n - 1) < 0.8


def test_nothing_to_plan_from():
    assert seeds_needed(1.0, 0.0) is None
    assert seeds_needed(0.001, 5.0) is None
    assert math.isnan(detectable(0.0, 5))
    assert math.isnan(detectable(1.0, 1))
    assert math.isnan(tost_power(1.0, math.nan, 3))


@pytest.mark.parametrize(("n", "sd"), [(3, 0.5), (5, 1.0), (12, 1.0)])
def test_tost_power_agrees_with_simulation(n, sd):
    rng, runs = np.random.default_rng(0), 40_000
    delta = rng.normal(0, sd, (runs, n))
    half = stats.t.ppf(0.95, n - 1) * delta.std(axis=1, ddof=1) / math.sqrt(n)
    share = np.mean(np.abs(delta.mean(axis=1)) + half < 1.0)
    assert tost_power(1.0, sd, n) == pytest.approx(share, abs=4 * math.sqrt(0.25 / runs))


def test_tost_power_falls_with_a_true_difference_and_reaches_alpha_at_the_margin():
    assert tost_power(1.0, 0.5, 12, effect=0.5) < tost_power(1.0, 0.5, 12)
    assert tost_power(1.0, 0.1, 12, effect=1.0) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize(("n", "arms", "d"), [(3, 1, 2.0), (6, 8, 1.0), (12, 12, 1.2)])
def test_power_of_the_verdict_agrees_with_the_noncentral_t(n, arms, d):
    expected = stats.nct.sf(stats.t.isf(0.025 / arms, n - 1), n - 1, d * math.sqrt(n))
    assert verdict_power(d, 1.0, n, arms=arms) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("n", "df"), [(4, 2), (12, 24)])
def test_a_pilots_uncertainty_is_the_mean_over_the_true_sd(n, df):
    sd_R = 1.3 / np.sqrt(np.random.default_rng(1).chisquare(df, 4000) / df)
    expected = np.mean([verdict_power(1.0, sd, n, arms=4) for sd in sd_R])
    assert verdict_power(1.0, 1.3, n, arms=4, df=df) == pytest.approx(expected, abs=0.02)
    expected = np.mean([tost_power(1.0, sd, n, 0.05 / 4) for sd in sd_R])
    assert expected_tost_power(1.0, 1.3, n, df, arms=4) == pytest.approx(expected, abs=0.02)
    assert verdict_power(1.0, 1.3, n, df=1_000_000) == pytest.approx(verdict_power(1.0, 1.3, n), abs=2e-3)


def test_a_small_pilot_needs_more_seeds_than_a_known_sd():
    needed = [seeds_needed(1.0, 1.4, arms=8, df=df) for df in (2, 8, 50, None)]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 2 * needed[-1]


def test_holm_over_studies_agrees_with_adjusted_p_values(rng):
    t_RM = rng.normal(1.5, 1.5, (200, 6))
    for t_M, found_M in zip(t_RM, holm_superior(t_RM, 7), strict=True):
        p_M = 2 * stats.t.sf(np.abs(t_M), 7)
        assert (found_M == ((adjusted(p_M, "holm") < 0.05) & (t_M > 0))).all()
