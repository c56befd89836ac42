"""The noise floor: spread of runs, its split over benchmarks, late evaluations, controls against controls."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from analysis_synth import Sweep, dump, write_sweep
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.errors import AnalysisError
from analysis.options import Options
from analysis.progress import held_out
from analysis.stats.layout import layout, seed_correlation
from analysis.stats.noise import late_ratio, over_binomial, run_spread, same_against_same, variance_shares
from analysis.study import make_study
from analysis.tables import build


def test_spread_of_runs_agrees_with_least_squares(rng):
    score_MS = rng.normal(50, 2, (4, 6)) + np.arange(4)[:, None]
    score_MS[1, 4:] = np.nan
    frame = pd.DataFrame({"y": score_MS.ravel(), "m": np.repeat(range(4), 6)}).dropna()
    fit = smf.ols("y ~ C(m)", frame).fit()
    found = run_spread(score_MS)
    assert found.df == fit.df_resid == 18
    assert found.sd == pytest.approx(math.sqrt(fit.mse_resid), abs=1e-8)
    assert found.low == pytest.approx(found.sd * math.sqrt(18 / stats.chi2.ppf(0.975, 18)))
    assert math.isnan(run_spread(score_MS[:, :1]).sd)


def test_correlation_of_seeds_by_hand():
    # Seed means 1 and 3: MS seed = 2 * 2 = 4. Residuals +-.5 in all four cells, df 1: MS 1. rho = (4 - 1) / (4 + 1).
    score_MS = np.array([[0.5, 3.5], [1.5, 2.5]])
    found = seed_correlation(score_MS)
    assert found.rho == pytest.approx(0.6)
    # The ratio 4 over the F quantile at .9 with (1, 1) df: (4 / 39.86 - 1) / (4 / 39.86 + 1).
    f = 4 / stats.f.ppf(0.9, 1, 1)
    assert found.lower90 == pytest.approx((f - 1) / (f + 1))


def test_binomial_runs_have_a_ratio_of_one(rng):
    score_MS = 100 * rng.binomial(500, 0.3, (20, 40)) / 500
    found = over_binomial(score_MS, 500)
    assert found.low < 1 < found.high
    assert found.ratio == pytest.approx(1.0, abs=0.2)
    # Two more points of spread between runs, over a binomial's 4.2: (4.2 + 4) / 4.2.
    assert over_binomial(score_MS + rng.normal(0, 2, (20, 40)), 500).ratio == pytest.approx(8.2 / 4.2, abs=0.3)
    assert math.isnan(over_binomial(score_MS, None).ratio)
    assert math.isnan(over_binomial(np.zeros((3, 4)), 30).ratio)


def test_shares_of_variance_by_hand_and_their_sum(rng):
    # Two benchmarks, weights .5: x = (0, 2), y = (0, 4) in one method. Sum (0, 3): y holds two thirds of it.
    score_MSK = np.array([[[0.0, 0.0], [2.0, 4.0]]])
    assert variance_shares(score_MSK, np.array([0.5, 0.5])) == pytest.approx([1 / 3, 2 / 3])
    score_MSK, weight_K = rng.normal(0, 1, (3, 5, 4)), np.array([0.1, 0.2, 0.3, 0.4])
    score_MSK[1, 2, 0] = np.nan
    share_K = variance_shares(score_MSK, weight_K)
    assert share_K.sum() == pytest.approx(1.0)
    away = [x - x.mean(axis=0) for x in (m[~np.isnan(m).any(axis=1)] for m in score_MSK)]
    away_NK = np.concatenate(away)
    total_N = away_NK @ weight_K
    assert share_K[2] == pytest.approx(0.3 * (away_NK[:, 2] @ total_N) / (total_N @ total_N), abs=1e-6)
    assert np.isnan(variance_shares(np.ones((2, 3, 4)), weight_K)).all()


def residuals(score_MS):
    return score_MS - score_MS.mean(axis=1, keepdims=True) - score_MS.mean(axis=0) + score_MS.mean()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.3, 3.0))
def test_r_excludes_one_exactly_where_pitman_and_morgan_reject(seed, scale):
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 1, (3, 6))
    last, mean = shared + rng.normal(0, scale, (3, 6)), shared + rng.normal(0, 1, (3, 6))
    found = late_ratio(last, mean)
    a, b = residuals(last), residuals(mean)
    assert found.ratio == pytest.approx((a**2).sum() / (b**2).sum())
    r, df = ((a + b) * (a - b)).sum() / math.sqrt(((a + b) ** 2).sum() * ((a - b) ** 2).sum()), layout(last).df
    t = r * math.sqrt((df - 1) / (1 - r**2))
    assert (not found.low <= 1 <= found.high) == (abs(t) > stats.t.ppf(0.975, df - 1))


def test_averaging_independent_evaluations_shows_a_ratio_above_one(rng):
    evaluation_EMS = rng.normal(0, 1, (4, 10, 12))
    found = late_ratio(evaluation_EMS[-1], evaluation_EMS.mean(axis=0))
    assert found.low > 1
    assert found.ratio == pytest.approx(4.0, abs=1.2)
    same = late_ratio(evaluation_EMS[0], evaluation_EMS[0])
    assert (same.ratio, same.r) == pytest.approx((1.0, 1.0))
    assert math.isnan(late_ratio(evaluation_EMS[0, :2, :3], evaluation_EMS[1, :2, :3]).ratio)


def test_controls_against_controls_agree_with_scipy(rng):
    control_S = rng.normal(50, 1, 13)
    found = same_against_same(control_S, np.random.default_rng(3), resamples=400)
    order = np.random.default_rng(3).permuted(np.tile(np.arange(13), (400, 1)), axis=1)
    p = [stats.ttest_rel(control_S[o[:6]], control_S[o[6:12]]).pvalue for o in order]
    assert (found.rejected, found.n) == (np.mean(np.array(p) < 0.05), 6)
    assert math.isnan(same_against_same(control_S[:5], rng).rejected)
    assert math.isnan(same_against_same(np.ones(8), rng).rejected)


def test_a_third_of_a_block_that_never_differs_is_found(rng):
    # One outlying control run makes every half that holds it wide: fewer rejections than 5 percent, never more.
    control_S = np.concatenate([rng.normal(50, 0.1, 11), [40.0]])
    assert same_against_same(control_S, rng).rejected < 0.05


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Four methods, twenty seeds, four evaluations during training whose errors are independent of each other."""
    rng = np.random.default_rng(8)
    sweep = Sweep(methods=("uniform", "topk", "ar", "per"), seeds=range(20), metrics=False)
    root = write_sweep(tmp_path_factory.mktemp("noisy"), sweep, rng)
    for path in root.rglob("eval.json"):
        entry = json.loads(path.read_text())
        entry["during"] = [
            {"step": step, "tokens": {"generated": 1000 * step, "trained": 500 * step},
             "benchmarks": {b: {"correct": int(rng.integers(50, 70)), "total": 100} for b in entry["benchmarks"]}}
            for step in (15, 30, 45, 60)
        ]  # fmt: skip
        dump(path, entry)
    return root


def test_the_table(noisy):
    study = make_study([str(noisy)], Options())
    table = build(study, "noise")[0]
    block = next(r for r in table.rows if r["kind"] == "block")
    score_MS = study.comparisons[0].block.endpoints["domain_balanced"]
    assert block["sigma"] == pytest.approx(run_spread(score_MS).sd)
    assert block["rho"] == pytest.approx(seed_correlation(score_MS).rho)
    assert block["beta"] == max(0.0, block["rho_lower90"])
    assert 0 <= block["aa_rejected"] <= 0.2
    benchmarks = [r for r in table.rows if r["kind"] == "benchmark"]
    assert sum(r["share"] for r in benchmarks) == pytest.approx(1.0)
    late = {r["evaluations"]: r for r in table.rows if r["kind"] == "late"}
    assert set(late) == {2, 3}
    assert late[3]["first_step"] == 30
    assert late[3]["ratio_low"] > 1
    assert any("the mean of the last 3 evaluations is the less noisy score" in n for n in table.notes)
    assert any("points need" in n and "paired seeds (power .8 after Holm)" in n for n in table.notes)


def test_evaluations_in_a_record(noisy, tmp_path):
    study = make_study([str(noisy)], Options())
    found = held_out(study.runs.runs[0], {})
    assert found.step_T.tolist() == [15, 30, 45, 60]
    assert found.generated_T.tolist() == [15_000, 30_000, 45_000, 60_000]
    assert found.unit == "points"
    path = study.runs.runs[0].path / "eval.json"
    entry = json.loads(path.read_text())
    whole = path.read_text()
    for change, part in (({"step": 5}, "expected growing steps"), ({"benchmarks": {}}, "'during', entry 3: KeyError")):
        dump(path, entry | {"during": [*entry["during"][:3], entry["during"][3] | change]})
        with pytest.raises(AnalysisError, match=part):
            held_out(study.runs.runs[0], {})
    path.write_text(whole)


def test_without_evaluations_or_seeds_it_says_what_is_unknown(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), seeds=(0, 1), metrics=False), rng)
    table = build(make_study([str(root)], Options()), "noise")[0]
    assert any("no evaluations during training at common steps: R is unknown" in n for n in table.notes)
    assert math.isnan(next(r for r in table.rows if r["kind"] == "block")["aa_rejected"])
