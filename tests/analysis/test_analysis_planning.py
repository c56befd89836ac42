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
    sd = math.sqrt(2) * fit.residual_sd
    assert (row["arms"], row["pilot_df"]) == (3, 9)  # (4 - 1) methods x (4 - 1) seeds
    assert row["seeds_if_known"] == seeds_needed(2.0, sd, arms=3)
    assert row["seeds_needed"] == seeds_needed(2.0, sd, arms=3, df=9) > row["seeds_if_known"]
    limits = [sd * math.sqrt(9 / stats.chi2.ppf(q, 9)) for q in (0.975, 0.025)]
    assert [row["sd_difference_low"], row["sd_difference_high"]] == pytest.approx(limits)
    assert all(r["power"] <= r["power_all"] + 0.03 for r in rows)  # Holm's later steps only help
    assert all(0 <= r["tost_power"] <= 1 for r in rows)
    assert [r["mde80"] for r in rows] == sorted((r["mde80"] for r in rows), reverse=True)
    curve = {p["seeds"]: p["power"] for p in found["curves"][0]["curve"]}
    assert curve[row["seeds_needed"]] >= 0.8 > curve[row["seeds_needed"] - 1]


def test_words(pilot, capsys, tmp_path):
    assert main(["--runs", str(pilot), "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "seeds for 1 points at power 0.8, Holm over 3. Power of the verdict by seeds: 3: " in text
    assert main(["--runs", str(pilot), "--arms", "12", "--json"]) == 0
    assert {r["arms"] for r in json.loads(capsys.readouterr().out)["tables"]["planning"]["rows"]} == {12}
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
    [
        (["--effect", "0"], "effect=0.0"),
        (["--power", "1"], "power=1.0"),
        (["--effect", "nan"], "effect=nan"),
        (["--arms", "0"], "arms=0"),
    ],
)
def test_bad_plans(pilot, capsys, arguments, part):
    assert main(["--runs", str(pilot), *arguments]) == 2
    assert part in capsys.readouterr().err
