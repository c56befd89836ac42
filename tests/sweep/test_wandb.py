"""The W&B copy of a run: identity, every step once, and that its failure touches nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from wandb.proto import wandb_internal_pb2

from analysis.load import load
from analysis.load.wandb_offline import log_records
from dataflex_rl.config.wandb_mode import mode_of
from dataflex_rl.errors import ConfigError
from dataflex_rl.record import MetricsLog, RunRecord, cut_metrics, read_manifest
from dataflex_rl.runtime.uploader import Uploader
from dataflex_rl.runtime.wandb_log import identity, main, run_id, steps_from, summary_of
from tests.sweep.records import finished
from tests.sweep.wandb_server import service


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A finished record of three steps; no W&B settings in the environment."""
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    found = RunRecord(Path(finished(tmp_path, "ar", 3)["run_dir"]))
    log = MetricsLog(found)
    for step in (2, 3):
        log.append(step, {"dataflex/reward_all": 0.5 + step / 10, "actor/loss": float("nan")})
    return found


@pytest.mark.parametrize(
    ("block", "environment", "mode"),
    [
        (None, {}, "offline"),
        ({"mode": None}, {"WANDB_API_KEY": "x"}, "online"),
        ({"mode": "offline"}, {"WANDB_API_KEY": "x"}, "offline"),
        ({}, {"WANDB_MODE": "disabled", "WANDB_API_KEY": "x"}, "disabled"),
        ({}, {"WANDB_MODE": "dryrun"}, "offline"),
    ],
)
def test_the_mode(block: dict[str, str] | None, environment: dict[str, str], mode: str) -> None:
    assert mode_of(block, environment) == mode


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"wandb\.mode='on': expected one of offline, online, disabled"):
        mode_of({"mode": "on"}, {})


def test_identity_is_stable_and_tells_runs_apart(record: RunRecord) -> None:
    manifest = read_manifest(record)
    assert manifest is not None
    facts = identity(manifest, {"project": "p", "entity": None})
    assert (facts["project"], facts["group"], facts["name"]) == ("p", "s", "ar-3")
    assert facts["tags"] == ["ar", "m", "t", "full", "seed 3"]
    assert facts["id"] == run_id({**manifest, "started": "later", "finished": "later"})
    for key in ("sweep", "method", "seed", "config_hash", "regime"):
        assert run_id({**manifest, key: "other"}) != facts["id"]


def test_steps_come_once_and_a_resume_begins_where_it_left(record: RunRecord) -> None:
    assert [step for step, _ in steps_from(record, 1, None)] == [1, 2, 3]
    assert [step for step, _ in steps_from(record, 3, None)] == [3]
    assert next(steps_from(record, 3, None))[1] == {"dataflex/reward_all": 0.8}  # no NaN, no null
    ended = threading.Event()
    ended.set()
    assert [step for step, _ in steps_from(record, 2, ended)] == [2, 3]


def test_the_summary_has_the_counts_that_the_analysis_reads(record: RunRecord) -> None:
    counted = {"correct": 3, "total": 4, "accuracy": 0.75}
    evaluation = {"benchmarks": {"math": {"domain": "math", "trained": counted}}}
    assert summary_of(evaluation) == {
        "eval/math/domain": "math",
        "eval/trained/math/correct": 3,
        "eval/trained/math/total": 4,
        "eval/trained/math/accuracy": 0.75,
    }
    assert summary_of(None) == {}


def test_offline_twice_is_one_run_with_every_step_once(record: RunRecord, tmp_path: Path) -> None:
    for _ in range(2):  # the second time as after a resume
        mirror = Uploader(record, {"project": "p"})
        assert mirror.finish() is None
    manifest = json.loads(record.manifest.read_text())
    assert mirror.where == manifest["wandb"]["where"] == str(next(record.path.glob("wandb/offline-run-*")))
    assert manifest["wandb"]["steps"] == 3
    assert (manifest["wandb"]["mode"], manifest["wandb"]["error"]) == ("offline", None)
    assert len(list(record.path.glob("wandb/offline-run-*"))) == 1
    shutil.copytree(record.path / "wandb", tmp_path / "copy", symlinks=True)
    runs = load([str(tmp_path / "copy")]).runs
    assert [(run.method, run.seed, run.trained[0].correct) for run in runs] == [("ar", 3, 3)]
    assert runs[0].curves["step"].tolist() == [1.0, 2.0, 3.0]
    assert runs[0].curves["dataflex/reward_all"].tolist() == [0.5, 0.7, 0.8]


def test_after_a_resume_no_step_is_there_twice(record: RunRecord) -> None:
    """The copy of an attempt that got to step 3, then that of a resume from step 2 which got to step 4."""
    assert Uploader(record, {"project": "p"}).finish() is None
    cut_metrics(record, 2)
    log = MetricsLog(record)
    for step in (3, 4):
        log.append(step, {"dataflex/reward_all": step / 10})
    assert Uploader(record, {"project": "p"}).finish() is None
    (file,) = record.path.glob("wandb/offline-run-*/*.wandb")
    runs, history = [], []
    for chunk in log_records(file.read_bytes(), []):
        entry = wandb_internal_pb2.Record()
        entry.ParseFromString(chunk)
        if entry.WhichOneof("record_type") == "run":
            runs.append(entry.run)
        elif entry.WhichOneof("record_type") == "history":
            items = {
                item.nested_key[0] if item.nested_key else item.key: item.value_json for item in entry.history.item
            }
            history.append((int(items["_step"]), float(items["dataflex/reward_all"])))
    assert history == [(1, 0.5), (2, 0.7), (3, 0.3), (4, 0.4)]
    assert {(run.project, run.run_group, run.display_name) for run in runs} == {("dataflex_rl", "s", "ar-3")}
    assert list(runs[0].tags) == ["ar", "m", "t", "full", "seed 3"]
    manifest = read_manifest(record)
    assert manifest is not None
    assert {run.run_id for run in runs} == {run_id(manifest)} == {file.stem.removeprefix("run-")}


def test_online_a_resume_continues_the_same_run_without_a_step_twice(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service has steps 1 to 3 of an attempt that was killed; the next one went back to step 2 and on to step 5."""
    with service() as found:
        for name, value in (("MODE", "online"), ("BASE_URL", found.url), ("API_KEY", "a" * 40)):
            monkeypatch.setenv(f"WANDB_{name}", value)
        first = Uploader(record, {})
        first.start()
        first.stop(grace=30.0)
        assert [line["_step"] for line in found.history] == [1, 2, 3]
        cut_metrics(record, 2)
        log = MetricsLog(record)
        for step in (3, 4, 5):
            log.append(step, {"dataflex/reward_all": step / 10})
        second = Uploader(record, {})
        second.start()
        assert second.finish() is None
        lines = [line for line in found.history if "dataflex/reward_all" in line]
    assert [(line["_step"], line["dataflex/reward_all"]) for line in lines] == [
        (1, 0.5), (2, 0.7), (3, 0.8), (4, 0.4), (5, 0.5)
    ]  # fmt: skip
    manifest = read_manifest(record)
    assert manifest is not None
    facts = {(run["name"], run["project"], run["groupName"], tuple(run["tags"])) for run in found.runs[:1]}
    assert facts == {(run_id(manifest), "dataflex_rl", "s", ("ar", "m", "t", "full", "seed 3"))}
    assert {run["name"] for run in found.runs if "name" in run} == {run_id(manifest)}
    assert manifest["wandb"] == {
        "mode": "online",
        "id": run_id(manifest),
        "project": "dataflex_rl",
        "steps": 5,
        "where": second.where,
        "error": None,
    }
    assert second.where is not None
    assert second.where.endswith(f"/runs/{run_id(manifest)}")


def test_a_failure_of_wandb_is_one_line_and_recorded(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(record.path / "wandb", ignore_errors=True)
    (record.path / "wandb").write_text("in the way")
    monkeypatch.setenv("WANDB_BASE_URL", "not a url")
    before = record.metrics.read_bytes()
    said = Uploader(record, {}).finish()
    assert said is not None
    assert said.startswith("W&B (offline) failed: ")
    assert "\n" not in said
    assert f"python -m dataflex_rl.runtime.wandb_log {record.path}" in said
    assert json.loads(record.manifest.read_text())["wandb"]["error"] in said
    assert record.metrics.read_bytes() == before


def test_disabled_does_nothing(record: RunRecord) -> None:
    assert Uploader(record, {"mode": "disabled"}).finish() is None
    assert "wandb" not in json.loads(record.manifest.read_text())


def test_following_ends_with_its_input(record: RunRecord) -> None:
    command = [sys.executable, "-m", "dataflex_rl.runtime.wandb_log", str(record.path), "--follow"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["steps"] == 3


def test_no_record_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no run record there" in capsys.readouterr().err
