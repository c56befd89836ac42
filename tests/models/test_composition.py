"""Every method, model, task and host composes and passes verl's own checks, without a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plain import plain
from dataflex_rl.config.plan import Plan, resolve
from dataflex_rl.config.schema import check_types
from dataflex_rl.data.benchmarks.specs import BENCHMARKS
from dataflex_rl.host.validate import validate

METHODS = sorted(path.stem for path in (shipped("conf") / "method").glob("*.yaml"))
HOSTS = sorted(path.stem for path in (shipped("conf") / "host").glob("*.yaml"))
MODELS = sorted(path.stem for path in (shipped("conf") / "model").glob("*.yaml") if path.stem != "local")
TASKS = sorted(path.stem for path in (shipped("conf") / "task").glob("*.yaml"))
PAPER_MODELS = ("qwen2_5_7b", "llama3_1_8b")


@pytest.fixture(autouse=True)
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DATAFLEX_RL_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # what this machine has built changes nothing
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def checked(*overrides: str) -> tuple[DictConfig, Plan]:
    config = compose("run", overrides=["dry_run=true", "runs_dir=/tmp/none", *overrides])
    plan = resolve(config, dry=True)
    validate(plan.settings)
    return config, plan


def study(method: str, model: str, host: str) -> tuple[DictConfig, Plan]:
    return checked(f"method={method}", f"model={model}", f"host={host}", "task=multidomain3", "benchmark=paper12")


def test_the_groups_are_complete() -> None:
    assert len(METHODS) == 13
    assert HOSTS == ["cpu", "gpu1", "gpu8", "gpu8x2", "sglang8"]
    assert {"qwen2_5_7b", "qwen2_5_7b_instruct", "qwen2_5_14b", "llama3_1_8b", "smollm2_135m", "tiny"} <= set(MODELS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_composes_on_the_studys_host(method: str) -> None:
    model = PAPER_MODELS[METHODS.index(method) % 2]  # the whole product is in the slow tests
    _, plan = study(method, model, "gpu8")
    assert (plan.method, plan.model, plan.task, plan.host) == (method, model, "multidomain3", "gpu8")
    assert (plan.steps, plan.prompts_per_step, plan.responses_per_prompt) == (300, 64, 5)
    assert set(plan.to_prepare) == {"prepared:multidomain3", "prepared:paper12"}


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "gpu8"])
@pytest.mark.parametrize("model", PAPER_MODELS)
def test_every_host_takes_the_studys_models(model: str, host: str) -> None:
    config, plan = study("difffilter", model, host)
    assert plan.host == host
    assert config.host.gpus == (0 if host == "cpu" else config.trainer.n_gpus_per_node * config.trainer.nnodes)


def without_policy(config: DictConfig) -> dict[str, Any]:
    return {key: value for key, value in plain(config).items() if key not in ("dataflex", "method_name")}


@pytest.fixture(scope="module")
def blocks() -> dict[str, DictConfig]:
    """The policy of each method, composed; a method changes nothing else, so it can be put into any configuration."""
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        configs = {method: compose("run", overrides=[f"method={method}"]) for method in METHODS}
    assert all(without_policy(config) == without_policy(configs["uniform"]) for config in configs.values())
    return {method: config.dataflex for method, config in configs.items()}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("model", PAPER_MODELS)
def test_every_method_is_valid_for_the_studys_models_on_every_host(
    model: str, host: str, blocks: dict[str, DictConfig]
) -> None:
    arguments = [f"model={model}", f"host={host}", "task=multidomain3", "benchmark=paper12"]
    base = compose("run", overrides=["dry_run=true", "runs_dir=/tmp/none", *arguments])
    for method in METHODS:
        config = base.copy()
        config.dataflex = blocks[method]
        assert resolve(config, dry=True).method == method
        validate(plain(config))


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("model", PAPER_MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_the_whole_product_composes(method: str, model: str, host: str) -> None:
    assert study(method, model, host)[1].method == method


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_task_and_host_is_valid_together(model: str, task: str, host: str) -> None:
    choices = {"model": model, "task": task, "host": host, "benchmark": "none"}
    config, plan = checked(*(f"{group}={name}" for group, name in choices.items()))
    check_types(config, choices)
    assert (plan.model, plan.task, plan.host) == (model, task, host)
    assert bool(plan.warnings) <= (host == "cpu")


@pytest.mark.parametrize("model", MODELS)
def test_every_model_composes(model: str) -> None:
    config, plan = checked(f"model={model}", "host=gpu8", "task=text3")
    assert plan.model == config.model_name == model


@pytest.mark.parametrize("task", TASKS)
def test_every_task_composes_on_the_cpu(task: str) -> None:
    config, plan = checked("model=tiny", "host=cpu", f"task={task}")
    assert plan.task == config.task_name == task


@pytest.mark.parametrize("name", [*BENCHMARKS, "paper12", "text12", "none"])
def test_every_benchmark_is_what_is_validated(name: str) -> None:
    config = compose("run", overrides=[f"benchmark={name}"])
    source = {"text12": "build:text12", "none": "build:toy3"}.get(name, f"prepared:{name}")
    assert (config.benchmark_name, config.data.val_files) == (name, source)


def test_the_recipe_is_the_studys() -> None:
    config, _ = study("uniform", "qwen2_5_7b", "gpu8")
    actor, data, rollout = config.actor_rollout_ref.actor, config.data, config.actor_rollout_ref.rollout
    assert (config.algorithm.adv_estimator, config.trainer.total_training_steps) == ("grpo", 300)
    assert (data.train_batch_size, actor.ppo_mini_batch_size, rollout.n) == (64, 64, 5)
    assert (actor.optim.lr, actor.use_kl_loss, actor.kl_loss_coef) == (1e-6, True, 0.001)
    assert (data.max_prompt_length, data.max_response_length) == (1024, 8192)
    assert (rollout.val_kwargs.temperature, rollout.val_kwargs.do_sample) == (0, False)
