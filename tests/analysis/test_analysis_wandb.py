"""W&B: offline run folders as W&B writes them, and projects through the public API."""

import os
import struct
import subprocess
import sys
from types import SimpleNamespace

import pytest

from analysis.errors import AnalysisError
from analysis.load import Broken, load, wandb_online
from analysis.load.wandb_offline import log_records

WRITER = """
import sys, wandb
for method, shift in (("uniform", 0.0), ("topk", 0.1)):
    config = {"method": method, "seed": 3, "model": "tiny", "task": "toy3", "steps": 2, "regime": None}
    run = wandb.init(project="p", id=f"{method}-3", config={"manifest": config}, dir=sys.argv[1], mode="offline")
    for step in (0, 1, 2):
        run.log({f"val-core/{b}/acc/mean@1": 0.25 * step + shift for b in ("math", "logic", "science")}, step=step)
        run.log({"dataflex/kept_frac": float("nan") if step == 1 else 0.5, "text": "x" * 40000}, step=step)
    run.finish()
"""


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wandb")
    environment = os.environ | {"WANDB_SILENT": "true", "WANDB_MODE": "offline"}
    subprocess.run([sys.executable, "-c", WRITER, str(folder)], check=True, env=environment, timeout=120)
    return folder


def test_offline_runs(offline):
    runs = {r.method: r for r in load([str(offline)]).runs}
    assert {(m, r.seed, r.model, r.task, r.steps) for m, r in runs.items()} == {
        ("uniform", 3, "tiny", "toy3", 2),
        ("topk", 3, "tiny", "toy3", 2),
    }
    topk = runs["topk"]
    assert [(s.benchmark, s.domain) for s in topk.trained] == [(d, d) for d in ("logic", "math", "science")]
    assert [s.accuracy for s in topk.trained] == pytest.approx([60.0] * 3)  # 0.25 * 2 + 0.1
    assert [s.accuracy for s in topk.untrained] == pytest.approx([10.0] * 3)
    assert topk.curves["step"].tolist() == [0.0, 1.0, 2.0]
    assert topk.curves["dataflex/kept_frac"][[0, 2]].tolist() == [0.5, 0.5]


def test_a_killed_offline_run_is_read_up_to_its_cut(offline, tmp_path):
    source = next(p for p in offline.rglob("run-topk-3.wandb") if "latest" not in str(p))
    data = source.read_bytes()
    # 40 kB of text per step: 60% of the file ends inside a later step.
    (tmp_path / source.name).write_bytes(data[: int(len(data) * 0.6)])
    loaded = load([str(tmp_path)])
    assert any("cut off" in n and source.name in n for n in loaded.notes)
    assert loaded.runs[0].method == "topk"
    assert loaded.runs[0].curves["step"][-1] < 2


def test_a_file_that_is_no_wandb_file(tmp_path):
    (tmp_path / "run-x.wandb").write_bytes(b"hello world")
    with pytest.raises(AnalysisError, match=r"run-x\.wandb: not a W&B run file"):
        load([str(tmp_path)])


def test_records_that_span_blocks():
    block, header = 32 * 1024, 7
    first = b"a" * (block - 7 - header)
    rest = b"b" * 10
    data = b":W&B\x00\x00\x00" + struct.pack("<IHB", 0, len(first) - header, 2) + first[header:]
    data += struct.pack("<IHB", 0, len(rest), 4) + rest
    notes = []
    assert [len(r) for r in log_records(data, notes)] == [len(first) - header + 10]
    assert notes == []


def online_run(**changes):
    config = {"method": "uniform", "seed": 0, "model": "m", "task": "t", "steps": 5}
    summary = {"eval/trained/gsm8k/correct": 3, "eval/trained/gsm8k/total": 4, "eval/untrained/gsm8k/correct": 1}
    summary["eval/untrained/gsm8k/total"] = 4
    run = {
        "id": "abc",
        "state": "finished",
        "config": config,
        "summary": summary,
        "scan_history": lambda: [{"_step": 5}],
    }
    return SimpleNamespace(**(run | changes))


def project(*runs):
    return SimpleNamespace(runs=lambda name: list(runs))


def test_online_counts_come_from_the_summary():
    runs, notes = wandb_online.load("team/project", project(online_run(), online_run(id="x", state="crashed")))
    score = runs[0].trained[0]
    assert (score.correct, score.total, score.accuracy, score.domain) == (3, 4, 75.0, "math")
    assert runs[0].untrained[0].accuracy == 25.0
    assert runs[0].source == "wandb:team/project/abc"
    assert "wandb:team/project/x: left out: state is 'crashed'" in notes[0]


@pytest.mark.parametrize(
    ("run", "part"),
    [
        (online_run(config={"seed": 0}), "config lacks method, seed, model or task; found seed"),
        (online_run(summary={}), "no eval/trained"),
        (online_run(summary={"eval/trained/gsm8k/correct": 5, "eval/trained/gsm8k/total": 4}), "0 <= correct <= total"),
        (online_run(summary={"eval/trained/new/correct": 1, "eval/trained/new/total": 4}), "unknown benchmark 'new'"),
    ],
)
def test_online_bad_runs(run, part):
    runs, notes = wandb_online.load("team/project", project(run, online_run(id="good")))
    assert [found.run_id for found in runs] == ["good"]
    assert [type(note) for note in notes] == [Broken]
    assert "wandb:team/project/abc: left out: " in notes[0]
    assert part in notes[0]


def test_online_project_name():
    with pytest.raises(AnalysisError, match="expected wandb:ENTITY/PROJECT"):
        load(["wandb:project"])


def test_online_unreachable():
    def refuse(name):
        raise ValueError("Could not find project\ndetails")

    with pytest.raises(AnalysisError, match=r"cannot be read: Could not find project$"):
        wandb_online.load("team/project", SimpleNamespace(runs=refuse))
