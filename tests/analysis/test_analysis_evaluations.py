"""Evaluations during training as scores: the last or the mean of the last, a missing one named, their cost shown."""

import json

import numpy as np
import pytest
from analysis_synth import Sweep, dump, write_sweep

from analysis.errors import AnalysisError
from analysis.load.evaluations import parse_score, recorded
from analysis.options import Options
from analysis.progress import held_out
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.cli import main

TRAINED = {"math": 90, "logic": 60, "science": 30}


@pytest.fixture
def runs(tmp_path, rng):
    """Two methods, three seeds, 60 steps; evaluations at 20 and 40 and, of the trained model, at 60."""
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk")), rng)
    for path in root.rglob("eval.json"):
        entry = json.loads(path.read_text())
        for name, cell in entry["benchmarks"].items():
            cell["trained"] = {"correct": TRAINED[name], "total": 100, "accuracy": TRAINED[name] / 100}
        entry["during"] = [
            {
                "step": step,
                "tokens": {"generated": 1000 * step, "trained": 500 * step},
                "benchmarks": {b: {"correct": TRAINED[b] - less, "total": 100} for b in entry["benchmarks"]},
            }
            for step, less in ((20, 30), (40, 15), (60, 0))
        ]
        dump(path, entry)
        cost = json.loads((path.parent / "cost.json").read_text())
        cost["evaluations_during"] = {"count": 2, "tokens": 600, "seconds": 8.0, "gpu_seconds": 0.0}
        dump(path.parent / "cost.json", cost)
    return root


def test_the_last_evaluation_is_the_trained_model(runs):
    run = make_study([str(runs)], Options()).runs.runs[0]
    found = recorded(run)
    assert found.step_T.tolist() == [20, 40, 60]
    by_name = dict(zip(found.benchmarks, found.score_TK.T.tolist(), strict=True))
    assert by_name == {"math": [60, 75, 90], "logic": [30, 45, 60], "science": [0, 15, 30]}
    assert found.tokens["generated"].tolist() == [20_000, 40_000, 60_000]
    assert held_out(run, {}).score_T.tolist() == pytest.approx([30, 45, 60])  # means of the three domains


@pytest.mark.parametrize(("score", "average"), [("last", 60.0), ("mean:2", 52.5), ("mean:3", 45.0)])
def test_the_score_is_the_mean_of_the_last_evaluations(runs, score, average):
    study = make_study([str(runs)], Options(score=score))
    assert study.comparisons[0].block.endpoints["domain_balanced"] == pytest.approx(np.full((2, 3), average))
    notes = " ".join(build(study, "main")[0].notes)
    assert (f"Score of a run: {score}" in notes) == (score != "last")


def test_a_score_that_is_not_there_is_named(runs, capsys):
    with pytest.raises(AnalysisError, match=r"score mean:4: .*seed_0 has 3 evaluations of trained models"):
        make_study([str(runs)], Options(score="mean:4"))
    path = next(runs.rglob("topk/seed_1/eval.json"))
    entry = json.loads(path.read_text())
    del entry["during"]
    dump(path, entry)
    assert main(["--runs", str(runs), "--score", "mean:2"]) == 2
    said = capsys.readouterr().err
    assert "topk/seed_1 has 1 evaluation of trained models" in said
    assert len(said.splitlines()) == 1
    assert main(["--runs", str(runs)]) == 0


@pytest.mark.parametrize("text", ["mean", "mean:", "mean:1", "mean:0", "mean:x", "first", "", "last:2"])
def test_other_words_are_refused(text):
    with pytest.raises(AnalysisError, match=r"score '.*'; expected last or mean:K"):
        parse_score(text)


def test_what_the_evaluations_cost_is_shown_apart(runs):
    table = build(make_study([str(runs)], Options()), "cost")[0]
    row = next(r for r in table.rows if r["kind"] == "cost")
    assert (row["evaluations"], row["evaluation_tokens"], row["evaluation_seconds"]) == (2, 600, 8)
    assert row["tokens_generated"] == 60_000
    assert any("Evaluations during training come on top" in n for n in table.notes)
    equal = next(r for r in table.rows if r["kind"] == "equal")
    assert (equal["tokens"], equal["score"]) == (60_000, pytest.approx(60))
