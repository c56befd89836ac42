"""Equal cost: tokens to the control's final score, tables at equal tokens, runs that end at a number of tokens."""

import json

import numpy as np
import pytest
from analysis_synth import Sweep, dump, stream, write_sweep

from analysis.blocks import blocks
from analysis.compare import compare_all
from analysis.load import load
from analysis.options import Options
from analysis.stats.curves import first_reach
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.cli import main


def with_evaluations(root, curve_of):
    """Write evaluations during training: (tokens, correct of 100) at each step, by method and seed."""
    for path in root.rglob("eval.json"):
        entry, points = json.loads(path.read_text()), curve_of(path.parent.parent.name, int(path.parent.name[-1]))
        entry["during"] = [
            {"step": step, "tokens": {"generated": tokens},
             "benchmarks": {b: {"correct": right, "total": 100} for b in entry["benchmarks"]}}
            for step, (tokens, right) in enumerate(points, start=1)
        ]  # fmt: skip
        path.write_text(json.dumps(entry))


def test_tokens_to_the_final_score_of_the_control_by_hand(tmp_path, rng, capsys):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk"), metrics=False), rng)

    def curve(method, seed):
        if method == "uniform":
            return [(1000, 40), (2000, 50 + seed), (3000, 50)]  # reaches its final 50 at 2000, 1909.09, 1833.33
        return [(500, 30), (1000, 50)] if seed < 2 else [(500, 30), (1000, 49)]  # at 1000, 1000, never

    with_evaluations(root, curve)
    table = build(make_study([str(root)], Options()), "tokens")[0]
    row = next(r for r in table.rows if r["kind"] == "reach")
    assert (row["n"], row["reached"]) == (3, 2)
    ratio = (1000 / 2000 * 1000 / (1000 + 10 / 11 * 1000)) ** 0.5
    assert row["ratio"] == pytest.approx(ratio)
    assert (row["tokens"], row["control_tokens"]) == (1000, pytest.approx((2000 + 1000 + 10 / 11 * 1000) / 2))
    assert main(["--runs", str(root), "--at", "tokens"]) == 0
    shown = capsys.readouterr().out
    assert "held-out score at equal generated tokens" in shown
    assert "final held-out score is first reached" in shown
    assert main(["--runs", str(root), "--at", "steps"]) == 0
    assert "first reached" not in capsys.readouterr().out


@pytest.mark.parametrize(("y", "x"), [(1.0, 10.0), (2.0, 15.0), (3.0, 20.0), (3.5, 35.0), (5.0, None), (-1.0, 10.0)])
def test_where_a_curve_first_reaches_a_score(y, x):
    x_T, y_T = np.array([10.0, 20.0, 30.0, 40.0]), np.array([1.0, 3.0, 3.0, 4.0])
    assert first_reach(x_T, y_T, y) == (pytest.approx(x) if x is not None else pytest.approx(np.nan, nan_ok=True))
    assert np.isnan(first_reach(x_T[:0], y_T[:0], 1.0))


def test_runs_that_end_at_a_number_of_tokens_are_paired_by_their_common_prompts(tmp_path, rng):
    root = write_sweep(tmp_path, Sweep(methods=("uniform", "topk", "maxvar"), metrics=False), rng)
    for path in root.rglob("manifest.json"):
        method, seed = path.parent.parent.name, int(path.parent.name[-1])
        count = {"uniform": 60, "topk": 48, "maxvar": 48}[method]
        digest = stream(99 if method == "maxvar" else seed, count)
        dump(path, json.loads(path.read_text()) | {"stop_at_tokens": 10_000, "prompt_stream_digest": digest})
        cost = path.parent / "cost.json"
        dump(cost, json.loads(cost.read_text()) | {"prompts": 64 * count})
    audits = compare_all(blocks(load([str(root)])), Options())[0].audits
    topk = audits[("select_reweight", "topk")]
    assert (topk.seeds, topk.streams) == ((0, 1, 2), "agree")
    assert audits[("select_reweight", "maxvar")].streams == "differ"
