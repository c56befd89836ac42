"""Intervals and error rates by simulation: a short version always, the long one under `slow`."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.stats.equivalence import tost
from analysis.stats.items import item_difference
from analysis.stats.multiplicity import adjusted
from analysis.stats.paired import paired
from analysis.stats.power import detectable


def coverage(n, runs, level=0.95, seed=0):
    """Share of intervals that hold the true mean 0.7, method and control sharing their seeds' noise."""
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(runs):
        shared = rng.normal(0, 2, n)
        a, b = 50.7 + shared + rng.normal(0, 1, n), 50 + shared + rng.normal(0, 1, n)
        result = paired(a - b, rng, level=level)
        hits += result.ci_low <= 0.7 <= result.ci_high
    return hits / runs


def false_positives(families, seeds=3, methods=8, seed=1):
    """A/A data: raw share of p < 0.05, and share of families with any Holm p < 0.05."""
    rng, raw, any_holm = np.random.default_rng(seed), [], 0
    for _ in range(families):
        score_MS = rng.normal(0, 1, (methods + 1, seeds)) + rng.normal(0, 1, seeds)
        p_F = np.array([paired(score_MS[i] - score_MS[0], rng).p_t for i in range(1, methods + 1)])
        raw.append(np.mean(p_F < 0.05))
        any_holm += bool((adjusted(p_F, "holm") < 0.05).any())
    return float(np.mean(raw)), any_holm / families


def noise(share, runs, sigmas=4.0):
    return sigmas * math.sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("n", [3, 5, 12])
def test_intervals_cover(n):
    runs = 800
    assert coverage(n, runs) == pytest.approx(0.95, abs=noise(0.95, runs))


def test_aa_data_gives_five_percent():
    raw, family = false_positives(150)
    assert raw == pytest.approx(0.05, abs=0.03)  # the eight methods of a family share one control
    assert family <= 0.05 + noise(0.05, 150)


def test_tost_at_the_margin_is_wrong_five_percent_of_the_time():
    rng, runs = np.random.default_rng(3), 800
    wrong = sum(tost(rng.normal(1.0, 0.4, 12), 1.0).p < 0.05 for _ in range(runs)) / runs
    assert wrong == pytest.approx(0.05, abs=noise(0.05, runs))


def test_the_detectable_effect_is_detected_80_percent_of_the_time():
    rng, runs, n = np.random.default_rng(4), 800, 5
    effect = detectable(1.0, n)
    found = sum(paired(rng.normal(effect, 1.0, n), rng).p_t < 0.05 for _ in range(runs)) / runs
    assert found == pytest.approx(0.8, abs=noise(0.8, runs))


def test_question_intervals_cover():
    rng, runs = np.random.default_rng(5), 600
    hits = 0
    for _ in range(runs):
        solve_I = rng.uniform(0.2, 0.8, 150)
        a_SI, b_SI = (rng.random((3, 150)) < np.clip(solve_I + shift, 0, 1) for shift in (0.1, 0.0))
        result = item_difference(a_SI, b_SI)
        hits += result.ci_low <= 10.0 <= result.ci_high
    assert hits / runs == pytest.approx(0.95, abs=noise(0.95, runs))


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 12])
def test_intervals_cover_94_to_96_percent(n):
    assert 0.94 <= coverage(n, 12_000, seed=n) <= 0.96


@pytest.mark.slow
def test_aa_false_positives_long():
    raw, family = false_positives(2000, seed=11)
    assert 0.042 <= raw <= 0.058
    assert family <= 0.05 + noise(0.05, 2000, sigmas=2.0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "expected"), [(3, 0.75), (12, 0.91)])
def test_percentile_bootstrap_covers_too_little(n, expected):
    rng, runs, hits = np.random.default_rng(6), 4000, 0
    for _ in range(runs):
        delta = rng.normal(0, 1, n)
        mean_R = delta[rng.integers(0, n, (1000, n))].mean(axis=1)
        low, high = np.quantile(mean_R, [0.025, 0.975])
        hits += low <= 0 <= high
    assert hits / runs == pytest.approx(expected, abs=0.025)
    assert stats.norm.cdf(1.96) > expected  # it says 95%
