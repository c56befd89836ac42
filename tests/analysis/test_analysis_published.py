"""The study's published files: known figures. Read where they lie; collected only where they exist."""

import json
import math

import pandas as pd
import pytest

from analysis.options import Options
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.cli import main


@pytest.fixture(scope="module")
def runs(published):
    return str(published / "published_runs_171.csv")


@pytest.fixture(scope="module")
def tables(runs):
    return {t.name: t for t in build(make_study([runs], Options()), "all")}


@pytest.fixture(scope="module")
def raw(runs):
    return pd.read_csv(runs)


def test_all_blocks_are_compared(tables):
    found = {(r["campaign"], r["model"], r["regime"], r["steps"]) for t in ("main", "mixers") for r in tables[t].rows}
    assert len(found) == 12
    assert {c for c, *_ in found} == {"main", "mixer", "crossfamily", "constrained", "scale_curve", "long_training"}


def test_deltas_equal_a_plain_recount(tables, raw):
    domains = {"math": raw.columns[7:12], "logic": raw.columns[12:16], "science": raw.columns[16:19]}
    raw = raw.assign(**{f"d_{d}": raw[c].mean(axis=1) for d, c in domains.items()})
    raw["average"] = raw[[f"d_{d}" for d in domains]].mean(axis=1)
    raw["six"] = raw[[*domains["math"], "gpqa_diamond"]].mean(axis=1)
    raw["regime"] = raw["regime"].fillna("")
    column = {"domain_balanced": "average", "six": "six", "math": "d_math", "logic": "d_logic", "science": "d_science"}
    checked = 0
    for row in (r for t in ("main", "mixers") for r in tables[t].rows if r["summary"] in column):
        block = raw[
            (raw.campaign == row["campaign"]) & (raw.model == row["model"]) & (raw.regime == (row["regime"] or ""))
        ]
        wide = block.pivot(index="seed", columns="method", values=column[row["summary"]])
        delta = wide[row["method"]] - wide[row["control"]]
        assert row["n"] == 3
        assert row["delta"] == pytest.approx(delta.mean(), abs=1e-9)
        assert row["sd"] == pytest.approx(delta.std(ddof=1), abs=1e-9)
        assert row["score"] == pytest.approx(wide[row["method"]].mean(), abs=1e-9)
        checked += 1
    assert checked == 5 * 45  # 8 + 8 methods, 3 + 3 mixers, 3 x 3 + 2 x 3 + 2 x 3 + 2 elsewhere


def test_the_rank_correlation_and_its_fragility(tables):
    row = next(r for r in tables["sensitivity"].rows if r["kind"] == "correlation" and r["summary"] == "six"
               and (r["campaign"], r["model"]) == ("main", "Qwen2.5-7B-Instruct"))  # fmt: skip
    assert row["methods"] == 9
    # Rounded percentages put two methods 0.0003 points apart that whole counts order the other way.
    assert row["spearman_printed"] == pytest.approx(-1 / 3, abs=1e-9)
    assert row["spearman"] == pytest.approx(-4 / 15, abs=1e-9)
    assert row["spearman_clean_printed"] == pytest.approx(-1 / 30, abs=1e-9)
    assert row["spearman_clean"] == pytest.approx(0.05, abs=1e-9)
    assert row["spearman_close_low"] <= row["spearman"] - 1 / 15 < row["spearman"] <= row["spearman_close_high"]
    assert row["smallest_gap"] == pytest.approx(0.00337, abs=1e-5)
    assert row["paper"] == -0.33
    low, high = row["spearman_loso_low"], row["spearman_loso_high"]
    assert low > -0.31
    assert high > 0.6  # one seed less and the sign changes


def test_collapsed_evaluations_are_found(tables):
    found = {r["run_id"]: r["is_control"] for r in tables["suspects"].rows
             if r["row"] == "flag" and r["level"] == "suspect" and r["kind"] == "collapsed together"}  # fmt: skip
    assert found == {
        "v2_7b__ar_s3": False,
        "v2_7b__diffband_s3": False,
        "v2_mix7b__dump_ucb_s1": False,
        "v2_mix7b__dump_ucb_s2": False,
        "v2_mix7b__static_s2": True,
        "v2_mix7b__tscl_s1": False,
        "J1__sub25_maxvar_s2": False,
        "J2__noise20_baseline_s3": True,
        "J2__noise20_difffilter_s1": False,
        "J2__noise20_maxvar_s3": False,
        "lt7b__lt7b_difffilter_s3": False,
    }
    notes = " ".join(tables["mixers"].notes)
    assert "control run static, seed 2 is suspect" in notes
    assert "it moves every delta here" in notes


def test_the_effect_of_leaving_them_out(tables):
    row = next(r for r in tables["main"].rows if (r["campaign"], r["model"], r["method"], r["summary"]) ==
               ("main", "Qwen2.5-7B-Instruct", "ar", "domain_balanced"))  # fmt: skip
    assert (round(row["delta"], 2), row["n"]) == (-2.20, 3)
    assert (round(row["delta_clean"], 2), row["n_clean"]) == (-0.42, 2)


def test_nothing_is_shown_at_three_seeds(tables):
    rows = [r for t in ("main", "mixers") for r in tables[t].rows]
    questions = {(r["question"], r["adjustment"]) for r in rows if r["kind"] != "benchmark"}
    assert len(questions) == 2 * 12  # per block and control: the primary summary, and all others together
    assert {r["verdict"] for r in rows if r["kind"] != "benchmark" and r["n"]} == {"inconclusive", "equivalent"}


def test_paper_column_only_where_the_setting_matches(tables):
    primary = [r for r in tables["gain"].rows if r["summary"] == "domain_balanced"]
    known = {r["model"]: round(r["paper_delta"], 2) for r in primary if r["paper_delta"] is not None}
    assert known == {"Qwen2.5-7B-base": 7.76, "Llama-3.1-8B-base": 10.25}
    assert all(r["paper_delta"] is None for r in tables["mixers"].rows)


def test_blank_cells_of_the_summary_file_are_missing(published, capsys):
    assert main(["--runs", str(published / "published_summary_v2.csv"), "--table", "main,mixers", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    small = [r for t in tables.values() for r in t["rows"] if r["model"] in ("05b", "mix_05b")]
    assert {r["score"] for r in small if r["summary"] in ("aime24", "six", "domain_balanced", "macro6")} == {None}
    assert all(r["reason"] for r in small)
    assert any(r["score"] is not None for r in small if r["summary"] == "gsm8k")
    notes = " ".join(tables["main"]["notes"])
    assert "05b: aime24 is blank in 26 of 27 runs: missing, not 0" in notes
    assert "points higher than calling it 0" in notes
    large = next(r for r in tables["main"]["rows"] if (r["model"], r["method"], r["summary"]) == ("7b", "ar", "six"))
    assert large["n"] == 2  # the control's gpqa is blank at seed 3
    assert large["dropped_seeds"] == [3]


def test_a_missing_run_is_named(published):
    study = make_study([str(published / "published_summary_v2.csv")], Options())
    notes = " ".join(n for c in study.comparisons for n in c.notes)
    assert "reward_gap: seed 3 is missing (static has it): dropped" in notes


def test_both_files_together_keep_the_evaluations_apart(published, runs):
    study = make_study([runs, str(published / "published_summary_v2.csv")], Options())
    assert len(study.runs.runs) == 171 + 77
    assert len(study.comparisons) == 16
    assert not math.isnan(study.comparisons[0].rows[0]["delta"])
