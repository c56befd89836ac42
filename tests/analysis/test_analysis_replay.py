"""Replaying a sequential design on the finished runs of a fixed study."""

import json

import numpy as np
import pytest
from analysis_synth import Sweep, write_sweep
from scipy import stats

from analysis.errors import AnalysisError
from analysis.options import Options
from analysis.replay import build, main
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import Cell
from analysis.stats.design import design
from analysis.stats.look import take_look
from analysis.stats.replay import fitted, orders, replay
from analysis.stats.sequential import NO_GAIN, OPEN, SUPERIOR
from analysis.stats.simulation import play
from analysis.study import make_study


def test_a_design_is_fitted_to_the_controls_there_are():
    plan = design("sequential", 12)
    assert fitted(plan, 12, 12).controls_J == (6, 9, 12)  # 14, 21, 28 times 12 / 28
    assert fitted(plan, 12, 28) == plan
    with pytest.raises(AnalysisError, match="5 runs of an arm and 12 of the control; design sequential wants 8"):
        fitted(plan, 5, 12)


def test_orders_hold_each_run_once(rng):
    plan = fitted(design("sequential", 3), 12, 12)
    score_MS, control_S = np.arange(36.0).reshape(3, 12), np.arange(100.0, 112.0)
    arm_RMn, control_Rn = orders(plan, score_MS, control_S, rng, 50)
    assert arm_RMn.shape == (50, 3, 8)
    assert control_Rn.shape == (50, plan.controls_J[-1])
    for r in range(50):
        assert all(len(set(arm_RMn[r, m])) == 8 and set(arm_RMn[r, m]) <= set(score_MS[m]) for m in range(3))
        assert len(set(control_Rn[r])) == plan.controls_J[-1]
    assert len({tuple(x) for x in arm_RMn[:, 0] % 12}) > 40
    assert not (arm_RMn[:, 0] % 12 == arm_RMn[:, 1] % 12).all()  # each method in its own order
    paired = fitted(design("sequential", 3, beta=0.2), 12, 12)
    arm_RMn, control_Rn = orders(paired, score_MS, control_S, rng, 5)
    assert (arm_RMn[:, 0] % 12 == control_Rn[:, :8] - 100).all()


def test_a_replay_decides_as_the_looks_of_a_real_study_do(rng):
    """One order through the vectorised rules, and the same runs look by look as a launcher takes them."""
    plan = design("sequential", 4)
    bounds = boundaries(plan, rng, paths=100_000)
    arms, seeds, compared = ("a", "b", "c", "d"), range(plan.controls_J[-1]), 0
    for study in range(40):
        arm_MS = rng.normal(0, 0.9, (4, 8)) + np.array([0.0, 0.5, 1.2, 2.0])[:, None]
        control_S = rng.normal(0, 0.9, plan.controls_J[-1])
        found = play(plan, bounds, arm_MS[None], control_S[None])
        cells = {("c0", s): Cell(state="done", score=control_S[s]) for s in seeds}
        cells |= {(m, s): Cell(state="done", score=arm_MS[i, s]) for i, m in enumerate(arms) for s in range(8)}
        seen = None
        for number in (1, 2, 3):
            seen = take_look(plan, bounds, number, arms=arms, control="c0", seeds=seeds, cells=cells, before=seen)
            if not any(d.open for d in seen.decisions):
                break
        if bool(seen.refused) != found.refused_R[0]:
            continue  # the simulation's own search for collapsed runs: a look is told of suspects
        compared += 1
        words = {"superior": SUPERIOR, "no gain": NO_GAIN, "undecided": OPEN}
        assert [words[d.verdict] for d in seen.decisions] == found.status_RM[0].tolist(), study
        used = sum(plan.runs_J[d.look - 1] for d in seen.decisions) + plan.controls_J[seen.look - 1]
        assert used == found.runs_R[0]
    assert compared >= 35


def test_clear_effects_agree_in_every_order_with_fewer_runs(rng):
    score_MS = rng.normal(0, 0.2, (2, 12)) + np.array([[3.0], [-2.0]])
    plan = fitted(design("sequential", 2), 12, 12)
    found = replay(plan, boundaries(plan, rng, paths=100_000), np.array([SUPERIOR, NO_GAIN]), 36, score_MS,
                   rng.normal(0, 0.2, 12), rng, count=200, guards=False)  # fmt: skip
    assert found.agrees_M.tolist() == [1.0, 1.0]
    assert found.contradicts_M.tolist() == [0.0, 0.0]
    assert found.runs == 2 * 4 + plan.controls_J[0]  # all decided at the first look


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    effect = {"difffilter": 6.0, "topk": -4.0, "ar": 0.8}
    sweep = Sweep(methods=("uniform", "difffilter", "topk", "ar"), seeds=range(12), effect=effect, metrics=False)
    root = write_sweep(tmp_path_factory.mktemp("finished"), sweep, np.random.default_rng(3))
    few = Sweep(methods=("per",), seeds=range(5), metrics=False)
    return write_sweep(root, few, np.random.default_rng(4))


def test_the_table_and_its_command(finished, capsys):
    assert main(["--runs", str(finished), "--orders", "100", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["tables"]["replay"]
    rows = {r["method"]: r for r in table["rows"]}
    assert set(rows) == {"difffilter", "topk", "ar"}
    assert (rows["difffilter"]["fixed"], rows["topk"]["fixed"]) == ("superior", "no gain")
    assert rows["difffilter"]["agrees"] > 0.9
    assert rows["topk"]["agrees"] > 0.9
    shares = ("superior", "no_gain", "inferior", "undecided")
    assert all(sum(r[k] for k in shares) == pytest.approx(1.0) for r in rows.values())
    assert rows["ar"]["runs"] < rows["ar"]["fixed_runs"] == 48
    block = make_study([str(finished)], Options()).comparisons[0].block
    a, b = (block.endpoints["domain_balanced"][block.row(m)] for m in ("ar", "uniform"))
    assert rows["ar"]["delta"] == pytest.approx(stats.ttest_rel(a, b).statistic * stats.sem(a - b))
    notes = " ".join(table["notes"])
    assert "per has 5 seeds with its control, the design wants 8: left out" in notes
    assert "where the fixed study made 48" in notes


def test_words_and_bad_arguments(finished, capsys, tmp_path):
    arguments = ["--runs", str(finished), "--design", "screen", "--orders", "50", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert (tmp_path / "replay.md").read_text() == capsys.readouterr().out
    for wrong, part in ((["--design", "fixed"], "expected sequential or screen"), (["--orders", "0"], "orders=0"),
                        (["--design", "none"], "unknown design 'none'")):  # fmt: skip
        assert main(["--runs", str(finished), *wrong]) == 2
        assert part in capsys.readouterr().err


def test_orders_are_drawn_by_the_generator_alone(finished):
    study = make_study([str(finished)], Options())
    assert build(study, "screen", count=40).rows == build(study, "screen", count=40).rows
