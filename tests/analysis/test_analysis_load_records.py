"""Run records: what is read, what is left out by name, what is an error."""

import errno
import json
import warnings

import numpy as np
import pytest
from analysis_synth import Sweep, dump, write_run, write_sweep

from analysis.errors import AnalysisError
from analysis.load import load
from analysis.load.items import read_items
from analysis.load.metrics import read_curves
from analysis.load.records import read
from analysis.options import Options
from analysis.planning import main as planning
from analysis.report.cli import main as report
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.cli import main as tables
from tests.record.faults import refused

SMALL = Sweep(methods=("uniform", "topk"), seeds=(0, 1), metrics=False)


@pytest.fixture
def small(tmp_path, rng):
    return write_sweep(tmp_path / "runs", SMALL, rng)


def run_folder(root, method="topk", seed=1):
    return root / "sweep" / "tiny-toy3" / method / f"seed_{seed}"


def change(path, **changes):
    dump(path, json.loads(path.read_text()) | changes)


def test_a_record_is_read_from_its_counts(small):
    entry = json.loads((run_folder(small) / "eval.json").read_text())["benchmarks"]["logic"]["trained"]
    run = next(r for r in load([str(small)]).runs if (r.method, r.seed) == ("topk", 1))
    score = next(s for s in run.trained if s.benchmark == "logic")
    assert (score.correct, score.total) == (entry["correct"], entry["total"])
    assert score.accuracy == 100 * entry["correct"] / entry["total"]
    assert run.block == ("tiny", "toy3", None, 60, "e0")
    assert run.kind == "policy"
    assert len(run.untrained) == 3


def test_one_run_a_sweep_or_everything(small):
    assert len(load([str(run_folder(small))]).runs) == 1
    assert len(load([str(small / "sweep")]).runs) == 4
    assert len(load([str(small), str(run_folder(small))]).runs) == 4


def test_records_set_aside_and_checkpoints_are_not_runs(small, rng):
    run_folder(small).rename(str(run_folder(small)) + ".old-1")
    nested = run_folder(small, seed=0) / "checkpoints" / "global_step_10"
    nested.mkdir(parents=True)
    dump(nested / "manifest.json", {})
    assert len(load([str(small)]).runs) == 3


@pytest.mark.parametrize(
    ("name", "file", "changes", "said"),
    [
        ("running", "status.json", {"state": "running"}, "state is 'running'"),
        ("failed", "status.json", {"state": "failed"}, "state is 'failed'"),
        ("untrained only", "eval.json", {"benchmarks": {"math": {"domain": "math", "untrained": None}}}, "no trained"),
    ],
)
def test_unfinished_runs_are_left_out_by_name(small, name, file, changes, said):
    change(run_folder(small) / file, **changes)
    loaded = load([str(small)])
    assert len(loaded.runs) == 3, name
    assert any(said in n and str(run_folder(small)) in n for n in loaded.notes)


def test_a_run_without_evaluation_is_left_out_by_name(small):
    (run_folder(small) / "eval.json").unlink()
    assert any("no eval.json" in n for n in load([str(small)]).notes)


def test_a_benchmark_that_one_run_alone_has_or_lacks_is_named(small):
    first, last = run_folder(small), run_folder(small, method="uniform", seed=0)
    entry = json.loads((first / "eval.json").read_text())
    change(first / "eval.json", benchmarks={k: v for k, v in entry["benchmarks"].items() if k != "logic"})
    assert [n for n in load([str(small)]).notes if "logic" in n] == [
        "tiny / toy3 / 60 steps: logic is missing in 1 of 4 runs (topk seed 1): averages over it are refused"
    ]
    change(first / "eval.json", **entry)
    extra = {"domain": "math", "trained": {"correct": 1, "total": 2, "accuracy": 0.5}}
    change(last / "eval.json", benchmarks=json.loads((last / "eval.json").read_text())["benchmarks"] | {"amc": extra})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notes = build(make_study([str(small)], Options()), "main")[0].notes
    said = "amc is missing in 3 of 4 runs (topk seed 0, topk seed 1, uniform seed 1): averages over it are refused"
    assert f"tiny / toy3 / 60 steps: {said}" in notes


def test_a_folder_without_its_manifest_is_left_out_by_name(small):
    (run_folder(small) / "manifest.json").unlink()
    loaded = load([str(small)])
    assert len(loaded.runs) == 3
    assert any(n == f"{run_folder(small)}: left out: no manifest.json" for n in loaded.notes)


def test_a_missing_benchmark_is_missing(small):
    path = run_folder(small) / "eval.json"
    value = json.loads(path.read_text())
    del value["benchmarks"]["logic"]["trained"]
    dump(path, value)
    run = next(r for r in load([str(small)]).runs if (r.method, r.seed) == ("topk", 1))
    assert np.isnan([s.accuracy for s in run.trained]).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("name", "cell", "part"),
    [
        ("more correct than items", {"correct": 101, "total": 100, "accuracy": 1.01}, "101 correct of 100"),
        ("no items", {"correct": 0, "total": 0, "accuracy": 0.0}, "0 correct of 0"),
        ("percent instead of share", {"correct": 60, "total": 100, "accuracy": 60.0}, "accuracy 60.0 is not 60/100"),
        ("share above 1", {"accuracy": 1.2}, "outside 0..1"),
        ("text", {"correct": "60", "total": 100, "accuracy": 0.6}, "whole counts"),
    ],
)
def test_bad_scores(small, name, cell, part):
    path = run_folder(small) / "eval.json"
    value = json.loads(path.read_text())
    value["benchmarks"]["logic"]["trained"] = cell
    dump(path, value)
    with pytest.raises(AnalysisError) as caught:
        read(run_folder(small))
    assert all(p in str(caught.value) for p in (str(path), "'logic'", part)), name
    left_out(small, part)


@pytest.mark.parametrize(
    ("file", "text", "part"),
    [
        ("eval.json", "{", "not readable as JSON"),
        ("manifest.json", "[1]", "a JSON list; expected an object"),
        ("eval.json", '{"benchmarks": {}}', "'benchmarks'"),
    ],
)
def test_broken_files_are_named(small, file, text, part):
    (run_folder(small) / file).write_text(text)
    left_out(small, str(run_folder(small) / file))
    left_out(small, part)


def test_manifest_keys_are_checked(small):
    change(run_folder(small) / "manifest.json", seed="0")
    left_out(small, "manifest.json: key 'seed' is '0'")


def left_out(root, part):
    """The one broken record is left out by name, and the others are there."""
    loaded = load([str(root)])
    assert len(loaded.runs) == 3
    assert len(loaded.broken) == 1
    assert loaded.broken[0].startswith(f"{run_folder(root)}: left out: ")
    assert part in loaded.broken[0]


@pytest.mark.parametrize("name", ["manifest.json", "eval.json", "status.json", "cost.json", ""])
def test_a_record_that_cannot_be_read_is_left_out_by_name(small, name):
    path = run_folder(small) / name if name else run_folder(small)
    with refused(path, errno.EACCES):
        left_out_ = load([str(small)])
    assert len(left_out_.runs) == 3
    assert len(left_out_.broken) == 1
    assert str(run_folder(small)) in left_out_.broken[0]
    assert load([str(small)]).broken == ()


def test_every_command_goes_on_without_a_broken_record_and_its_exit_code_says_so(tmp_path, rng, capsys):
    sweep = Sweep(methods=("uniform", "topk", "ar"), seeds=(0, 1, 2), items=True)
    root = write_sweep(tmp_path / "runs", sweep, rng)
    out = tmp_path / "report.html"
    commands = (
        lambda: tables(["--runs", str(root), "--table", "all"]),
        lambda: planning(["--runs", str(root)]),
        lambda: report(["--runs", str(root), "--out", str(out)]),
    )
    assert [command() for command in commands] == [0, 0, 0]
    change(run_folder(root, "ar", 0) / "status.json", state="running")  # not done is not broken
    assert tables(["--runs", str(root)]) == 0
    for file, text in (
        ("eval.json", "{"),
        ("metrics.jsonl", "[]\n[]\n"),
        ("eval_items.jsonl", '{"phase": "trained"}\n'),
    ):
        path = run_folder(root) / file
        before = path.read_bytes()
        path.write_text(text)
        whole = (0, 2) if file == "metrics.jsonl" else (0, 1)
        found = [command() for command in commands]
        assert found[whole[0]] == found[2] == 3, file
        said = capsys.readouterr()
        assert f"warning: {run_folder(root)}: " in said.err
        assert "left out: " in said.err
        assert "| topk" in said.out
        assert str(path) in out.read_text()
        path.write_bytes(before)
    assert [command() for command in commands] == [0, 0, 0]


def test_empty_folder_no_folder_and_nothing_usable(tmp_path, small):
    (tmp_path / "empty").mkdir()
    with pytest.raises(AnalysisError, match=r"no run record \(manifest.json\)"):
        load([str(tmp_path / "empty")])
    with pytest.raises(AnalysisError, match="no such file or folder"):
        load([str(tmp_path / "nowhere")])
    for method in ("uniform", "topk"):
        for seed in (0, 1):
            change(run_folder(small, method, seed) / "status.json", state="failed")
    with pytest.raises(AnalysisError, match="no usable run"):
        load([str(small)])


def test_two_evaluations_of_one_setting_are_never_paired(small):
    change(run_folder(small, "topk", 1) / "manifest.json", evaluation_digest="e1")
    assert any("2 evaluations (e0, e1); they are never paired" in n for n in load([str(small)]).notes)


def test_regime_is_verbatim(tmp_path, rng):
    for i, (given, expected) in enumerate([("sub25", "sub25"), ("full", "full"), ("", None), ({"b": 1}, '{"b": 1}')]):
        folder = write_run(tmp_path / str(i), SMALL, "uniform", 0, 60.0, rng)
        change(folder / "manifest.json", regime=given)
        assert load([str(folder)]).runs[0].regime == expected


def test_curves(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": 1, "data": {"dataflex/reward_all": 0.5, "other": 1}}, {"step": 3, "data": {"dataflex/ess": None}}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    curves, notes = read_curves(path)
    assert curves["step"].tolist() == [1.0, 3.0]
    assert curves["dataflex/reward_all"][0] == 0.5
    assert np.isnan([curves["dataflex/reward_all"][1], *curves["dataflex/ess"]]).all()
    assert ("other" in curves, notes) == (False, [])


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_cut_off_last_line_is_dropped_and_named(tmp_path, end):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "data": {}}\n{"step": 2, "da' + end)
    curves, notes = read_curves(path)
    assert curves["step"].tolist() == [1.0]
    assert f"{path}: row 2: the last line is cut off" in notes[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"step": 1, "da\n{"step": 2, "data": {}}\n', "row 1: not JSON"),
        ('{"step": 2, "data": {}}\n{"step": 2, "data": {}}\n', "row 2: step 2 after step 2"),
        ('{"step": 1}\n', "row 1: expected"),
        ('{"step": "1", "data": {}}\n', "row 1: expected"),
    ],
)
def test_broken_metrics(tmp_path, text, part):
    path = tmp_path / "metrics.jsonl"
    path.write_text(text)
    with pytest.raises(AnalysisError) as caught:
        read_curves(path)
    assert str(path) in str(caught.value)
    assert part in str(caught.value)


def test_items(tmp_path):
    path = tmp_path / "eval_items.jsonl"
    line = {"phase": "trained", "benchmark": "math", "item": 7, "correct": True}
    path.write_text(json.dumps(line) + "\n" + json.dumps(line | {"phase": "untrained"}) + '\n{"pha')
    items, notes = read_items(path)
    assert items == {"math": {"7": True}}
    assert "cut off" in notes[0]
    path.write_text(path.read_text() + "\n")
    assert read_items(path) == (items, notes)
    for bad, part in (({"correct": 2}, "'correct' is 2"), ({}, "item '7' of 'math' twice")):
        path.write_text(json.dumps(line) + "\n" + json.dumps(line | bad) + "\n")
        with pytest.raises(AnalysisError, match=part):
            read_items(path)
    path.write_text('{"phase": "trained"}\n')
    with pytest.raises(AnalysisError, match="no key 'benchmark', 'item', 'correct'"):
        read_items(path)
