"""The pair audit names what differs; the ledger adds up what was recorded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RunRecord, update_status, write_json
from dataflex_rl.sweep.audit import audit
from dataflex_rl.sweep.ledger import ledger
from tests.sweep.records import PROMPTS, digest, finished

# mixers draw their own domains: three of math and five of logic, each a prefix of a longer stream
MIXED = [(f"p{n}", "math") for n in (0, 2, 4)] + [(f"p{n}", "logic") for n in (1, 3, 5, 7, 9)]


def test_methods_that_differ_in_nothing_else_are_clean(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method, seed) for seed in (0, 1) for method in ("uniform", "ar", "per")]
    runs.append(finished(tmp_path, "static", 0, prompts=MIXED))
    found = audit(runs)
    assert found.clean
    assert (found.pairs, found.differences, found.incomplete) == (5, (), ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"steps": 2}, "m-t, seed 0: ar: its manifest.json says steps 2, the plan 1"),
        ({"actuator": "per"}, "m-t, seed 0: ar: its manifest.json says actuator 'per', the plan 'ar'"),
        ({"model_path": "/a"}, 'model_path: null (uniform), "/a" (ar)'),
        ({"dataset_fingerprint": "x"}, 'dataset_fingerprint: "d" (uniform), "x" (ar)'),
        ({"evaluation_digest": "x"}, 'evaluation_digest: "e" (uniform), "x" (ar)'),
        ({"config": {"data": {"lr": 2}}}, "data.lr: 1 (uniform), 2 (ar)"),
        ({"config": {"dataflex": {"shadow": True}}}, "dataflex.shadow: (absent) (uniform), true (ar)"),
        ({"config": {"dataflex": {"warmup_step": 3}}}, "dataflex.warmup_step: (absent) (uniform), 3 (ar)"),
        ({"config": {"host": {"env": {"A": "1"}}}}, 'host.env.A: (absent) (uniform), "1" (ar)'),
        ({"config": {"trainer": {"v1": {"trainer_mode": "sync"}}}}, 'trainer_mode: (absent) (uniform), "sync" (ar)'),
        (
            {"prompts": [*PROMPTS[:5], ("other", "math")]},
            "prompt stream: uniform and ar (8 and 6 prompts) agree on 5 of 6 in common",
        ),
        ({"prompts": PROMPTS[:6]}, "prompt stream: uniform and ar (8 and 6 prompts) agree on 6 of 6 in common"),
        ({"prompt_stream_digest": "abc"}, "manifest.json: prompt_stream_digest is broken"),
        ({"prompt_stream_digest": {"all": digest(PROMPTS)["all"], "domains": {}}}, "prompt_stream_digest is broken"),
        ({"prompt_stream_digest": None}, "prompt stream: not recorded (ar)"),
    ],
)
def test_each_difference_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    found = audit([finished(tmp_path, "uniform"), finished(tmp_path, "ar", **changes)])
    assert not found.clean
    assert any(said in difference for difference in found.differences), found.differences


def test_a_difference_that_is_allowed_by_name_is_a_note(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform"), finished(tmp_path, "ar", config={"data": {"lr": 2}}, model_path="/a")]
    assert len(audit(runs).differences) == 3  # data.lr, data.seed and the model's path
    found = audit(runs, ["data", "model_path"])
    assert found.clean
    assert found.notes[0] == "m-t, seed 0: data.lr: 1 (uniform), 2 (ar) (allowed)"
    assert not audit(runs, ["data.lr", "model"]).clean


def test_a_configuration_that_is_not_the_one_of_the_manifest_is_a_difference(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform"), finished(tmp_path, "ar")]
    edit(Path(runs[1]["run_dir"]), "config.yaml", "lr: 1", "lr: 2")
    assert "config.yaml is not what manifest.json was written with (comparability)" in audit(runs).differences[0]
    edit(Path(runs[1]["run_dir"]), "manifest.json", '"comparability"', '"old"')  # a record from before the digest
    assert audit(runs).differences == ("m-t, seed 0: data.lr: 1 (uniform), 2 (ar)",)


def test_a_mixer_is_held_to_the_common_prefix_of_each_domain(tmp_path: Path) -> None:
    wrong = [("p0", "math"), ("p4", "math"), *((f"p{n}", "logic") for n in (1, 3))]
    found = audit([finished(tmp_path, "uniform"), finished(tmp_path, "static", prompts=wrong)])
    # math has 4 prompts in uniform and 2 in static, of which the second differs; logic agrees
    said = "m-t, seed 0: prompt stream of math: uniform and static (4 and 2 prompts) agree on 1 of 2 in common"
    assert found.differences == (said,)


def test_mixers_are_compared_with_each_other_beyond_what_uniform_saw(tmp_path: Path) -> None:
    math = [(f"p{2 * n}", "math") for n in range(8)]  # uniform saw the first four
    other = math[:4] + [(f"x{n}", "math") for n in range(4)]
    found = audit([finished(tmp_path, m, prompts=p) for m, p in (("static", math), ("reward_gap", other))])
    said = "m-t, seed 0: prompt stream of math: static and reward_gap (8 and 8 prompts) agree on 4 of 8 in common"
    assert found.differences == (said,)
    runs = [finished(tmp_path / "b", m, prompts=p) for m, p in (("reward_gap", other), ("static", math))]
    assert audit([*runs, finished(tmp_path / "b", "uniform")]).differences == (said,)


def test_streams_of_which_nothing_can_be_compared_are_not_clean(tmp_path: Path) -> None:
    apart = [finished(tmp_path, "static", prompts=PROMPTS[:1]), finished(tmp_path, "reward_gap", prompts=PROMPTS[1:2])]
    assert [said.partition(": ")[2] for said in audit(apart).differences] == [
        "prompt stream: no domain of reward_gap is in any other run",
        "prompt stream: no domain of static is in any other run",
    ]
    # 40,000 prompts are marked at every 256th: none lies within the other's 100
    long, short = ([(f"p{n}", "math") for n in range(count)] for count in (40_000, 100))
    runs = [finished(tmp_path / "b", "static", prompts=long), finished(tmp_path / "b", "reward_gap", prompts=short)]
    said = "static and reward_gap (40000 and 100 prompts) have no mark in common and cannot be compared"
    assert audit(runs).differences == (f"m-t, seed 0: prompt stream of math: {said}",)
    # of equal length and different, although the marks agree: 301 prompts are marked at every second
    even = [(f"p{n}", "math") for n in range(301)]
    last = [*even[:300], ("x", "math")]
    runs = [finished(tmp_path / "c", "static", prompts=even), finished(tmp_path / "c", "reward_gap", prompts=last)]
    assert "(301 and 301 prompts) agree on 300 of 300 in common" in audit(runs).differences[0]


def edit(record: Path, name: str, old: str, new: str) -> None:
    text = (record / name).read_text()
    assert old in text
    (record / name).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda p: (p / "metrics.jsonl").unlink(), "it says done, but 0 of 1 steps have metrics"),
        (lambda p: (p / "metrics.jsonl").write_text('{"step":1,"data":{}}\n'), "0 of 1 steps have metrics"),
        (lambda p: edit(p, "metrics.jsonl", '"step":1', '"step":true'), "holds step True, expected step 1"),
        (lambda p: edit(p, "metrics.jsonl", ":0.5", ":NaN"), "NaN is no JSON number"),
        (lambda p: edit(p, "metrics.jsonl", '{"step', '{"step":1,"data":{}}\n{"step'), "holds step 1, expected step 2"),
        (lambda p: (p / "eval.json").unlink(), "the untrained model is not evaluated"),
        (lambda p: (p / "eval_items.jsonl").unlink(), "but eval_items.jsonl counts null"),
        (lambda p: edit(p, "eval.json", '"correct": 3', '"correct": 4'), "but eval_items.jsonl counts"),
        (lambda p: edit(p, "eval.json", '"math": {', '"other": {'), "but eval_items.jsonl counts"),
        (lambda p: (p / "manifest.json").unlink(), "manifest.json is missing"),
        (lambda p: (p / "config.yaml").unlink(), "config.yaml is missing"),
        (lambda p: (p / "config.yaml").write_bytes(b"\xff\xfe"), "is no configuration"),
        (lambda p: (p / "status.json").write_text("[]"), "status.json holds a list, expected an object"),
        (lambda p: (p / "status.json").write_text('{"state": "done", "step": null}'), "step is None, expected int"),
        (lambda p: (p / "status.json").write_text("[" * 200_000), "status.json is no JSON"),
        (lambda p: (p / "cost.json").write_text("[1]"), "cost.json holds a list, expected an object"),
        (lambda p: edit(p, "cost.json", "40", '"many"'), "tokens.generated is 'many', expected a number"),
    ],
)
def test_a_record_that_is_not_what_it_says_is_named(tmp_path: Path, damage: Callable[[Path], Any], said: str) -> None:
    runs = [finished(tmp_path, method) for method in ("uniform", "ar", "per")]
    damage(Path(runs[1]["run_dir"]))
    found = audit(runs)
    assert not found.clean
    assert len(found.differences) == 1
    assert found.differences[0].startswith("m-t, seed 0: ar: ")
    assert said in found.differences[0]
    assert ledger(runs)["uniform"]["generated"] == 40  # and the ledger goes on


def test_a_copied_record_is_no_run_of_its_own(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method) for method in ("uniform", "ar")]
    shutil.copytree(runs[0]["run_dir"], runs[1]["run_dir"], dirs_exist_ok=True)
    said = "ar: its manifest.json says method 'uniform', the plan 'ar'; actuator 'none', the plan 'ar'"
    assert audit(runs).differences == (f"m-t, seed 0: {said}",)


def test_other_items_are_a_difference(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method) for method in ("uniform", "ar")]
    for name in ("eval_items.jsonl", "eval.json"):
        edit(Path(runs[1]["run_dir"]), name, '"math"', '"other"')
    assert audit(runs).differences == ('m-t, seed 0: items: {"math": 4} (uniform), {"other": 4} (ar)',)


def test_where_a_cache_lies_and_what_carries_a_run_out_are_no_differences(tmp_path: Path) -> None:
    def placed(method: str, home: str, cores: int) -> dict[str, Any]:
        mode = "dataflex_sync"
        config = {"data": {"train_files": f"{home}/.cache/toy3-{16 * 'a'}/train.parquet", "val_files": f"{home}/v"}}
        config |= {"ray_kwargs": {"num_cpus": cores}, "trainer": {"v1": {"trainer_mode": mode}, "logger": [home]}}
        return finished(tmp_path, method, config=config)

    found = audit([placed("uniform", "/root", 1), placed("ar", "/home/a", 2)])
    assert found.differences == ('m-t, seed 0: data.val_files: "/root/v" (uniform), "/home/a/v" (ar)',)
    assert found.notes == ("m-t, seed 0: ray_kwargs.num_cpus: 1 (uniform), 2 (ar)",)


def test_a_method_is_the_same_at_every_seed(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method, seed) for seed in (0, 1) for method in ("uniform", "ar")]
    runs[3] = finished(tmp_path, "ar", 2, config={"dataflex": {"actuator": {"name": "ar", "alpha": 0.9}}})
    runs.append(finished(tmp_path, "uniform", 2, config={"data": {"lr": 1, "batch": 2, "seed": 2}}))
    found = audit(runs[:3])
    assert (found.differences, found.notes) == ((), ())
    found = audit(runs)
    assert "m-t: ar: dataflex.actuator.alpha: (absent) (seed 0), 0.9 (seed 2)" in found.differences
    assert found.notes == ("m-t: data.batch: (absent) (seed 0, seed 1), 2 (seed 2)",)


def test_a_control_that_is_not_planned_is_said(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method, 0) for method in ("uniform", "ar", "reward_gap")]
    runs += [finished(tmp_path, method, 1) for method in ("ar", "per")]
    assert audit(runs).incomplete == (
        "m-t, seed 0: no run of the control static is planned beside reward_gap",
        "m-t, seed 1: no run of the control uniform is planned beside ar, per",
    )


def test_nothing_compared_is_not_clean_and_says_why(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform", 0), finished(tmp_path, "uniform", 1)]
    alone = audit(runs)
    assert (alone.planned, alone.clean) == (0, False)
    assert alone.verdict == "nothing to compare: the plan has one method at each seed"
    runs = [runs[0], {**finished(tmp_path, "ar", 0), "run_dir": str(tmp_path / "none")}]
    assert audit(runs).verdict == "nothing to compare: two methods are finished at no seed"
    with pytest.raises(ConfigError, match="lacks model, task; launch writes it anew"):
        audit([{key: value for key, value in runs[0].items() if key not in ("model", "task")}])
    with pytest.raises(ConfigError, match="the run at 5 lacks run_dir; launch writes it anew"):
        audit([{**runs[0], "run_dir": 5}])


def test_what_is_not_there_is_missing_not_different(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform"), finished(tmp_path, "ar")]
    update_status(RunRecord(Path(runs[1]["run_dir"])), state="running")
    found = audit(runs)
    assert (found.pairs, found.differences) == (0, ())
    assert found.incomplete == ("m-t, seed 0: no finished run of ar",)
    assert not found.clean  # nothing was compared


def test_a_broken_record_and_other_versions(tmp_path: Path) -> None:
    runs = [finished(tmp_path, method) for method in ("uniform", "ar", "per")]
    manifest = Path(runs[2]["run_dir"]) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"git_revision": "abc"}))
    (Path(runs[1]["run_dir"]) / "manifest.json").write_text("{")
    found = audit(runs)
    assert len(found.differences) == 1
    assert "ar: run record" in found.differences[0]
    assert found.notes == ('m-t, seed 0: git_revision: null (uniform), "abc" (per)',)


def test_digests_of_the_fixture_are_those_of_the_contract() -> None:
    assert digest(PROMPTS)["all"]["count"] == 8
    assert {name: stream["count"] for name, stream in digest(MIXED)["domains"].items()} == {"logic": 5, "math": 3}


def test_the_ledger_adds_up_finished_runs_and_says_what_is_missing(tmp_path: Path) -> None:
    runs = [finished(tmp_path, "uniform", 0), finished(tmp_path, "uniform", 1), finished(tmp_path, "ar", 0)]
    runs.append(finished(tmp_path, "per", 0))
    update_status(RunRecord(Path(runs[3]["run_dir"])), state="failed")
    write_json(RunRecord(Path(runs[2]["run_dir"])).cost, {"prompts": 8, "tokens": {"generated": None}})
    found = ledger(runs)
    # two runs of 40 generated = 30 trained + 10 dropped tokens, 2 s and 7200 GPU-seconds each
    assert found["uniform"] == {
        "runs": 2, "prompts": 16, "generated": 80, "trained": 60, "dropped": 20, "seconds": 4.0, "gpu_hours": 4.0,
    }  # fmt: skip
    assert (found["ar"]["prompts"], found["ar"]["generated"], found["ar"]["gpu_hours"]) == (8, None, None)
    assert (found["per"]["runs"], found["per"]["generated"]) == (0, 0)
