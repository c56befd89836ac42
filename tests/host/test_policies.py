"""Policies beyond the default pair, end to end: other estimators, a critic, and the golden runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.host.conftest import STEPS
from tests.host.training import Finished, train, untimed

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
IN_DEFAULT_RUN = ("uniform", "difffilter")


def script() -> ModuleType:
    """Return scripts/regolden.py as a module."""
    spec = importlib.util.spec_from_file_location("regolden", ROOT / "scripts" / "regolden.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REGOLDEN = script()
METHODS = REGOLDEN.methods()


def body(text: str) -> list[str]:
    """Return a golden text without its first lines, which name the overrides and the processor."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def check_golden(method: str, record: Path) -> None:
    """Hold a run against its golden text: its prompts, and on the kind of processor that wrote it every number."""
    new, old = REGOLDEN.render(method, record), (GOLDEN / f"{method}.txt").read_text()
    prompts = [[line for line in body(text) if line.startswith("prompts ")] for text in (new, old)]
    assert prompts[0] == prompts[1]
    if REGOLDEN.processor_line() in old.splitlines():
        assert body(new) == body(old)


@pytest.mark.parametrize("method", METHODS)
def test_golden_files_are_there_and_differ_from_uniform(method: str) -> None:
    """Every method changes training: its ten steps are not uniform's."""
    text = (GOLDEN / f"{method}.txt").read_text()
    assert len([line for line in body(text) if line.split()[0].isdigit()]) == STEPS
    if method != "uniform":
        assert body(text) != body((GOLDEN / "uniform.txt").read_text())


@pytest.mark.parametrize("method", IN_DEFAULT_RUN)
def test_golden_runs_of_this_session(method: str, request: pytest.FixtureRequest) -> None:
    """The runs of the other tests reproduce the golden prompts; on the processor they were written on, every number."""
    run: Finished = request.getfixturevalue(method)
    check_golden(method, run.record)


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name not in IN_DEFAULT_RUN])
def test_golden_runs(method: str, tmp_path: Path) -> None:
    arguments = REGOLDEN.arguments(method)
    run = train(tmp_path, f"default/tiny-toy3/{method}/seed_0", *arguments)
    assert run.code == 0, run.out
    check_golden(method, run.record)


@pytest.mark.slow
def test_softmax_with_gae_and_a_critic(tmp_path: Path) -> None:
    """Reward- and advantage-level scorers work for any estimator, here verl's GAE with its critic."""
    size = ("trainer.total_training_steps=3", "trainer.save_freq=3", "algorithm.adv_estimator=gae")
    critic = (
        "critic.model.path=${actor_rollout_ref.model.path}",
        "critic.ppo_mini_batch_size=16",
        "critic.ppo_micro_batch_size_per_gpu=80",
        "critic.forward_micro_batch_size_per_gpu=80",
        "critic.optim.lr=3e-4",
    )
    runs = {
        name: train(tmp_path / name, f"default/tiny-toy3/{name}/seed_0", f"method={name}", *size, *critic)
        for name in ("softmax", "uniform")
    }
    for run in runs.values():
        assert run.code == 0, run.out
        assert all(data["critic/vf_loss"] >= 0 for data in run.metrics)
    weighted = runs["softmax"].metrics
    assert all(data["dataflex/weight_mean"] == pytest.approx(1.0) for data in weighted)
    assert all(data["dataflex/weight_std"] > 0 for data in weighted)
    assert untimed(weighted[-1]) != untimed(runs["uniform"].metrics[-1])


@pytest.mark.slow
@pytest.mark.parametrize("on_empty", ["zero", "skip_update", "keep_all"])
def test_nothing_kept(on_empty: str, tmp_path: Path) -> None:
    """Of five responses no share lies between .45 and .55, so every step is empty.

    `skip_update` leaves the weights as they were, bit for bit; `zero` has no gradient (AdamW's weight decay still
    moves them); `keep_all` trains on everything, as uniform.
    """
    band = ("dataflex.actuator.params.low=0.45", "dataflex.actuator.params.high=0.55")
    run = train(
        tmp_path, "default/tiny-toy3/difffilter/seed_0", "method=difffilter", *band,
        f"dataflex.actuator.on_empty={on_empty}", "trainer.total_training_steps=2", "trainer.save_freq=1",
    )  # fmt: skip
    assert run.code == 0, run.out
    assert [data["dataflex/empty_step"] for data in run.metrics] == [1.0, 1.0]
    assert run.metrics[-1]["dataflex/empty_steps"] == 2.0
    grad = [data.get("actor/grad_norm") for data in run.metrics]
    moved = [not bool((a == b).all()) for a, b in zip(run.weights(1).values(), run.weights(2).values(), strict=True)]
    if on_empty == "skip_update":
        assert grad == [None, None]
        assert not any(moved)
    elif on_empty == "zero":
        assert grad == [0.0, 0.0]
        assert any(moved)
    else:
        assert all(value > 0 for value in grad)
        assert [data["dataflex/kept_frac"] for data in run.metrics] == [1.0, 1.0]
