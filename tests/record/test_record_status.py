"""status.json, manifest.json and cost.json."""

import json
import os
import subprocess
import sys

import pytest

from dataflex_rl.record import (
    MetricsLog,
    RecordError,
    RunRecord,
    Status,
    begin_attempt,
    cost_of,
    cut_metrics,
    git_revision,
    read_cost,
    read_manifest,
    read_status,
    record_path,
    update_manifest,
    update_status,
    versions,
    write_cost,
    write_json,
    write_manifest,
    write_status,
)
from dataflex_rl.record.manifest import KEYS


def test_record_path(tmp_path):
    path = record_path(tmp_path, sweep="main", model="tiny", task="toy3", method="uniform", seed=3)
    assert path == tmp_path / "main" / "tiny-toy3" / "uniform" / "seed_3"
    for bad in ("", "a/b", ".."):
        with pytest.raises(RecordError, match=r"method .* cannot name a folder"):
            record_path(tmp_path, sweep="main", model="tiny", task="toy3", method=bad, seed=3)


def test_status_of_a_life(tmp_path):
    record = RunRecord(tmp_path)
    assert read_status(record) == Status()
    first = begin_attempt(record, steps=60)
    assert (first.state, first.attempts, first.step, first.steps, first.pid) == ("running", 1, 0, 60, os.getpid())
    update_status(record, step=20, phase="train")
    update_status(record, state="failed", error="ValueError: a\nb\n")
    failed = json.loads(record.status.read_text())
    assert failed["error"] == "ValueError: a"
    assert {"state", "attempts", "step", "steps", "error", "pid", "updated"} <= failed.keys()
    second = begin_attempt(record, steps=60, step=20)
    assert (second.state, second.attempts, second.step, second.error) == ("running", 2, 20, None)
    done = update_status(record, state="done", step=60)
    assert read_status(record) == done
    assert done.started <= done.updated


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("step", None, "int"), ("steps", "3", "int"), ("attempts", True, "int"), ("error", 1, "str"), ("pid", "1", "int")],
)
def test_a_status_of_other_kinds_is_refused(tmp_path, field, value, expected):
    record = RunRecord(tmp_path)
    write_json(record.status, {"state": "running", field: value})
    with pytest.raises(RecordError, match=rf"status\.json: {field} is {value!r}, expected {expected}"):
        read_status(record)


def test_a_cost_holds_numbers(tmp_path):
    record = RunRecord(tmp_path)
    assert read_cost(record) is None
    cost = {"prompts": 8, "tokens": {"generated": None}, "seconds": {}, "gpu_seconds": 0.5}
    write_json(record.cost, cost)
    assert read_cost(record) == cost
    for bad in ({"prompts": "8"}, {"tokens": {"generated": True}}, {"seconds": [1]}):
        write_json(record.cost, bad)
        with pytest.raises(RecordError, match=r"cost\.json: .* expected a number"):
            read_cost(record)


def test_status_refuses_unknown_states(tmp_path):
    record = RunRecord(tmp_path)
    with pytest.raises(AssertionError, match="unknown state 'ready'"):
        write_status(record, Status(state="ready"))
    write_json(record.status, {"state": "ready"})
    with pytest.raises(RecordError, match=r"status\.json: state 'ready'; known: pending, running, done, failed"):
        read_status(record)
    write_json(record.status, [])
    with pytest.raises(RecordError, match=r"status\.json holds a list, expected an object"):
        read_status(record)


def manifest_values():
    return {key: key.upper() for key in KEYS if key not in ("schema", "versions", "started", "finished")}


def test_manifest_has_every_key_and_is_filled_at_the_end(tmp_path):
    record = RunRecord(tmp_path)
    assert read_manifest(record) is None
    with pytest.raises(RecordError, match=r"manifest\.json is missing"):
        update_manifest(record, finished="now")
    values = {key: value for key, value in manifest_values().items() if key != "prompt_stream_digest"}
    write_manifest(record, **values, extra=1)
    manifest = read_manifest(record)
    assert set(manifest) == {*KEYS, "extra"}
    assert manifest["schema"] == 1
    assert manifest["finished"] is None
    assert manifest["prompt_stream_digest"] is None
    update_manifest(record, finished="now", prompt_stream_digest={"all": {}})
    assert read_manifest(record) == {**manifest, "finished": "now", "prompt_stream_digest": {"all": {}}}


def test_manifest_lacking_a_key_is_refused(tmp_path):
    record = RunRecord(tmp_path)
    with pytest.raises(AssertionError, match="lacks sweep"):
        write_manifest(record, **{key: value for key, value in manifest_values().items() if key != "sweep"})
    write_json(record.manifest, {"schema": 1})
    with pytest.raises(RecordError, match=r"manifest\.json lacks sweep, method"):
        read_manifest(record)


def test_versions_are_those_installed():
    import torch

    found = versions()
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["torch"] == torch.__version__
    assert set(found) == {"python", "torch", "verl", "ray", "TransferQueue", "dataflex_rl"}


def test_git_revision(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    assert git_revision(tmp_path) is None
    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "a", "--no-verify")
    clean = git_revision(tmp_path)
    assert len(clean) == 40
    (tmp_path / "a").write_text("2")
    assert git_revision(tmp_path) == f"{clean}+changes"


def step_data(step):
    return {
        "timing_s/step": 2.0 * step,
        "timing_s/gen": 0.5,
        "dataflex/tokens_generated": 100,
        "dataflex/tokens_trained": 60.0,
        "dataflex/tokens_dropped": 40,
        "dataflex/reward_all": 0.5,
    }


def test_cost_by_hand():
    lines = [{"step": step, "data": step_data(step)} for step in (1, 2, 3)]
    assert cost_of(lines, prompts_per_step=16, gpus=8) == {
        "schema": 1,
        "steps": 3,
        "prompts": 48,  # 3 * 16
        "tokens": {"generated": 300, "trained": 180, "dropped": 120},
        "seconds": {"gen": 1.5, "step": 12.0},  # 3 * .5; 2 + 4 + 6
        "gpu_seconds": 96.0,  # 12 * 8
    }


def test_cost_is_missing_where_a_step_did_not_log_it():
    lines = [{"step": 1, "data": step_data(1)}, {"step": 2, "data": {"timing_s/step": None}}]
    cost = cost_of(lines, prompts_per_step=1, gpus=0)
    assert cost["tokens"] == {"generated": None, "trained": None, "dropped": None}
    assert cost["seconds"]["step"] == 2.0
    assert cost["gpu_seconds"] == 0.0


def test_cost_over_a_resume_counts_each_step_once(tmp_path):
    whole, resumed = RunRecord(tmp_path / "a").create(), RunRecord(tmp_path / "b").create()
    log = MetricsLog(whole)
    for step in range(1, 6):
        log.append(step, step_data(step))
    log = MetricsLog(resumed)
    for step in range(1, 5):
        log.append(step, step_data(step))
    write_cost(resumed, prompts_per_step=16, gpus=0, evaluation_seconds={"untrained": 3.0})
    cut_metrics(resumed, 2)
    log = MetricsLog(resumed)
    for step in range(3, 6):
        log.append(step, step_data(step))
    want = write_cost(whole, prompts_per_step=16, gpus=0, evaluation_seconds={"untrained": 3.0, "trained": 4.0})
    assert write_cost(resumed, prompts_per_step=16, gpus=0, evaluation_seconds={"trained": 4.0}) == want
    assert json.loads(resumed.cost.read_text()) == want
    assert want["tokens"]["generated"] == 500
