"""Prompt selectors in the trainer on verl's own dataset, sampler and collate function; no process is started."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

import dataflex_rl.plugin  # noqa: F401 (verl must have loaded it before our host modules are imported one by one)
from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.config.mixing import check_built
from dataflex_rl.config.plain import plain
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.measure import outcomes_of
from dataflex_rl.host.feeds import LoaderFeed, RowFeed
from dataflex_rl.host.policy_step import raw_outcome
from dataflex_rl.host.trainer import DataflexSyncTrainer
from dataflex_rl.policy import Policy
from tests.host.mix.composed import answered, drawn, resolved, stepped, trainer

POOL = "data.train_max_samples=96"  # six batches of 16
REWARD = {"math": 0.9, "logic": 0.1, "science": 0.6}


def counted(metrics: dict[str, float]) -> dict[str, float]:
    """Metrics without the one that is a time."""
    return {key: value for key, value in metrics.items() if key != "dataflex/prompts/cpu_ms"}


def steps(made: Any, numbers: Sequence[int]) -> list[tuple[list[str], list[str], dict[str, float]]]:
    """Steps in which the reward of science moves with the number of the step."""
    found = []
    for number in numbers:
        uids, domains, metrics = stepped(made, {**REWARD, "science": 0.1 * number})
        found.append((uids, domains, counted(metrics)))
    return found


def test_without_a_rule_verls_own_dataloader_draws(tmp_path: Path) -> None:
    made = trainer(tmp_path, POOL)
    assert type(made.feed) is LoaderFeed
    assert made.feed.state_dict() is None
    assert made._state()["mixer"] is None
    assert "prompts" not in made._state()


@pytest.mark.parametrize(
    "choice",
    [
        "prompts=beta_thompson",
        "prompts=greso_skip",
        "prompts=hierarchical",
        "prompts=curriculum",
        "method=prompts/reward_gap+beta_thompson",
        "method=prompts/difffilter+hierarchical",
    ],
)
def test_a_run_resumes_as_if_undisturbed(tmp_path: Path, choice: str) -> None:
    """Prompts, metrics and state, through the file that stands in verl's checkpoint, over the end of a pass."""
    whole, part = (trainer(tmp_path, choice, POOL) for _ in range(2))
    expected = steps(whole, range(1, 10))
    seen = steps(part, range(1, 5))
    torch.save(part._state(), tmp_path / "state.pt")
    resumed = trainer(tmp_path, choice, POOL)
    resumed._load_state(torch.load(tmp_path / "state.pt", weights_only=True), tmp_path)
    resumed.global_steps = 5
    assert seen + steps(resumed, range(5, 10)) == expected
    assert resumed.ledger.digest.state_dict() == whole.ledger.digest.state_dict()
    for uids, _, metrics in expected:
        assert len({uid.split("-")[0] for uid in uids}) == 16  # no prompt twice in a batch
        assert metrics["dataflex/prompts/drawn"] == 16.0


def test_a_column_inside_of_another_sorts_the_prompts(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=prompts/order", POOL)
    level_of = made.feed.source.table.columns["extra_info.difficulty"]
    rows = [row for _ in range(6) for row in _rows_of(made)]
    levels = [int(level_of[made.feed.source.table.prompt_R[row]]) for row in rows]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1]


def _rows_of(made: Any) -> list[int]:
    """Rows of the next step, which is then over."""
    uids, domains = drawn(made)
    rows = list(made.feed._row.values())
    made.feed.observe(made.global_steps, made.policy.apply(answered(uids, domains, REWARD), step=made.global_steps))
    made.global_steps += 1
    return rows


def test_quotas_of_a_mixer_hold_under_a_selector(tmp_path: Path) -> None:
    shares = "dataflex.mixer.params.proportions={math: 0.5, logic: 0.25, science: 0.25}"
    made = trainer(tmp_path, "method=static", "prompts=learnability", shares, "dataflex.mixer.oversample=1.25")
    for _ in range(3):
        uids, domains, metrics = stepped(made, REWARD)
        assert Counter(domains) == {"math": 10, "logic": 5, "science": 5}  # 20 are generated, 16 consumed
        assert made.feed.ask_D == [4, 8, 4]
        assert metrics["dataflex/share_target/math"] == 0.5
        assert metrics["dataflex/prompts/drawn"] == len(uids) == 20
    assert not made.feed.source._busy_P.any()


def test_surplus_prompts_may_be_drawn_again(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=static", "prompts=none", "prompts=learnability", "dataflex.mixer.oversample=1.25")
    uids, domains = drawn(made)
    assert made.feed.source._busy_P.sum() == 20
    picked = made.feed.choose(uids, [], 16)
    consumed = answered(picked, [domains[uids.index(uid)] for uid in picked], REWARD)
    made.feed.observe(1, made.policy.apply(consumed, step=1))
    assert not made.feed.source._busy_P.any()
    assert (made.feed.source.stats.visits_P > 0).sum() == 16


def test_solved_prompts_stay_out_though_whole_domains_are_solved(tmp_path: Path) -> None:
    made = trainer(tmp_path, "prompts=no_resample", "dataflex.prompts.params.reserve=1", POOL)
    solved: set[str] = set()
    for _ in range(9):  # math and science are solved in the first pass, logic never
        uids, domains, metrics = stepped(made, REWARD)
        keys = [uid.split("-")[0] for uid in uids]
        assert not solved & set(keys)
        assert metrics["dataflex/prompts/fallback"] == 0.0
        solved |= {key for key, domain in zip(keys, domains, strict=True) if REWARD[domain] > 0.5}
    assert len(solved) > 48
    assert metrics["dataflex/prompts/skipped/solved"] > 0


def test_outcomes_are_taken_before_the_policy(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=difffilter", "prompts=beta_thompson", POOL)
    uids, domains = drawn(made)
    decision = made.policy.apply(answered(uids, domains, dict.fromkeys(REWARD, 3.0)), step=1)
    assert decision.keep_B is not None
    assert not decision.keep_B.any()  # every response is solved: difffilter drops them all
    made.feed.observe(1, decision)
    assert made.feed.source.stats.tries_P.sum() == made.feed.source.stats.solved_P.sum() == 32


# ---------------------------------------------------------------- outcomes


def test_theraw_outcome_is_the_verifiers_or_the_reward() -> None:
    reward = torch.nested.nested_tensor_from_jagged(torch.tensor([0.25, 0.5, 0.0]), torch.tensor([0, 2, 3]))
    offset_B1 = torch.tensor([0, 2, 3])
    assert raw_outcome([{}, {"acc": True}], reward, offset_B1).tolist() == [0.75, 1.0]


def graded(raw: list[float] | None) -> Batch:
    """Two groups of two one-token responses and a row of padding, rewarded 2, -1, -1, -1."""
    return Batch(
        offset_B1=torch.arange(6), response_mask_N=torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0]),
        uid=["a-0", "a-0", "b-0", "b-0", "b-0"], prompt_key=list("aabbb"), rollout_index_B=torch.arange(5),
        is_padding_B=torch.arange(5) == 4, reward_B=torch.tensor([2.0, -1.0, -1.0, -1.0, float("nan")]),
        raw_outcome_B=None if raw is None else torch.tensor(raw), domain=["d"] * 5,
    )  # fmt: skip


def test_outcomes_count_all_but_padding() -> None:
    rows = {"a-0": 7, "b-0": 3}
    by_reward = outcomes_of(graded(None), rows, 2)
    assert (by_reward.row_G.tolist(), by_reward.tries_G.tolist()) == ([3, 7], [2, 2])
    assert (by_reward.solved_G.tolist(), by_reward.reward_G.tolist()) == ([0, 1], [-1.0, 0.5])
    by_verifier = outcomes_of(graded([0.0, 1.0, 1.0, 1.0, 9.0]), rows, 2)
    assert (by_verifier.solved_G.tolist(), by_verifier.reward_G.tolist()) == ([2, 1], [-1.0, 0.5])
    with pytest.raises(SignalError, match=r"the raw outcome of a response has a NaN or Inf at step 2, uid 'b-0'"):
        outcomes_of(graded([0.0, 1.0, float("nan"), 1.0, 0.0]), rows, 2)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ("prompts=order", "dataflex.shadow=true"),
            "dataflex.shadow=true acts as uniform, but prompt selector 'order'",
        ),
        (
            ("prompts=order", "trainer.v1.trainer_mode=sync"),
            "prompt selector 'order' needs trainer.v1.trainer_mode=dataflex_sync, got sync, which would ignore it",
        ),
        (("prompts=order", "trainer.v1.trainer_mode=dataflex_mix_sync"), "dataflex_mix_sync needs a mixer"),
        (("prompts=learnability", "dataflex.prompts.params.tau=0"), "tau"),
        (("prompts.name=order",), "prompts.name"),
    ],
)
def test_refused_before_anything_starts(tmp_path: Path, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(Exception, match=message):
        resolved(tmp_path, *overrides)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("level", r"no column 'level' \(prompt selector 'curriculum'\); it has: .*extra_info"),
        ("extra_info.level", r"no column 'extra_info.level' \(prompt selector 'curriculum'\)"),
        ("data_source", "needs numbers in the column 'data_source', but it has"),
    ],
)
def test_a_column_is_checked_before_anything_starts(tmp_path: Path, column: str, message: str) -> None:
    trainer(tmp_path)  # builds the data, which are then read
    with pytest.raises(ConfigError, match=message):
        resolved(tmp_path, "prompts=curriculum", f"dataflex.prompts.params.column={column}")


def test_quotas_that_cannot_be_met_are_refused_before_anything_starts(tmp_path: Path) -> None:
    trainer(tmp_path)  # builds the data: 800 prompts of each domain
    shares = "dataflex.mixer.params.proportions={math: 0.9, logic: 0.05, science: 0.05}"
    choice = ("method=static", "prompts=learnability", shares)
    message = r"domain 'math' has 800 distinct prompts, but its share 0\.9 of a batch of 1200 asks for 1080; lower"
    with pytest.raises(ConfigError, match=message):
        resolved(tmp_path, *choice, "data.train_batch_size=1200")
    resolved(tmp_path, *choice, "data.train_batch_size=600")
    with pytest.raises(ConfigError, match=message):  # data that were built just now
        check_built(plain(resolved(tmp_path, *choice)) | {"data": _batch(tmp_path, 1200)})


def _batch(tmp_path: Path, size: int) -> dict[str, Any]:
    data: dict[str, Any] = plain(resolved(tmp_path))["data"]
    return {**data, "train_batch_size": size}


def test_what_the_trainer_itself_refuses(tmp_path: Path) -> None:
    config = resolved(tmp_path, "prompts=order")
    OmegaConf.update(config, "trainer.v1.sync.parameter_sync_step", 2, force_add=True)
    with pytest.raises(ConfigError, match=r"parameter_sync_step=2 cuts a batch in parts, .* prompt selector 'order'"):
        DataflexSyncTrainer(config)
    config = resolved(tmp_path, "prompts=order")
    config.data.seed = None
    with pytest.raises(ConfigError, match=r"prompt selector 'order' needs data\.seed"):
        DataflexSyncTrainer(config)


def test_a_pool_smaller_than_a_batch_and_one_that_is_a_batch(tmp_path: Path) -> None:
    small = ("prompts=greso_skip", "data.train_max_samples=16")
    made = trainer(tmp_path, *small)
    keys = [{uid.split("-")[0] for uid in stepped(made, REWARD)[0]} for _ in range(4)]
    assert all(one == other and len(one) == 16 for one, other in itertools.pairwise(keys))
    with pytest.raises(ConfigError, match=r"12 used, .* too few for a batch of data\.train_batch_size=16"):
        trainer(tmp_path, "prompts=greso_skip", "data.train_max_samples=12")


def test_checkpoints_of_other_feeds_are_refused(tmp_path: Path) -> None:
    plain, mixed = trainer(tmp_path, POOL), trainer(tmp_path, "method=static", POOL)
    chosen = trainer(tmp_path, "prompts=learnability", POOL)
    with pytest.raises(ConfigError, match="is of a run with prompt selector 'learnability', but this run has none"):
        plain._load_state(chosen._state(), tmp_path)
    with pytest.raises(ConfigError, match="is of a run with prompt selector 'learnability', but this run has none"):
        mixed._load_state(chosen._state(), tmp_path)
    with pytest.raises(ConfigError, match="is of a run with mixer 'static', but this run has none"):
        chosen._load_state(mixed._state(), tmp_path)
    with pytest.raises(ConfigError, match="has no prompt selector state: it is of a run without a prompt selector"):
        chosen._load_state(plain._state(), tmp_path)
    fewer = trainer(tmp_path, "prompts=learnability", "data.train_max_samples=80")
    with pytest.raises(ConfigError, match="statistics are of other prompts or buckets"):
        fewer._load_state(chosen._state(), tmp_path)
    assert isinstance(fewer.feed, RowFeed)
    assert Policy.from_config({}).kind == "uniform"
