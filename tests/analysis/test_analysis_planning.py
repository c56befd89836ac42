"""plan-seeds: from a pilot to a number of seeds."""

import json
import math

import pytest
from analysis_synth import Sweep, csv_rows, write_csv, write_sweep
from scipy import stats

from analysis.options import Options
from analysis.planning import main
from analysis.stats.layout import layout
from analysis.stats.power import seeds_needed
from analysis.study import make_study
from analysis.tables.planning import build


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    import numpy as np

    methods = ("uniform", "topk", "ar", "per")
    sweep = Sweep(methods=methods, seeds=range(4), run_sd=2.0, metrics=False)
    return write_sweep(tmp_path_factory.mktemp("pilot"), sweep, np.random.default_rng(3))


def test_numbers_follow_from_the_residual_sd(pilot, capsys):
    assert main(["--runs", str(pilot), "--effect", "2.0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["tables"]["planning"]["rows"]
    assert [r["seeds"] for r in rows] == [3, 5, 12, 24]
    block = make_study([str(pilot)], Options()).comparisons[0].block
    fit = layout(block.endpoints["domain_balanced"])
    row = rows[0]
    assert row["sd_difference"] == pytest.approx(math.sqrt(2) * fit.residual_sd)
    assert row["seeds_needed"] == seeds_needed(2.0, math.sqrt(2) * fit.residual_sd)
    # Upper 80% limit: sd * sqrt(df / chi-square quantile at 0.2), df = 3 * 3.
    cautious = row["sd_difference"] * math.sqrt(9 / stats.chi2.ppf(0.2, 9))
    assert row["sd_difference_cautious"] == pytest.approx(cautious)
    assert row["seeds_needed_cautious"] >= row["seeds_needed"]
    assert all(0 <= r["tost_power"] <= 1 for r in rows)
    assert [r["mde80"] for r in rows] == sorted((r["mde80"] for r in rows), reverse=True)
    curve = {p["seeds"]: p["power"] for p in found["curves"][0]["curve"]}
    assert curve[row["seeds_needed"]] >= 0.8 > curve[row["seeds_needed"] - 1]


def test_words(pilot, capsys, tmp_path):
    assert main(["--runs", str(pilot), "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "seeds for 1 points at power 0.8" in text
    assert (tmp_path / "planning.md").read_text() == text


def test_a_pilot_with_one_seed_says_what_it_lacks(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), seeds=(0,), metrics=False), rng)
    table = build(make_study([str(root)], Options()))
    assert all(r["seeds_needed"] is None and math.isnan(r["power"]) for r in table.rows)
    assert any("needs two methods and two seeds" in n for n in table.notes)


def test_a_pilot_without_spread_plans_nothing(tmp_path, rng, capsys):
    rows = csv_rows(Sweep(methods=("baseline",)), rng)
    copies = [r | {"method": "same", "run_id": f"same{i}"} for i, r in enumerate(rows)]
    shifted = [r | {"method": "less", "run_id": f"less{i}", "gsm8k": r["gsm8k"] - 1} for i, r in enumerate(rows)]
    source = write_csv(tmp_path / "runs.csv", [*rows, *copies, *shifted])
    assert main(["--runs", str(source), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for row in found["tables"]["planning"]["rows"]:
        assert row["residual_sd"] == 0
        assert [row[k] for k in ("seeds_needed", "seeds_needed_clean", "power", "mde80", "tost_power")] == [None] * 5
        assert "with some spread" in row["reason"]
    assert found["curves"] == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [(["--effect", "0"], "effect=0.0"), (["--power", "1"], "power=1.0"), (["--effect", "nan"], "effect=nan")],
)
def test_bad_plans(pilot, capsys, arguments, part):
    assert main(["--runs", str(pilot), *arguments]) == 2
    assert part in capsys.readouterr().err
