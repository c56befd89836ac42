"""Blocks, controls, audits, comparison rows."""

import json
import math
import shutil

import numpy as np
import pytest
from analysis_synth import PAPER, Sweep, csv_rows, dump, write_csv, write_sweep
from scipy import stats

from analysis.blocks import blocks
from analysis.compare import compare_all
from analysis.errors import AnalysisError
from analysis.load import load
from analysis.options import Family, Options, parse_family

ALL13 = ("uniform", "difffilter", "maxvar", "static", "reward_gap", "tscl")


def compared(source, **options):
    return compare_all(blocks(load([str(source)])), Options(**options))


def rows_of(comparison, summary="domain_balanced"):
    return {r["method"]: r for r in comparison.rows if r["summary"] == summary}


def edit_manifest(root, method, seed, **changes):
    path = next(root.glob(f"*/*/{method}/seed_{seed}/manifest.json"))
    dump(path, json.loads(path.read_text()) | changes)


@pytest.fixture
def sweep13(tmp_path, rng):
    return write_sweep(tmp_path / "runs", Sweep(methods=ALL13, seeds=(0, 1, 2), metrics=False), rng)


def test_summaries_by_hand(tmp_path):
    row = {"run_id": "r", "campaign": "main", "model": "m", "method": "baseline", "seed": 1, "steps": 300, "regime": ""}
    scores = dict(zip(PAPER, (50, 10, 20, 30, 90, 8, 40, 60, 20, 30, 45, 60), strict=True))
    block = blocks(load([str(write_csv(tmp_path / "a.csv", [row | scores]))]))[0]
    values = {name: float(v[0, 0]) for name, v in block.endpoints.items()}
    # math (50+10+20+30+90)/5 = 40; logic (8+40+60+20)/4 = 32; science (30+45+60)/3 = 45; mean 39.
    assert (values["math"], values["logic"], values["science"], values["domain_balanced"]) == (40, 32, 45, 39)
    assert values["six"] == pytest.approx((50 + 10 + 20 + 30 + 90 + 30) / 6)
    assert values["macro12"] == pytest.approx(sum(scores.values()) / 12)
    items = {b: n for b, (_, n) in PAPER.items()}
    assert values["micro12"] == pytest.approx(sum(scores[b] * items[b] for b in PAPER) / sum(items.values()))


def test_a_blank_makes_its_domain_and_every_average_missing_and_zero_does_not(tmp_path):
    row = {"run_id": "r", "campaign": "main", "model": "m", "method": "baseline", "seed": 1, "steps": 300, "regime": ""}
    for value, missing in (("", True), (0.0, False)):
        source = write_csv(tmp_path / "a.csv", [row | dict.fromkeys(PAPER, 50.0) | {"aime24": value}])
        block = blocks(load([str(source)]))[0]
        got = {n: math.isnan(block.endpoints[n][0, 0]) for n in ("math", "logic", "domain_balanced", "six", "macro12")}
        assert got == {"math": missing, "logic": False} | dict.fromkeys(("domain_balanced", "six", "macro12"), missing)


def test_a_row_agrees_with_scipy_on_the_same_pairs(records):
    comparison = compared(records)[0]
    block = comparison.block
    row = rows_of(comparison)["difffilter"]
    a, b = (block.endpoints["domain_balanced"][block.row(m)] for m in ("difffilter", "uniform"))
    test = stats.ttest_rel(a, b)
    assert row["n"] == 4
    assert row["delta"] == pytest.approx((a - b).mean())
    assert row["p_t"] == pytest.approx(test.pvalue)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert row["pairing_r"] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert row["score"] - row["control_score"] == pytest.approx(row["delta"])
    assert row["verdict"] == "superior"


def test_families_find_their_controls(sweep13):
    comparison = compared(sweep13)[0]
    controls = {(r["family"], r["method"]): r["control"] for r in comparison.rows}
    assert controls == {
        ("select_reweight", "difffilter"): "uniform",
        ("select_reweight", "maxvar"): "uniform",
        ("mixers", "reward_gap"): "static",
        ("mixers", "tscl"): "static",
    }


def test_a_third_partys_mixer_is_known_by_its_record(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "mine", "static"), seeds=(0, 1), metrics=False), rng)
    for seed in (0, 1):
        edit_manifest(root, "mine", seed, mixer={"name": "mine"}, actuator="none")
    assert rows_of(compared(root)[0])["mine"]["control"] == "static"


def test_control_and_families_can_be_chosen(sweep13):
    chosen = rows_of(compared(sweep13, control="maxvar")[0])
    assert {r["control"] for r in chosen.values()} == {"maxvar"}
    assert set(chosen) == set(ALL13) - {"maxvar"}
    family = parse_family("mine=tscl:reward_gap, static")
    assert family == Family(name="mine", controls=("tscl",), methods=("reward_gap", "static"))
    assert set(rows_of(compared(sweep13, families=(family,))[0])) == {"reward_gap", "static"}
    for wrong in ({"families": (parse_family("mine=tscl:static,statik"),)}, {"control": "statik"}):
        with pytest.raises(AnalysisError, match="unknown method 'statik'; known: difffilter, "):
            compared(sweep13, **wrong)
    with pytest.raises(AnalysisError, match="expected NAME=CONTROL"):
        parse_family("static")


def test_a_method_without_its_control_is_named_not_compared(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("topk", "static"), metrics=False), rng)
    comparison = compared(root)[0]
    assert comparison.rows == ()
    assert any("no control (uniform or baseline): topk not compared" in n for n in comparison.notes)


def test_mixed_budgets_are_separate_blocks_and_named(tmp_path, rng):
    write_sweep(tmp_path / "a", Sweep(methods=("uniform", "topk"), steps=60, metrics=False), rng)
    write_sweep(tmp_path / "b", Sweep(methods=("ar",), steps=40, metrics=False), rng)
    comparisons = compared(tmp_path)
    assert {r["method"] for c in comparisons for r in c.rows} == {"topk"}
    notes = [n for c in comparisons for n in c.notes]
    assert any(
        "40 steps: uniform or baseline exists in tiny / toy3 / 60 steps: no pair across blocks" in n for n in notes
    )


def test_of_two_controls_the_one_that_pairs_more_runs_is_taken_and_named(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "baseline", "topk"), metrics=False), rng)
    comparison = compared(root)[0]
    assert (rows_of(comparison)["topk"]["control"], rows_of(comparison)["topk"]["n"]) == ("uniform", 3)
    said = "two controls, uniform (pairs 3 runs) and baseline (pairs 3 runs): paired with uniform; --control chooses"
    assert any(said in note for note in comparison.notes)
    shutil.rmtree(next(root.glob("*/*/uniform/seed_1")))
    assert rows_of(compared(root)[0])["topk"]["control"] == "baseline"
    assert rows_of(compared(root, control="uniform")[0])["topk"]["n"] == 2


def test_missing_seeds_are_dropped_by_name(tmp_path, rng):
    write_sweep(tmp_path / "a", Sweep(methods=("uniform",), seeds=(0, 1, 2, 3), metrics=False), rng)
    write_sweep(tmp_path / "b", Sweep(methods=("topk",), seeds=(1, 2, 3, 9), metrics=False), rng)
    comparison = compared(tmp_path)[0]
    row = rows_of(comparison)["topk"]
    assert (row["n"], row["dropped_seeds"]) == (3, [0, 9])
    assert "topk: seed 9 has no uniform run: dropped" in comparison.notes
    assert "topk: seed 0 is missing (uniform has it): dropped" in comparison.notes


def test_complete_cases_are_per_endpoint(tmp_path, rng):
    rows = csv_rows(Sweep(methods=("baseline", "topk")), rng)
    rows[-1]["gsm8k"] = ""
    comparison = compared(write_csv(tmp_path / "a.csv", rows))[0]
    got = {e: rows_of(comparison, e)["topk"]["n"] for e in ("gsm8k", "math", "domain_balanced", "logic", "kk_hard")}
    assert got == {"gsm8k": 2, "math": 2, "domain_balanced": 2, "logic": 3, "kk_hard": 3}
    assert rows_of(comparison, "gsm8k")["topk"]["dropped_seeds"] == [2]


def test_one_seed_only(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), seeds=(0,), metrics=False), rng)
    row = rows_of(compared(root)[0])["topk"]
    assert row["n"] == 1
    assert not math.isnan(row["delta"])
    assert all(math.isnan(row[k]) for k in ("sd", "ci_low", "p_t", "p_perm", "tost_p", "mde80"))
    assert (row["verdict"], row["equivalent"]) == ("not testable", None)


def test_printed_decimals_do_not_make_variance(tmp_path, rng):
    rows = csv_rows(Sweep(methods=("baseline", "topk")), rng)
    for row, printed in zip(rows, (10.0, 13.3, 16.7, 13.3, 16.7, 20.0), strict=True):
        row["aime24"] = printed  # 3, 4, 5 and 4, 5, 6 of 30: one item more at each seed; +3.3, +3.4, +3.3 as printed
    row = rows_of(compared(write_csv(tmp_path / "a.csv", rows))[0], "aime24")["topk"]
    assert row["delta"] == pytest.approx(10 / 3, abs=0.01)
    assert math.isnan(row["p_t"])
    assert row["verdict"] == "not testable"


def test_holm_within_a_block_or_over_all(tmp_path, rng):
    for model in ("a", "b"):
        write_sweep(tmp_path / model, Sweep(methods=("uniform", "topk", "ar"), model=model, metrics=False), rng)
    one = rows_of(compared(tmp_path)[0])
    p = sorted(r["p_t"] for r in one.values())
    assert sorted(r["p_holm"] for r in one.values()) == pytest.approx(
        [min(1, max(2 * p[0], 0)), max(2 * p[0], p[1])], rel=1e-9
    )
    whole = [rows_of(c)[m] for c in compared(tmp_path, holm="all") for m in ("topk", "ar")]
    smallest = min(whole, key=lambda r: r["p_t"])
    assert smallest["p_holm"] == pytest.approx(min(1.0, 4 * smallest["p_t"]))


def test_headlines_with_and_without_suspects(study_csv):
    comparison = compared(study_csv)[0]
    row = rows_of(comparison)["ar"]
    assert (row["n"], row["n_clean"]) == (3, 2)
    assert row["delta_clean"] > row["delta"] + 2
    assert rows_of(comparison)["topk"]["delta_clean"] == pytest.approx(rows_of(comparison)["topk"]["delta"])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"margin": 0.0}, "margin=0.0"),
        ({"level": 1.0}, "level=1.0"),
        ({"alpha": 0.7}, "alpha=0.7"),
        ({"mismatch": "ignore"}, "expected refuse or flag"),
        ({"holm": "none"}, "expected block or all"),
        ({"resamples": 5}, "resamples=5"),
        ({"z_joint": 9.0}, "z_joint=9"),
    ],
)
def test_bad_options(options, part):
    with pytest.raises(AnalysisError, match=part):
        Options(**options)
