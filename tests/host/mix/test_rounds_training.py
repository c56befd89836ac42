"""Budgets and backfill end to end: real processes, groups of unequal size, rounds that replace and continue groups."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dataflex_rl.plugin  # noqa: F401 (verl must have loaded it before our host modules are imported one by one)
from dataflex_rl.config.plain import plain
from dataflex_rl.errors import ConfigError
from dataflex_rl.host.validate import validate
from tests.host.mix.composed import resolved, trainer
from tests.host.mix.test_mix_training import assert_same
from tests.host.training import Finished, kill, read_lines, start, train, wait_for

SHORT = ("data.train_max_samples=64", "trainer.total_training_steps=6", "trainer.save_freq=2", "dataflex.trace=true")
ROUNDS = (
    "sweep=rounds", "prompts=hierarchical", "mixer=static", "dataflex.budget.name=two_phase",
    "dataflex.backfill.enabled=true", *SHORT,
)  # fmt: skip
RECORD = "rounds/tiny-toy3/static+hierarchical+two_phase+backfill/seed_0"
TIMES = ("dataflex/prompts/cpu_ms",)


def groups(run: Finished) -> list[dict[str, list[tuple[int, float]]]]:
    """Per step, the (rollout index, reward) of each uid in the batch."""
    found: list[dict[str, list[tuple[int, float]]]] = [{} for _ in run.metrics]
    for row in read_lines(run.record / "trace.jsonl"):
        found[row["step"] - 1].setdefault(row["uid"], []).append((row["rollout_index"], row["reward"]))
    return found


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run, undisturbed."""
    return train(tmp_path_factory.mktemp("rounds"), RECORD, *ROUNDS)


def test_screened_continued_and_backfilled(rounds: Finished) -> None:
    assert rounds.code == 0, rounds.out
    assert rounds.json("manifest.json")["prompt_selector"] == "hierarchical+two_phase+backfill"
    for step, data in zip(groups(rounds), rounds.metrics, strict=True):
        assert all([index for index, _ in group] == list(range(5)) for group in step.values())  # continued: 2 + 3
        assert all(len({reward for _, reward in group}) > 1 for group in step.values())  # each has signal
        trained, dropped = data["dataflex/rounds/groups_trained"], data["dataflex/rounds/groups_dropped"]
        assert trained == len(step) == 16 - data["dataflex/rounds/missing"]
        assert data["dataflex/rounds/groups_generated"] == trained + dropped
        assert data["dataflex/prompts/drawn"] == data["dataflex/rounds/groups_generated"]
        assert data["dataflex/rounds/draws"] <= 4
        spent = data["dataflex/tokens_trained"] + data["dataflex/tokens_dropped"]
        assert data["dataflex/tokens_generated"] == spent
        assert 0 < data["dataflex/rounds/tokens_screened"] < data["dataflex/tokens_generated"]
        assert (
            sum(data[f"dataflex/rounds/ended/{end}"] for end in ("full", "max_rounds", "max_tokens", "no_prompts")) == 1
        )
        for name in ("logic", "math", "science"):  # never above the quota, a third of 16
            assert data[f"dataflex/share_realised/{name}"] * trained <= 6 + 1e-6
    cost = rounds.json("cost.json")["tokens"]
    assert cost["generated"] == cost["trained"] + cost["dropped"]


def test_the_predictions_are_scored_on_all_that_was_generated(rounds: Finished) -> None:
    last = rounds.metrics[-1]
    assert 0 < last["dataflex/prompts/brier/first"] < 0.5


@pytest.mark.slow
def test_killed_in_a_round_the_step_is_done_again(rounds: Finished, tmp_path: Path) -> None:
    """The queue does not survive a kill, and a checkpoint carries nothing: the run equals the undisturbed one."""
    process = start(tmp_path, *ROUNDS)
    wait_for(lambda: len(read_lines(tmp_path / RECORD / "metrics.jsonl")) >= 3, process)
    kill(process)
    again = train(tmp_path, RECORD, *ROUNDS)
    assert again.json("status.json")["attempts"] == 2
    assert_same(again, rounds, ignore=TIMES)


def test_a_knapsack_moves_responses_under_a_fixed_total(tmp_path: Path) -> None:
    run = train(
        tmp_path, "knap/tiny-toy3/hierarchical+knapsack/seed_0", "sweep=knap", "prompts=hierarchical",
        "dataflex.budget.name=knapsack", *SHORT,
    )  # fmt: skip
    assert run.code == 0, run.out
    sizes = [Counter(len(group) for group in step.values()) for step in groups(run)]
    for size, step in zip(sizes, groups(run), strict=True):
        assert sum(count * number for count, number in size.items()) == 80
        assert all([index for index, _ in group] == list(range(len(group))) for group in step.values())
        assert min(size) >= 2
        assert max(size) <= 10
    assert any(len(size) > 1 for size in sizes)  # groups of unequal size


# ---------------------------------------------------------------- without processes


@pytest.mark.parametrize("host", ["cpu", "gpu1", "gpu8", "sglang8"])
@pytest.mark.parametrize(
    "choice",
    [
        ("prompts=beta_thompson", "dataflex.budget.name=knapsack"),
        ("dataflex.budget.name=two_phase", "dataflex.backfill.enabled=true"),
    ],
)
def test_every_host_takes_them(tmp_path: Path, host: str, choice: tuple[str, ...]) -> None:
    """verl reads the number of responses from a prompt's column, whatever server generates them."""
    from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ

    validate(plain(resolved(tmp_path, f"host={host}", *choice)))
    worker = AgentLoopWorkerTQ.__ray_metadata__.modified_class
    assert 'prompt.pop("__rollout_n__"' in inspect.getsource(worker._run_prompt)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("dataflex.budget.name=two_phase", "trainer.v1.sampler.custom_sampler.path=x.py"), "needs our replay buffer"),
        (
            ("dataflex.backfill.enabled=true", "actor_rollout_ref.rollout.agent.agent_loop_manager_class=a.B"),
            r"backfill needs .*agent_loop_manager_class=.*SeededAgentLoopManager, got a\.B",
        ),
        (("dataflex.backfill.enabled=true", "algorithm.adv_estimator=gae"), "backfill needs an advantage estimator"),
        (
            ("dataflex.backfill.enabled=true", "trainer.v1.trainer_mode=sync"),
            "backfill needs .*_sync, got sync",
        ),
        (
            ("dataflex.backfill.enabled=true", "reward.reward_model.enable=true"),
            "a colocated reward model gives them after",
        ),
        (
            ("dataflex.budget.name=two_phase", "skip.rollout_tq.enable=true"),
            "skip.rollout_tq.enable=true would leave out",
        ),
        (("dataflex.backfill.enabled=1",), "dataflex.backfill.enabled"),
        (("prompts=hierarchical", "dataflex.budget.name=knapsack", "dataflex.budget.n_min=9"), "n_min=9 is above"),
    ],
)
def test_refused_before_anything_starts(tmp_path: Path, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(plain(resolved(tmp_path, *overrides)))


def test_a_checkpoint_carries_nothing(tmp_path: Path) -> None:
    made: Any = trainer(
        tmp_path, "dataflex.backfill.enabled=true", "trainer.save_freq=2", "trainer.total_training_steps=5"
    )
    allowed = []
    for step in range(1, 6):
        made.global_steps = step
        made._next_train_batch()
        allowed.append(made.feed.may_carry)
        made.feed.source._busy_P[:] = False
    assert allowed == [True, False, True, False, False]  # saved after steps 2, 4 and the last


@pytest.mark.slow
def test_data_that_are_all_constant_end_by_the_stated_fallback(tmp_path: Path) -> None:
    reward = tmp_path / "zero.py"
    reward.write_text("def compute_score(*args, **kwargs):\n    return {'score': 0.0, 'acc': 0.0}\n")
    run = train(
        tmp_path, "constant/tiny-toy3/backfill/seed_0", "sweep=constant", "dataflex.backfill.enabled=true",
        f"reward.custom_reward_function.path={reward}", "trainer.total_training_steps=2",
    )  # fmt: skip
    assert run.code == 0, run.out
    for data in run.metrics:
        assert data["dataflex/rounds/ended/max_tokens"] == 1.0
        assert data["dataflex/rounds/groups_generated"] == 32.0  # two plain batches, give or take the lengths
        assert data["dataflex/rounds/groups_trained"] == data["dataflex/tokens_trained"] == 0.0
        assert data["dataflex/tokens_dropped"] == data["dataflex/tokens_generated"] > 0
        assert data["dataflex/rounds/skip_update"] == 1.0
        assert "actor/grad_norm" not in data


@pytest.mark.slow
def test_a_continued_prompt_has_the_responses_that_it_has_without_a_budget(tmp_path: Path) -> None:
    """One step of the untrained model: the same prompts, and of each the same first responses, in one phase or two."""
    one = ("trainer.total_training_steps=1", "dataflex.trace=true", "sweep=crn")
    plain_run = train(tmp_path, "crn/tiny-toy3/uniform/seed_0", *one)
    screened = train(tmp_path, "crn/tiny-toy3/two_phase/seed_0", "dataflex.budget.name=two_phase", *one)
    (whole,), (part,) = groups(plain_run), groups(screened)
    assert whole.keys() == part.keys()
    for uid, group in part.items():
        first = {reward for _, reward in whole[uid][:2]}
        assert group == (whole[uid] if len(first) > 1 else whole[uid][:2])
    assert {len(group) for group in part.values()} == {2, 5}
    assert screened.metrics[0]["dataflex/tokens_generated"] < plain_run.metrics[0]["dataflex/tokens_generated"]


@pytest.mark.slow
def test_what_a_skipped_step_leaves_serves_the_next_one(tmp_path: Path) -> None:
    run = train(
        tmp_path, "carry/tiny-toy3/backfill/seed_0", "sweep=carry", "dataflex.backfill.enabled=true",
        "dataflex.backfill.max_rounds=0", "dataflex.backfill.on_short=skip_update", "trainer.total_training_steps=4",
        "trainer.save_freq=100", "dataflex.trace=true",
    )  # fmt: skip
    assert run.code == 0, run.out
    carried, waiting = 0.0, 0.0  # groups and tokens that the step before left
    for data in run.metrics:
        generated, trained, dropped, left = (
            data[f"dataflex/rounds/groups_{name}"] for name in ("generated", "trained", "dropped", "carried")
        )
        assert generated == 16 - carried == data["dataflex/prompts/drawn"]
        assert generated + carried == trained + dropped + left
        kept = data["dataflex/rounds/tokens_carried"]
        spent = data["dataflex/tokens_trained"] + data["dataflex/tokens_dropped"] + kept
        assert data["dataflex/tokens_generated"] + waiting == spent
        assert (trained == 0) == bool(data["dataflex/rounds/skip_update"])
        carried, waiting = left, kept
    first, second = run.metrics[:2]
    assert first["dataflex/rounds/skip_update"] == 1.0
    assert first["dataflex/rounds/groups_carried"] > 0
    assert second["dataflex/rounds/groups_carried"] == 0 or second["dataflex/rounds/age"] > 0
    assert run.metrics[-1]["dataflex/rounds/groups_carried"] == 0  # a checkpoint carries nothing
