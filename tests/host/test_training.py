"""The suite's command, end to end on the CPU host."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
import torch

from dataflex_rl.runtime.processes import STANDIN
from tests.host.conftest import SIZE, STEPS
from tests.host.training import (
    Finished,
    kill,
    lines_so_far,
    read_lines,
    start,
    train,
    training_environment,
    untimed,
    wait_for,
)
from tests.served import served

SHADOW = ("dataflex/shadow/", "dataflex/acting")


def assert_same_run(one: Finished, other: Finished, ignore: tuple[str, ...] = ()) -> None:
    """Equal metrics but for times, equal evaluation, equal prompts, equal weights."""
    assert [untimed(data, ignore) for data in one.metrics] == [untimed(data, ignore) for data in other.metrics]
    assert one.json("eval.json") == other.json("eval.json")
    assert read_lines(one.record / "eval_items.jsonl") == read_lines(other.record / "eval_items.jsonl")
    assert one.json("manifest.json")["prompt_stream_digest"] == other.json("manifest.json")["prompt_stream_digest"]
    weights, others = one.weights(STEPS), other.weights(STEPS)
    assert weights.keys() == others.keys()
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_a_run_leaves_a_whole_record(uniform: Finished) -> None:
    assert uniform.code == 0, uniform.out
    assert "nothing chosen: training method=uniform model=tiny task=toy3; --help lists choices\n" in uniform.out
    assert [line["step"] for line in uniform.lines] == list(range(1, STEPS + 1))
    assert all(line["applied"] for line in uniform.lines)
    status = uniform.json("status.json")
    assert (status["state"], status["attempts"], status["step"]) == ("done", 1, STEPS)
    evaluation = uniform.json("eval.json")
    assert set(evaluation["benchmarks"]) == {"math", "logic", "science"}
    for name, entry in evaluation["benchmarks"].items():
        assert entry["domain"] == name
        for phase in ("untrained", "trained"):
            counted = entry[phase]
            assert counted["total"] == 100
            assert counted["accuracy"] == counted["correct"] / counted["total"]
    manifest = uniform.json("manifest.json")
    assert (manifest["method"], manifest["scorer"], manifest["seed"]) == ("uniform", "none", 0)
    assert manifest["prompt_stream_digest"]["all"]["count"] == 16 * STEPS
    cost = uniform.json("cost.json")
    assert cost["prompts"] == 16 * STEPS
    assert cost["tokens"]["generated"] == cost["tokens"]["trained"] > 0
    assert "untrained" in uniform.out
    assert str(uniform.record) in uniform.out


def test_rollout_and_trainer_agree(uniform: Finished) -> None:
    assert max(data["training/rollout_probs_diff_mean"] for data in uniform.metrics) <= 1e-3
    assert min(data["training/rollout_actor_probs_pearson_corr"] for data in uniform.metrics) > 0.999


def test_uniform_equals_verls_own_sync_trainer(uniform: Finished, tmp_path: Path) -> None:
    """Same prompts, rewards, losses and final weights, bit for bit, within the first pass of the data."""
    log = tmp_path / "native.jsonl"
    command = [
        served()[STANDIN], "-m", "dataflex_rl.host.launch", str(uniform.record),
        "trainer.v1.trainer_mode=sync_cpu",
        "trainer.v1.sampler.custom_sampler.path=pkg://dataflex_rl.host.replay",
        "trainer.v1.sampler.custom_sampler.name=OrderedReplayBuffer",
        "trainer.logger=[file]", f"trainer.default_local_dir={tmp_path}/checkpoints", "run_dir=null",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=training_environment(VERL_FILE_LOGGER_PATH=str(log)), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    native = [line["data"] for line in read_lines(log) if line["step"] > 0]
    assert len(native) == STEPS
    for step, (ours, theirs) in enumerate(zip(uniform.metrics, native, strict=True), start=1):
        mine = untimed(ours, ignore=("dataflex/",))
        assert mine == untimed(theirs), f"step {step}"
    ours_final = uniform.weights(STEPS)
    native_run = Finished(0, "", tmp_path)
    theirs_final = native_run.weights(STEPS)
    assert all(torch.equal(ours_final[name], theirs_final[name]) for name in ours_final)


def test_a_killed_run_continues(killed_shadow: Finished) -> None:
    assert killed_shadow.code == 0, killed_shadow.out
    assert "continues after step 4" in killed_shadow.out
    assert killed_shadow.json("status.json")["attempts"] == 2
    assert [line["step"] for line in killed_shadow.lines] == list(range(1, STEPS + 1))


def test_shadow_mode_killed_or_not_trains_as_uniform(killed_shadow: Finished, uniform: Finished) -> None:
    """A kill and a resume change nothing, and neither does a policy that only watches: equal bit for bit."""
    assert_same_run(uniform, killed_shadow, ignore=SHADOW)
    kept = [data["dataflex/shadow/kept_frac"] for data in killed_shadow.metrics]
    assert 0 < sum(kept) / len(kept) < 1


def test_difffilter_drops_and_says_so(difffilter: Finished, uniform: Finished) -> None:
    assert difffilter.code == 0, difffilter.out
    kept = [data["dataflex/kept_frac"] for data in difffilter.metrics]
    assert 0 < sum(kept) / len(kept) < 1
    assert difffilter.metrics[0]["dataflex/reward_all"] == uniform.metrics[0]["dataflex/reward_all"]
    first = [row for row in read_lines(difffilter.record / "trace.jsonl") if row["step"] == 1]
    groups: dict[str, list[dict[str, object]]] = {}
    for row in first:
        groups.setdefault(str(row["prompt_key"]), []).append(row)
    assert len(groups) == 16
    for rows in groups.values():
        solved = sum(float(str(row["reward"])) > 0.5 for row in rows)
        assert {row["kept"] for row in rows} == {solved in (2, 3)}
    assert (
        difffilter.json("manifest.json")["prompt_stream_digest"]
        == uniform.json("manifest.json")["prompt_stream_digest"]
    )
    different = [
        not torch.equal(a, b)
        for a, b in zip(difffilter.weights(STEPS).values(), uniform.weights(STEPS).values(), strict=True)
    ]
    assert any(different)


def test_a_finished_run_is_reported_and_not_redone(uniform: Finished, runs_dir: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in uniform.record.rglob("*.json*") if path.name != "lock.json"}
    again = train(runs_dir, "default/tiny-toy3/uniform/seed_0", *SIZE)
    assert again.code == 0, again.out
    assert "done before" in again.out
    after = {path: path.stat().st_mtime_ns for path in uniform.record.rglob("*.json*") if path.name != "lock.json"}
    assert before == after


def test_another_configuration_under_the_same_record_is_refused(uniform: Finished, runs_dir: Path) -> None:
    other = train(runs_dir, "default/tiny-toy3/uniform/seed_0", *SIZE, "actor_rollout_ref.actor.optim.lr=0.001")
    assert other.code == 2
    assert "actor_rollout_ref.actor.optim.lr: 0.0003 -> 0.001" in other.out
    assert "force=true" in other.out


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_ends_everything_within_ten_seconds(runs_dir: Path, number: int) -> None:
    import time

    name = f"stopped{number}"
    record = runs_dir / name / "tiny-toy3/uniform/seed_0"
    process = start(runs_dir, f"sweep={name}", *SIZE)
    wait_for(lambda: len(lines_so_far(record)) >= 1, process)
    begin = time.monotonic()
    process.send_signal(number)
    time.sleep(0.5)
    out = kill(process, signal.SIGTERM)  # asked twice, it ends in order all the same
    assert time.monotonic() - begin < 10
    assert process.returncode == 130
    assert "the same command continues it" in out
    lines = len(lines_so_far(record))
    assert lines >= 1
    done = Finished(130, out, record)
    assert done.json("status.json")["state"] == "interrupted"
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and belongs(pid, str(record))]


def belongs(pid: str, text: str) -> bool:
    """Say whether a process was started with some text in its command line."""
    try:
        return text.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
