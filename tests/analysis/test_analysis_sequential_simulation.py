"""Errors and power of the designs by simulation with the shipped rules: short always, long under `slow`.

Expected numbers: 12 arms, one control, sigma of a run .97 points; shares of (superior, no gain), and runs.
"""

import math

import numpy as np
import pytest

from analysis.stats.boundaries import boundaries
from analysis.stats.design import design
from analysis.stats.simulation import NO_GAIN, SUPERIOR, World, operating, simulate

SIGMA = 0.97
FIXED = {0.0: (0.025, 0.63, 156), 0.5: (0.21, 0.21, 156), 1.0: (0.64, 0.024, 156), 1.5: (0.93, 0.001, 156),
         2.0: (0.995, 0.0, 156)}  # fmt: skip
SEQUENTIAL = {0.0: (0.026, 0.72, 110), 0.5: (0.24, 0.24, 118), 1.0: (0.72, 0.026, 110), 1.5: (0.97, 0.001, 94),
              2.0: (0.999, 0.0, 78)}  # fmt: skip
MIXED = np.array([0.0] * 8 + [0.5, 1.0, 1.5, 2.0])


def made(name, family=None, variance="pooled", beta=0.0):
    plan = design(name, 12, family=family, variance=variance, beta=beta)
    return plan, boundaries(plan, np.random.default_rng(0))


@pytest.fixture(scope="module")
def each():
    return {name: made(name, "each") for name in ("fixed", "sequential")}


def check_table(plan, bounds, expected, studies, seed):
    rows = operating(plan, bounds, tuple(expected), SIGMA, np.random.default_rng(seed), studies=studies, guards=False)
    for row in rows:
        superior, no_gain, runs = expected[row.effect]
        # The arms of a study share a control: a study counts as about four independent arms, not as twelve.
        error = 4 * math.sqrt(0.25 / (4 * studies)) if 0.1 < superior < 0.9 or 0.1 < no_gain < 0.9 else 0.0
        small = 4 * math.sqrt(0.026 / (4 * studies)) + 0.006  # and what rounding the expected numbers leaves
        assert row.superior == pytest.approx(superior, abs=max(error, small) + 0.005), row
        assert row.no_gain == pytest.approx(no_gain, abs=max(error, small) + 0.005), row
        assert row.runs == pytest.approx(runs, abs=1.0 + 40 / math.sqrt(studies)), row
    return {row.effect: row for row in rows}


@pytest.mark.parametrize(("name", "expected"), [("fixed", FIXED), ("sequential", SEQUENTIAL)])
def test_power_and_runs(each, name, expected):
    check_table(*each[name], expected, 1500, 1)


def test_the_design_beats_the_fixed_one_with_fewer_runs(each):
    found = {
        n: operating(*each[n], (1.0,), SIGMA, np.random.default_rng(2), studies=1500, guards=False)[0] for n in each
    }
    assert found["sequential"].superior > found["fixed"].superior
    assert found["sequential"].runs < 0.73 * found["fixed"].runs
    assert found["sequential"].most_runs == 124


def test_intervals_cover_and_estimates_after_a_stop_are_biased(each):
    plan, bounds = each["sequential"]
    for effect, sign in ((0.0, -1), (1.0, 1), (2.0, 1)):
        world = World(effect_M=np.full(12, effect), sigma=SIGMA)
        found = simulate(plan, bounds, world, np.random.default_rng(6), studies=1500, guards=False)
        covered = np.abs(found.delta_RM - effect) <= bounds.one_J[-1] * found.se_RM
        assert covered.mean() == pytest.approx(0.95, abs=0.025)
        bias = (found.delta_RM - effect).mean()
        assert sign * bias == pytest.approx(0.07, abs=0.04)  # away from the middle: where a study stops early


def test_the_familys_error_holds_over_all_arms():
    plan, bounds = made("sequential")
    found = simulate(plan, bounds, World(effect_M=MIXED, sigma=SIGMA), np.random.default_rng(3), studies=3000)
    assert found.any_share(SUPERIOR, list(range(8))) <= 0.025 + 3 * math.sqrt(0.025 / 3000)
    assert found.share(SUPERIOR)[8:] == pytest.approx([0.06, 0.39, 0.83, 0.99], abs=0.06)


def test_the_guards_lower_the_errors_of_an_arm_that_spreads_more():
    scale = np.array([1.4] + [1.0] * 11)
    errors = {}
    for variance in ("pooled", "larger"):
        plan, bounds = made("sequential", "each", variance)
        world = World(effect_M=np.zeros(12), sigma=SIGMA, scale_M=scale)
        found = simulate(plan, bounds, world, np.random.default_rng(4), studies=3000, guards=False)
        errors[variance] = found.share(SUPERIOR)[0]
    assert errors["pooled"] == pytest.approx(0.069, abs=0.02)
    assert errors["larger"] == pytest.approx(0.035, abs=0.014)


def test_levene_refuses_five_percent_of_clean_studies_a_look_and_most_uneven_ones(each):
    plan, bounds = each["sequential"]
    clean = simulate(plan, bounds, World(effect_M=np.zeros(12)), np.random.default_rng(5), studies=1000)
    assert clean.refused_R.mean() == pytest.approx(0.06, abs=0.05)
    uneven = World(effect_M=np.zeros(12), scale_M=np.array([0.4] * 6 + [2.0] * 6))
    assert simulate(plan, bounds, uneven, np.random.default_rng(5), studies=300).refused_R.mean() > 0.9


# What follows takes minutes.


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), [("fixed", FIXED), ("sequential", SEQUENTIAL)])
def test_tables_long(each, name, expected):
    rows = check_table(*each[name], expected, 40_000, 11)
    assert rows[0.0].superior <= 0.0265
    assert rows[1.0].no_gain <= 0.0265


@pytest.mark.slow
def test_the_screen_long():
    plan, bounds = made("screen", "each")
    rows = operating(plan, bounds, (0.0, 1.0), SIGMA, np.random.default_rng(12), studies=40_000, guards=False)
    for row in rows:
        assert row.runs == pytest.approx(72, abs=1.0)
        assert max(row.superior, row.no_gain) == pytest.approx(0.5, abs=0.03)
        assert min(row.superior, row.no_gain) <= 0.027


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "family", "power", "runs"),
    [
        ("fixed", "holm", (0.04, 0.23, 0.60, 0.89), 156),
        ("sequential", "holm", (0.06, 0.39, 0.83, 0.99), 112),
        ("sequential", "dunnett", (0.07, 0.40, 0.84, 0.99), 111),
        ("screen", "dunnett", (0.04, 0.20, 0.54, 0.86), 72),
    ],
)
def test_families_long(name, family, power, runs):
    plan, bounds = made(name, family)
    world = World(effect_M=MIXED, sigma=SIGMA)
    found = simulate(plan, bounds, world, np.random.default_rng(13), studies=40_000, guards=False)
    assert found.any_share(SUPERIOR, list(range(8))) <= 0.025 + 2 * math.sqrt(0.025 / 40_000)
    assert found.share(SUPERIOR)[8:] == pytest.approx(power, abs=0.02)
    assert found.runs_R.mean() == pytest.approx(runs, abs=1.0)


def heavy(rng, shape):
    return rng.standard_t(3, shape) / math.sqrt(3)


def skewed(rng, shape):
    return 1.0 - rng.exponential(1.0, shape)


def collapsed(rng, shape):
    return rng.standard_normal(shape) - 4.0 * (rng.random(shape) < 0.08)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "noise", "pooled", "guarded"),
    [
        ("t with 3 df", heavy, (0.028, 0.028), 0.02),
        ("skewed to low scores", skewed, (0.011, 0.039), 0.025),
        ("8% collapsed", collapsed, (0.012, 0.037), 0.025),
    ],
)
def test_violations_and_what_the_guards_make_of_them(name, noise, pooled, guarded):
    plan, bounds = made("sequential", "each")
    guard, guard_bounds = made("sequential", "each", "larger")
    for effect, status, expected in ((0.0, SUPERIOR, pooled[0]), (1.0, NO_GAIN, pooled[1])):
        world = World(effect_M=np.full(12, effect), sigma=SIGMA, noise=noise)
        bare = simulate(plan, bounds, world, np.random.default_rng(14), studies=20_000, guards=False)
        safe = simulate(guard, guard_bounds, world, np.random.default_rng(14), studies=20_000)
        shares = bare.share(status).mean(), safe.share(status).mean()
        print(f"{name}, {'superior' if status == SUPERIOR else 'no gain'}: {shares[0]:.4f}, guarded {shares[1]:.4f}, "
              f"refused {safe.refused_R.mean():.3f}")  # fmt: skip
        assert shares[0] == pytest.approx(expected, abs=0.006)
        assert shares[1] <= guarded + 0.002


@pytest.mark.slow
def test_a_covariate_above_the_true_correlation_raises_errors_and_one_below_is_safe():
    for beta, correlation, expected in ((0.4, 0.0, 0.056), (0.4, 0.4, 0.025), (0.2, 0.4, 0.017)):
        plan, bounds = made("sequential", "each", beta=beta)
        world = World(effect_M=np.zeros(12), sigma=SIGMA, correlation=correlation)
        found = simulate(plan, bounds, world, np.random.default_rng(15), studies=20_000, guards=False)
        error = found.share(SUPERIOR).mean()
        print(f"beta {beta}, correlation {correlation}: {error:.4f}")
        assert error == pytest.approx(expected, abs=0.008)
