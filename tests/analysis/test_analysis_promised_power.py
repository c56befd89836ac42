"""plan-seeds delivers the power it promises: pilots are drawn, studies planned from them, verdicts counted."""

import math

import numpy as np
import pytest

from analysis.stats.layout import layout, pooled_difference_sd
from analysis.stats.multiplicity import adjusted
from analysis.stats.paired import paired
from analysis.stats.power import holm_power, holm_superior, seeds_needed, verdict_power


def delivered(n, effect, sigma, arms, studies, rng):
    """Share of studies that call the one better arm of `arms` superior, arms paired with one control by seed."""
    found = 0
    for start in range(0, studies, 2000):
        size = min(2000, studies - start)
        score_RMS = rng.normal(0, sigma, (size, arms + 1, n)) + rng.normal(0, 1, (size, 1, n))
        score_RMS[:, 1] += effect
        delta_RMS = score_RMS[:, 1:] - score_RMS[:, :1]
        t_RM = delta_RMS.mean(axis=2) / (delta_RMS.std(axis=2, ddof=1) / math.sqrt(n))
        found += int(holm_superior(t_RM, n - 1)[:, 0].sum())
    return found / studies


def noise(share, studies, sigmas=4.0):
    return sigmas * math.sqrt(max(share * (1 - share), 0.01) / studies)


def check_known(n, arms, studies, rng):
    effect = 1.4 * 1.0 * 4 / math.sqrt(n)
    promised = verdict_power(effect, math.sqrt(2) * 1.0, n, arms=arms)
    got = delivered(n, effect, 1.0, arms, studies, rng)
    # A little more than promised: the arms that do not differ are rejected now and then, and Holm steps on.
    assert promised - noise(promised, studies) <= got <= promised + 0.02 + noise(promised, studies)


@pytest.mark.parametrize(("n", "arms"), [(3, 1), (3, 8), (8, 12), (17, 8), (30, 12)])
def test_promised_against_delivered_with_a_known_sd(n, arms):
    check_known(n, arms, 2000, np.random.default_rng(n))


@pytest.mark.slow
@pytest.mark.parametrize("n", range(3, 31))
def test_promised_against_delivered_for_every_n(n):
    for arms in (1, 4, 12):
        check_known(n, arms, 20_000, np.random.default_rng(n))


def planned(methods, seeds, effect, arms, pilots, rng):
    """Draw pilots (methods x seeds), plan each for power .8; give the mean power that the planned studies have."""
    powers = []
    for _ in range(pilots):
        fit = layout(rng.normal(0, 1, (methods, seeds)) + rng.normal(0, 1, seeds))
        n = seeds_needed(effect, pooled_difference_sd(fit), arms=arms, df=fit.df)
        powers.append(verdict_power(effect, math.sqrt(2), n, arms=arms) if n is not None else 1.0)
    return float(np.mean(powers)), float(np.std(powers) / math.sqrt(pilots))


@pytest.mark.parametrize(("methods", "seeds"), [(3, 3), (9, 4)])
def test_plans_from_pilots_deliver_the_power_they_promise(methods, seeds):
    mean, error = planned(methods, seeds, 1.0, 8, 150, np.random.default_rng(methods))
    assert 0.8 - 4 * error <= mean <= 0.83 + 4 * error


def test_a_plan_that_took_the_pilots_sd_for_the_truth_would_not():
    rng, powers = np.random.default_rng(4), []
    for _ in range(300):
        sd = pooled_difference_sd(layout(rng.normal(0, 1, (2, 3))))  # 2 x 3 runs: two degrees of freedom
        powers.append(verdict_power(1.0, math.sqrt(2), seeds_needed(1.0, sd) or 10_000, arms=8))
    assert np.mean(powers) < 0.55  # "power .8", planned with alpha .05 and sd known


@pytest.mark.slow
@pytest.mark.parametrize(("methods", "seeds"), [(2, 3), (2, 6), (3, 3), (9, 3), (9, 6)])
@pytest.mark.parametrize(("effect", "arms"), [(0.8, 12), (1.5, 4)])
def test_plans_from_pilots_deliver_long(methods, seeds, effect, arms):
    mean, error = planned(methods, seeds, effect, arms, 2000, np.random.default_rng(7))
    assert 0.79 - 3 * error <= mean <= 0.86 + 3 * error  # whole seeds and at least three: never less, a little more


def test_holm_with_every_arm_better_agrees_with_the_verdicts_of_rows():
    rng, studies, found = np.random.default_rng(9), 300, 0
    for _ in range(studies):
        score_MS = rng.normal(0, 1, (7, 8)) + np.array([0.0] + [1.5] * 6)[:, None]
        p_M = np.array([paired(score_MS[i] - score_MS[0], rng).p_t for i in range(1, 7)])
        found += int((adjusted(p_M, "holm") < 0.05).sum())
    promised = holm_power(1.5, math.sqrt(2), 8, np.random.default_rng(1), arms=6, df=1_000_000)
    assert promised == pytest.approx(found / studies / 6, abs=0.06)  # the arms of a study share their control
