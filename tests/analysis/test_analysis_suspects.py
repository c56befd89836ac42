"""Suspect evaluations: robust z with a binomial floor."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from analysis.options import Options
from analysis.stats.suspects import binomial_sd, find_suspects, robust_z, suspect_runs
from analysis.study import make_study
from analysis.tables import build

NAMES = ("mmlu_pro_chemistry", "mmlu_pro_physics", "aime24")
ITEMS = (500, 500, 30)
CHANCE = (10.0, 10.0, None)


def block(rng, methods=4, seeds=3):
    """Scores around (57, 60, 13) with the spread that 500 and 30 questions have."""
    centre_K, sd_K = np.array([57.0, 60.0, 13.3]), np.array([2.0, 2.0, 3.0])
    return centre_K + sd_K * np.clip(rng.normal(0, 1, (methods, seeds, 3)), -1.5, 1.5)


def find(score_MSK, **kw):
    m, s, _ = score_MSK.shape
    return find_suspects(score_MSK, [f"m{i}" for i in range(m)], list(range(s)), NAMES, ITEMS, CHANCE, **kw)


def test_binomial_sd_by_hand():
    assert binomial_sd(50.0, 100) == pytest.approx(5.0)  # 100 sqrt(.5 * .5 / 100)
    assert binomial_sd(0.0, 30) == pytest.approx(100 * math.sqrt(1 / 60 * 59 / 60 / 30))  # half a question inwards
    assert binomial_sd(50.0, None) == 0.0


def test_robust_z_takes_the_larger_scale():
    score = np.array([50.0, 50.0, 50.0, 50.0, 40.0])
    # MAD is 0: the floor of 5 points at 100 items stands in. (40 - 50) / 5.
    assert robust_z(score, 100)[-1] == pytest.approx(-2.0)
    wide = np.array([30.0, 40.0, 50.0, 60.0, 70.0])
    # MAD 10 -> 14.826 beats 5. (70 - 50) / 14.826. The scale agrees with scipy's normal-consistent MAD.
    assert robust_z(wide, 100)[-1] == pytest.approx(20 / stats.median_abs_deviation(wide, scale="normal"), rel=1e-4)


def test_both_subjects_at_half_are_found_and_nothing_else(rng):
    score = block(rng)
    score[2, 1, :2] /= 2
    flags = [f for f in find(score) if f.level == "suspect"]
    assert [(f.method, f.seed, f.benchmarks, f.kind) for f in flags] == [("m2", 1, NAMES[:2], "collapsed together")]
    assert suspect_runs(flags) == {("m2", 1)}


def test_clean_blocks_have_no_suspects():
    rng = np.random.default_rng(9)
    found = [f for _ in range(30) for f in find(block(rng)) if f.level == "suspect"]
    assert found == []


def test_one_low_benchmark_is_a_note_and_one_collapse_is_suspect(rng):
    score = block(rng)
    score[0, 0, 0] = 57 - 4.6 * 2.5
    assert {f.level for f in find(score) if f.method == "m0" and f.seed == 0} == {"note"}
    score[0, 0, 0] = 20.0
    assert [f.kind for f in find(score) if f.level == "suspect"] == ["collapsed"]


def test_chance_and_zero_where_the_block_is_not(rng):
    score = block(rng)
    score[1, 0, 0], score[3, 2, 1] = 10.0, 0.0
    kinds = {(f.method, f.seed): f.kind for f in find(score) if f.kind in ("at or below chance", "all zero")}
    assert kinds == {("m1", 0): "at or below chance", ("m3", 2): "all zero"}


def test_a_benchmark_at_zero_or_chance_for_all_is_a_note_on_the_block(rng):
    score = block(rng)
    score[:, :, 2] = 0.0
    score[:, :, 0] = 10.2
    notes = {(f.kind, f.benchmarks) for f in find(score) if f.method is None}
    assert notes == {("zero cells", ("aime24",)), ("at chance", ("mmlu_pro_chemistry",))}
    assert not suspect_runs(find(score))


def test_swings_on_a_tiny_set(rng):
    score = block(rng)
    score[0, :, 2] = (6.7, 20.0, 13.3)  # 4 of 30 items between the best and the worst seed
    assert [(f.method, f.level) for f in find(score) if f.kind == "tiny set"] == [("m0", "note")]


def test_missing_cells_are_no_suspects(rng):
    score = block(rng)
    score[0, 0] = np.nan
    assert not [f for f in find(score) if f.method == "m0" and f.seed == 0]


def test_small_blocks_are_checked_for_chance_only(rng):
    score = block(rng, methods=2, seeds=2)
    score[1, 1, :2] /= 2
    assert find(score) == []


def test_what_strikes_every_seed_of_a_method_may_be_the_method(rng):
    score = block(rng)
    score[2, :, :2] /= 2
    found = [f for f in find(score) if f.method == "m2" and f.benchmarks == NAMES[:2]]
    assert [(f.level, f.kind) for f in found] == [("note", "low at every seed")] * 3
    assert not suspect_runs(find(score))


def test_a_benchmark_blank_in_every_run_warns_of_nothing(study_csv, tmp_path):
    lines = [line.split(",") for line in study_csv.read_text().splitlines()]
    at = lines[0].index("aime24")
    blanked = [lines[0], *([*cells[:at], "", *cells[at + 1 :]] for cells in lines[1:])]
    source = tmp_path / "blank.csv"
    source.write_text("".join(",".join(cells) + "\n" for cells in blanked))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = {t.name: t for t in build(make_study([str(source)], Options()), "all")}
    found = [r for r in tables["suspects"].rows if r.get("level") == "suspect"]
    assert [(r["method"], r["seed"]) for r in found] == [("ar", 2)]
