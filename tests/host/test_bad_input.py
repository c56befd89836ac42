"""What a user gets wrong: one clear line and exit code 2, before Ray, a build or a download starts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from dataflex_rl.run import main

CASES = {
    "unknown method": (["method=maxvarr"], ["unknown method 'maxvarr'; known: ar, diffband, ", ", tscl, uniform\n"]),
    "unknown scorer group": (["scorer=group_slove"], ["unknown scorer 'group_slove'; known: advantage_magnitude, "]),
    "unknown actuator group": (["actuator=difffliter"], ["unknown actuator 'difffliter'; known: ar, diffband, "]),
    "unknown model": (["model=tinny"], ["unknown model 'tinny'; known: llama3_1_8b, ", ", smollm2_135m, tiny\n"]),
    "unknown host": (["host=tpu"], ["unknown host 'tpu'; known: cpu, gpu1, gpu8, gpu8x2, sglang8\n"]),
    "unknown task": (["task=toy"], ["unknown task 'toy'; known: multidomain3, ", ", text3, toy3\n"]),
    "unknown benchmark": (["benchmark=text13"], ["unknown benchmark 'text13'; known: aime24, ", "paper12, text12"]),
    "no scorer group": (["scorer="], ["unknown scorer ''; known: advantage_magnitude, "]),
    "unknown group of verl": (["actor@actor_rollout_ref.actor=x"], ["unknown actor 'x'; known: actor, dp_actor, "]),
    "null as method": (["method=null"], ["method=None: expected a name of this group; known: ar, ", "uniform\n"]),
    "number as task": (["task=3"], ["task=3: expected a name of this group; known: multidomain3, "]),
    "null as verl group": (["data=null"], ["data=None: expected a name of this group; known: legacy_data\n"]),
    "null as group of Hydra": (["hydra=null"], ["hydra=None: expected a name of this group; known: "]),
    "two methods in one": (["method=[ar,per]"], ["method=['ar', 'per']: expected a name of this group; known: ar, "]),
    "a word alone": (["difffilter"], ["'difffilter': expected KEY=VALUE, as method=difffilter\n"]),
    "two equals signs": (["seed==3"], ["Error parsing override 'seed==3'"]),
    "no policy": (["dataflex=null"], ["dataflex=None: expected a block of settings\n"]),
    "no trainer block": (["trainer=null"], ["trainer=None: expected a block of settings: device, save_freq, "]),
    "no actor block": (["actor_rollout_ref=null"], ["actor_rollout_ref=None: expected a block of settings: model, "]),
    "no model block": (["actor_rollout_ref.model=null"], ["actor_rollout_ref.model=None: expected a block"]),
    "no filter block": (["algorithm.filter_groups=null"], ["algorithm.filter_groups=None: expected a block"]),
    "number as block": (["regime=3"], ["regime=3: expected a block of settings: data_fraction, label_noise\n"]),
    "no host": (["~host"], ["host is missing; every run needs it\n"]),
    "model of verl": (["model=hf_model"], ["model_name is missing"]),
    "null as model": (["actor_rollout_ref.model.path=null"], ["actor_rollout_ref.model.path=None: expected text\n"]),
    "number as model": (["actor_rollout_ref.model.path=3"], ["actor_rollout_ref.model.path=3: expected text\n"]),
    "local model without a folder": (["model=local"], ["model=local stands for a folder; expected model=path/to/fo"]),
    "null as host name": (["host.name=null"], ["host.name=None: expected text\n"]),
    "null as sweep": (["sweep=null"], ["sweep=None: expected a name\n"]),
    "null as column": (["data.prompt_key=null"], ["data.prompt_key=None: expected text\n"]),
    "word as switch": (["force=maybe"], ["force='maybe': expected true or false\n"]),
    "number as switch": (["trainer.val_before_train=1"], ["trainer.val_before_train=1: expected true or false\n"]),
    "word as learning rate": (["actor_rollout_ref.actor.optim.lr=fast"], ["optim.lr='fast': expected a number\n"]),
    "word as save_freq": (["trainer.save_freq=often"], ["trainer.save_freq='often': expected an integer\n"]),
    "null as save_freq": (["trainer.save_freq=null"], ["trainer.save_freq=None: expected an integer\n"]),
    "unknown scorer": (["dataflex.scorer.name=group_slove", "actuator=difffilter"], ["group_slove", "group_solve"]),
    "misspelt parameter": (["method=difffilter", "+dataflex.actuator.params.hihg=0.7"], ["hihg", "high", "low"]),
    "misspelt parameter in place": (
        ["method=difffilter", "dataflex.actuator.params.hihg=0.7"], ["hihg", "params has: high, low"]
    ),
    "misspelt knob of the actuator": (["method=topk", "dataflex.actuator.kap=2"], ["kap", "cap", "on_empty"]),
    "policy without our trainer": (
        ["method=difffilter", "trainer.v1.trainer_mode=sync"], ["difffilter", "trainer_mode=sync", "dataflex_sync"]
    ),
    "unknown trainer": (["trainer.v1.trainer_mode=snyc"], ["trainer_mode", "snyc", "dataflex_sync"]),
    "misspelt verl key": (["data.train_bach_size=8"], ["train_bach_size"]),
    "low above high": (["method=difffilter", "dataflex.actuator.params.low=0.9"], ["low", "0.9", "high"]),
    "high above one": (["method=difffilter", "dataflex.actuator.params.high=1.2"], ["high", "1.2"]),
    "no groups": (["method=difffilter", "algorithm.adv_estimator=gae"], ["group_solve", "gae", "grpo"]),
    "groups of one": (["method=difffilter", "actor_rollout_ref.rollout.n=1"], ["rollout.n", "1"]),
    "one response per prompt": (["actor_rollout_ref.rollout.n=1"], ["rollout.n=1", "grpo", "at least 2"]),
    "unknown estimator": (["algorithm.adv_estimator=grop"], ["adv_estimator=grop", "grpo, ", "rloo"]),
    "negative seed": (["seed=-1"], ["seed=-1"]),
    "fractional seed": (["seed=1.5"], ["seed=1.5"]),
    "word as seed": (["seed=first"], ["seed", "first"]),
    "missing train file": (["data.train_files=/nowhere/train.parquet"], ["data.train_files", "/nowhere/train.parquet"]),
    "missing model folder": (["actor_rollout_ref.model.path=/nowhere/model"], ["/nowhere/model", "no such folder"]),
    "no train file": (["data.train_files=[]"], ["data.train_files", "[]"]),
    "null as train file": (["data.train_files=null"], ["data.train_files=None"]),
    "number as train file": (["data.train_files=3"], ["data.train_files", "3"]),
    "no runs_dir": (["runs_dir=null"], ["runs_dir", "None"]),
    "word as batch size": (["data.train_batch_size=many"], ["data.train_batch_size", "many", "integer"]),
    "null as response length": (["data.max_response_length=null"], ["data.max_response_length", "None", "integer"]),
    "half a response": (["actor_rollout_ref.rollout.n=2.5"], ["actor_rollout_ref.rollout.n", "2.5", "integer"]),
    "broken interpolation": (["data.prompt_key=${nowhere}"], ["nowhere"]),
    "no steps": (["trainer.total_training_steps=0"], ["total_training_steps", "0"]),
    "group filtering": (["algorithm.filter_groups.enable=true"], ["filter_groups", "difffilter"]),
    "dry_run": (["dry_run=perhaps"], ["dry_run", "perhaps", "json"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_line_and_exit_code_2(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments, expected = CASES[name]
    code = main([f"runs_dir={tmp_path / 'runs'}", *arguments])
    out, err = capfd.readouterr()
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def write(path: Path, **columns: list[object]) -> Path:
    """Write a parquet file."""
    pd.DataFrame(columns).to_parquet(path)
    return path


def test_unreadable_train_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.parquet"
    path.write_text("this is no parquet")
    assert main([f"runs_dir={tmp_path}/runs", f"data.train_files={path}"]) == 2
    assert f"data.train_files={path}: cannot be read as parquet" in capfd.readouterr().err


def test_parquet_without_prompt(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "train.parquet", question=["1+1"], answer=["2"])
    assert main([f"runs_dir={tmp_path}/runs", f"data.train_files={path}"]) == 2
    err = capfd.readouterr().err
    assert "no column 'prompt'" in err
    assert "question, answer" in err


def test_string_instead_of_messages(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "train.parquet", prompt=["1+1"])
    assert main([f"runs_dir={tmp_path}/runs", f"data.train_files={path}"]) == 2
    err = capfd.readouterr().err
    assert "chat messages" in err
    assert "'1+1'" in err


def test_too_few_rows_for_a_batch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prompt = [{"role": "user", "content": "1+1"}]
    truth = {"style": "rule", "ground_truth": "2"}
    path = write(tmp_path / "train.parquet", prompt=[prompt] * 3, data_source=["math"] * 3, reward_model=[truth] * 3)
    assert main([f"runs_dir={tmp_path}/runs", f"data.train_files={path}"]) == 2
    assert "3 rows make no batch of data.train_batch_size=16" in capfd.readouterr().err


def test_parquet_without_what_the_verifier_reads(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "train.parquet", prompt=[[{"role": "user", "content": "1+1"}]] * 20)
    assert main([f"runs_dir={tmp_path}/runs", f"data.train_files={path}"]) == 2
    assert "no column 'data_source', 'reward_model', which the verifier reads" in capfd.readouterr().err


def test_runs_dir_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    assert main([f"runs_dir={place}/runs"]) == 2
    assert "runs_dir" in capfd.readouterr().err


def test_dry_run_finds_a_runs_dir_that_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "file"
    place.write_text("not a folder")
    assert main([f"runs_dir={place}/runs", "dry_run=json"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "runs_dir" in err


def test_dry_run_of_a_critic_loads_no_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """verl's own check would load model and tokenizer of the critic: of something to build, or from the net."""
    arguments = [f"runs_dir={tmp_path}/runs", "method=softmax", "algorithm.adv_estimator=gae", "dry_run=json"]
    for more in ([], ["critic.model.path=nobody/nothing"]):
        assert main([*arguments, *more]) == 0
        assert json.loads(capfd.readouterr().out)["method"] == "softmax"
    assert main([*arguments, "critic.ppo_micro_batch_size_per_gpu=null"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: verl refuses the configuration: [critic] Please set at least one of")


def test_dry_run_starts_nothing_and_says_what_would_be_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([f"runs_dir={tmp_path}/runs", "scorer=group_solve", "actuator=difffilter", "dry_run=json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["method"] == "difffilter"
    assert (plan["prompts"], plan["responses"]) == (60 * 16, 60 * 16 * 5)
    assert plan["tokens_at_most"] == 60 * 16 * 5 * (32 + 12)
    assert plan["host"] == "cpu"
    assert not (tmp_path / "runs").exists()


def test_scorer_and_actuator_are_the_method(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plans = []
    for arguments in (["scorer=group_solve", "actuator=difffilter"], ["method=difffilter"]):
        assert main([f"runs_dir={tmp_path}/runs", "dry_run=json", *arguments]) == 0
        plans.append(json.loads(capfd.readouterr().out))
    assert plans[0] == plans[1]


def test_an_empty_cache_shows_what_is_to_prepare(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main([f"runs_dir={tmp_path}/runs", "dry_run=json"]) == 0
    assert json.loads(capfd.readouterr().out)["to_prepare"] == ["tiny", "toy3"]
    assert not (tmp_path / "cache").exists()
