"""How good predicted solve rates were: read, pooled over seeds, drawn."""

import json

import pytest
from analysis_synth import Sweep, dump, write_sweep

from analysis.errors import AnalysisError
from analysis.load.predictions import pooled, read_predictions
from analysis.report.cli import main


def scored(responses, brier, domain, *bins):
    rows = [dict(zip(("low", "high", "responses", "predicted", "observed"), row, strict=True)) for row in bins]
    return {"responses": responses, "brier": brier, "brier_domain": domain, "calibration": rows}


ONE = scored(10, 0.2, 0.25, (0.1, 0.2, 4.0, 0.15, 0.25), (0.5, 0.6, 6.0, 0.55, 0.5))
TWO = scored(30, 0.1, 0.15, (0.5, 0.6, 30.0, 0.51, 0.6))


def write(folder, **passes):
    dump(folder / "predictions.json", {"schema": 1, "selector": "order", "passes": passes})


def test_pooled_over_responses(tmp_path):
    for name, passes in (("a", {"first": ONE}), ("b", {"first": TWO, "later": TWO})):
        (tmp_path / name).mkdir()
        write(tmp_path / name, **passes)
    found = [read_predictions(tmp_path / name) for name in "ab"]
    assert [list(of) for of in found] == [["first"], ["first", "later"]]
    both = pooled([of["first"] for of in found])
    # (10 x .2 + 30 x .1) / 40 and (10 x .25 + 30 x .15) / 40; of .5..: (6 x .55 + 30 x .51) / 36, (3 + 18) / 36
    assert (both.responses, both.brier, both.brier_domain) == (40, pytest.approx(0.125), pytest.approx(0.175))
    assert [(b.low, b.responses) for b in both.bins] == [(0.1, 4.0), (0.5, 36.0)]
    assert (both.bins[1].predicted, both.bins[1].observed) == (pytest.approx(18.6 / 36), pytest.approx(21 / 36))
    assert read_predictions(tmp_path) == read_predictions(None) == {}


@pytest.mark.parametrize("content", [{"passes": []}, {"passes": {"first": {"brier": 1}}}, {}, {"passes": {"later": 3}}])
def test_what_is_broken_is_named(tmp_path, content):
    dump(tmp_path / "predictions.json", content)
    with pytest.raises(AnalysisError, match=r"predictions\.json: expected passes with responses, brier"):
        read_predictions(tmp_path)


def test_the_report_has_a_figure_where_somebody_predicted(tmp_path, rng):
    root = write_sweep(tmp_path / "runs", Sweep(methods=("uniform", "order"), seeds=(0, 1), metrics=False), rng)
    for number, folder in enumerate(sorted(root.glob("*/*/order/seed_*"))):
        manifest = json.loads((folder / "manifest.json").read_text())
        dump(folder / "manifest.json", manifest | {"actuator": "none", "prompt_selector": "order"})
        write(folder, first=(ONE, TWO)[number])
    assert main(["--runs", str(root), "--out", str(tmp_path / "r.html"), "--figures", str(tmp_path / "f")]) == 0
    text = (tmp_path / "r.html").read_text()
    assert "Predicted solve rates" in text
    assert "order, first visits: Brier score 0.125, of the domain mean 0.175, over 40 responses" in text
    assert [path.name for path in (tmp_path / "f").glob("*calibration.svg")] == ["tiny-toy3-60-steps-calibration.svg"]
