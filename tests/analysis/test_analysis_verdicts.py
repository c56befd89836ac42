"""Verdicts and the intervals beside them never disagree; families are named; failed seeds are part of a verdict."""

import json
import math

import numpy as np
import pytest
from analysis_synth import Sweep, dump, write_sweep
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.options import Options
from analysis.stats.equivalence import tost
from analysis.stats.layout import sd_interval
from analysis.stats.multiplicity import adjusted, levels
from analysis.stats.paired import paired
from analysis.stats.power import detectable
from analysis.stats.ranks import closeness, spearman
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.format import as_csv
from analysis.verdicts import interval_text, verdict_text

p_values = st.lists(st.floats(1e-6, 1), min_size=1, max_size=12)


def test_levels_by_hand():
    p = np.array([0.001, 0.03, 0.02, np.nan])
    # Holm over 3: .001 < .05/3, then .02 < .05/2, then .03 < .05/1: all rejected at their own step.
    assert levels(p, "holm") == pytest.approx([0.05 / 3, 0.05, 0.025, np.nan], nan_ok=True)
    # .001 is rejected; .04 and .03 are compared with .05/2 and the step stops: one level for both.
    assert levels(np.array([0.001, 0.04, 0.03]), "holm") == pytest.approx([0.05 / 3, 0.025, 0.025])
    # BH: .03 <= .05 * 3/3, so all three are rejected at .05 * 3/3.
    assert levels(p, "bh") == pytest.approx([0.05, 0.05, 0.05, np.nan], nan_ok=True)
    # BH rejects one of three: .05 * 1/3 for it; the others stay above .05 * 2/3.
    assert levels(np.array([0.001, 0.04, 0.9]), "bh") == pytest.approx([0.05 / 3, 0.1 / 3, 0.1 / 3])


@settings(max_examples=60, deadline=None)
@given(p_values, st.sampled_from(["holm", "bh"]))
def test_a_p_lies_below_its_level_exactly_where_the_family_rejects(values, method):
    p = np.array(values)
    assert ((p < levels(p, method)) == (adjusted(p, method) < 0.05)).all()


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """Eight methods, six seeds: one far better, one far worse, one near the control, the rest at random."""
    methods = ("uniform", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax")
    effect = {"difffilter": 6.0, "maxvar": -6.0, "gfpo": 0.05, "topk": 1.2, "ar": 0.6}
    sweep = Sweep(methods=methods, seeds=range(6), effect=effect, run_sd=0.5, metrics=False,
                  benchmarks={b: (b, 2000) for b in ("math", "logic", "science")})  # fmt: skip
    return write_sweep(tmp_path_factory.mktemp("spread"), sweep, np.random.default_rng(5))


@pytest.fixture(scope="module")
def rows(spread):
    return make_study([str(spread)], Options()).comparisons[0].rows


def test_the_printed_interval_decides_as_the_verdict_does(rows):
    found = {r["verdict"] for r in rows}
    assert {"superior", "inferior", "equivalent", "inconclusive"} <= found
    for row in rows:
        low, high = row["verdict_low"], row["verdict_high"]
        if row["verdict"] in ("superior", "inferior"):
            assert (low > 0) == (row["verdict"] == "superior")
            assert (high < 0) == (row["verdict"] == "inferior")
        if row["verdict"] == "equivalent":
            assert low > -1
            assert high < 1
        if row["verdict"] == "inconclusive":
            assert low <= 0 <= high


def test_equivalence_prints_the_interval_of_its_own_adjusted_test(rows):
    primary = [r for r in rows if r["summary"] == "domain_balanced"]
    row = min(primary, key=lambda r: r["tost_p"])
    assert row["verdict"] == "equivalent"
    # p of the two one-sided tests, Holm over the 7 methods; the smallest of them is tested at .05 / 7.
    p = sorted(r["tost_p"] for r in primary)
    assert row["tost_p"] == p[0]
    assert row["tost_p_adjusted"] == pytest.approx(7 * p[0])
    assert row["verdict_level"] == pytest.approx(1 - 2 * 0.05 / 7)
    half = stats.t.ppf(1 - 0.05 / 7, 5) * row["sd"] / math.sqrt(6)
    assert (row["verdict_low"], row["verdict_high"]) == pytest.approx((row["delta"] - half, row["delta"] + half))
    assert verdict_text(row, Options()) == "equivalent (Holm over 7; within 1 points)"
    assert interval_text(row).endswith("(98.6%)")


def test_families_are_named_in_every_output(spread, rows):
    primary = {r["question"] for r in rows if r["summary"] == "domain_balanced"}
    assert primary == {"select_reweight against uniform: domain_balanced, tiny / toy3 / 60 steps"}
    others = {r["question"] for r in rows if r["kind"] != "benchmark"} - primary
    assert others == {
        "select_reweight against uniform: other summaries and domains (exploratory), tiny / toy3 / 60 steps"
    }
    secondary = [r for r in rows if r["kind"] != "benchmark" and r["summary"] != "domain_balanced"]
    assert {r["family_size"] for r in secondary} == {7 * len({r["summary"] for r in secondary if r["n"]})}
    table = build(make_study([str(spread)], Options()), "main")[0]
    assert "select_reweight against uniform: domain_balanced" in as_csv(table)
    assert {"question", "adjustment", "family_size", "verdict_level"} <= set(table.as_json()["rows"][0])


def test_a_p_that_holm_takes_back_is_said_beside_its_interval():
    row = {"verdict": "inconclusive", "p_t": 0.02, "p_holm": 0.16, "adjustment": "holm", "family_size": 8, "n": 12,
           "planned_seeds": 12, "failed_seeds": [], "unfinished_seeds": []}  # fmt: skip
    assert verdict_text(row, Options()) == "inconclusive (p 0.020 alone, 0.160 by Holm over 8)"


def test_a_verdict_at_three_seeds_says_what_it_rests_on(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), effect={"topk": 20.0}, metrics=False), rng)
    row = next(r for r in make_study([str(root)], Options()).comparisons[0].rows if r["summary"] == "domain_balanced")
    said = "superior (Holm over 1; n = 3: rests on normal differences, sign flips reach 0.25 at best)"
    assert verdict_text(row, Options()) == said


def test_failed_and_unfinished_seeds_are_part_of_the_verdict(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk", "ar"), seeds=range(8), metrics=False), rng)
    for method, seed, state in (("topk", 1, "failed"), ("topk", 4, "failed"), ("uniform", 6, "running")):
        folder = next(root.glob(f"*/*/{method}/seed_{seed}"))
        dump(folder / "status.json", json.loads((folder / "status.json").read_text()) | {"state": state})
    next(root.glob("*/*/topk/seed_5/eval.json")).unlink()
    rows = make_study([str(root)], Options()).comparisons[0].rows
    found = {r["method"]: verdict_text(r, Options()) for r in rows if r["summary"] == "domain_balanced"}
    assert found["topk"].endswith("; 4 of 8 seeds; 3 failed, 1 unfinished")
    assert found["ar"].endswith("; 7 of 8 seeds; 1 unfinished")


def test_two_pairs_have_no_interval_and_no_test(rng):
    result = paired(np.array([1.0, 2.0]), rng)
    assert (result.mean, result.sd) == pytest.approx((1.5, math.sqrt(0.5)))
    assert np.isnan([result.ci_low, result.ci_high, result.p_t, result.p_perm, tost(np.array([1.0, 2.0]), 5.0).p]).all()
    assert result.reason == "two pairs; expected 3 or more for an interval or a test"


def test_what_is_detectable_comes_from_the_pooled_sd_at_the_verdicts_level(spread, rows):
    block = make_study([str(spread)], Options()).comparisons[0].block
    score_MS = block.endpoints["domain_balanced"]
    residual_MS = score_MS - score_MS.mean(axis=1, keepdims=True) - score_MS.mean(axis=0) + score_MS.mean()
    df = 7 * 5
    sd = math.sqrt(2 * (residual_MS**2).sum() / df)
    low, high = sd * math.sqrt(df / stats.chi2.ppf(0.975, df)), sd * math.sqrt(df / stats.chi2.ppf(0.025, df))
    assert sd_interval(sd, df) == pytest.approx((low, high))
    primary = [r for r in rows if r["summary"] == "domain_balanced"]
    expected = [detectable(x, 6, 0.05 / 7) for x in (sd, low, high)]
    for row in primary:
        assert [row[f"mde80_pooled{k}"] for k in ("", "_low", "_high")] == pytest.approx(expected)
    assert all(math.isnan(v) for v in sd_interval(1.0, 0))


def test_closeness_by_hand():
    a, b = np.array([1.0, 2.0, 2.05, 4.0]), np.array([1.0, 2.0, 3.0, 4.0])
    # Ranks agree: 1. Exchanging the pair .05 apart: one swap of neighbours among 4, 1 - 6 * 2 / (4 * 15) = .8.
    found = closeness(a, b, 0.1, 0.1)
    assert (found.gap, found.low, found.high) == pytest.approx((0.05, 0.8, 1.0))
    assert closeness(a, b, 0.01, 0.01).low == 1.0
    assert spearman(a, -b) == -1.0
    assert math.isnan(closeness(a[:2], b[:2], 1.0, 1.0).low)


def test_one_controls_noise_is_said_once_per_block(spread):
    notes = build(make_study([str(spread)], Options()), "main")[0].notes
    said = [n for n in notes if "hold the noise of the same 6 runs" in n]
    assert len(said) == 1
    assert "over seeds they correlate by" in said[0]
