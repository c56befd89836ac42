"""From batches to shares to prompts, step by step: statistics, metrics, warnings, state."""

from __future__ import annotations

import copy
import logging
import random
from typing import Any

import numpy as np
import pytest
import torch

from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig, parse_mixer
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap, resolve_domains
from dataflex_rl.feed.interface import Outcomes, Realised
from dataflex_rl.feed.measure import realised, tally_batch
from dataflex_rl.feed.mixer_feed import MixerFeed
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.policy.split import MIXER_DEFAULTS

NAMES = ("a", "b", "c")


def config(name: str = "reward_gap", **block: Any) -> MixerConfig:
    parsed = parse_mixer({**MIXER_DEFAULTS, "name": name, **block})
    assert parsed is not None
    return parsed


def made(parsed: MixerConfig, rows: int = 60) -> MixerFeed:
    streams = DomainStreams(
        lambda number: random.Random(number).sample(range(rows), rows), [row % 3 for row in range(rows)], NAMES
    )
    return MixerFeed(DomainMixer(parsed, NAMES), streams)


def batch(rewards: list[list[float]], domains: list[str], **fields: Any) -> Batch:
    """Two-token responses; the groups of `rewards`, each of one domain; the last row is padding of domain a."""
    flat = [value for group in rewards for value in group] + [9.0]
    uid = [f"u{g}" for g, group in enumerate(rewards) for _ in group] + ["u0"]
    size = len(flat)
    return Batch(
        offset_B1=torch.arange(0, 2 * size + 1, 2),
        response_mask_N=torch.tensor([1.0, 1.0] * (size - 1) + [0.0, 0.0]),
        uid=uid,
        prompt_key=uid,
        rollout_index_B=torch.arange(size),
        is_padding_B=torch.arange(size) == size - 1,
        reward_B=torch.tensor(flat),
        domain=[name for name, group in zip(domains, rewards, strict=True) for _ in group] + ["a"],
        **fields,
    )


def domain_map() -> DomainMap:
    return resolve_domains(None, NAMES)


# statistics ---------------------------------------------------------------------------------------------------------


def test_rewards_are_summed_over_real_responses() -> None:
    tally = tally_batch(config(), batch([[1.0, 0.0], [0.5, 0.5], [1.0]], ["a", "b", "a"]), domain_map(), 1)
    assert tally.sum_D.tolist() == [2.0, 1.0, 0.0]  # padding's 9 is not data
    assert tally.count_D.tolist() == tally.seen_D.tolist() == [3, 2, 0]


def test_advantages_count_by_their_size() -> None:
    advantage_N = torch.tensor([-1.0, -1.0, 2.0, 4.0, 0.5, 0.5, 7.0, 7.0])  # the last row is padding
    made = batch([[1.0, 0.0], [0.5]], ["a", "b"], advantage_N=advantage_N)
    tally = tally_batch(config("dump_ucb"), made, domain_map(), 1)
    assert tally.sum_D.tolist() == [1.0 + 3.0, 0.5, 0.0]  # means over tokens: 1, (2 + 4) / 2, 0.5
    assert tally.count_D.tolist() == [2, 1, 0]


def test_a_fully_masked_response_is_seen_but_has_no_advantage() -> None:
    made = batch([[1.0, 0.0]], ["b"], advantage_N=torch.ones(6))
    made.response_mask_N[:2] = 0
    tally = tally_batch(config("dump_ucb"), made, domain_map(), 1)
    assert (tally.count_D.tolist(), tally.seen_D.tolist()) == ([0, 1, 0], [0, 2, 0])


def test_scorers_of_prompts_and_tokens_are_averaged_per_response() -> None:
    solved = config(scorer={"name": "group_solve", "params": {}})
    assert solved.requires == {"rm_scores", "uid"}
    tally = tally_batch(solved, batch([[1.0, 0.0, 0.0], [1.0]], ["a", "b"]), domain_map(), 1)
    assert tally.sum_D.tolist() == pytest.approx([1.0, 1.0, 0.0])  # a: 3 responses of 1/3
    likely = config(scorer={"name": "token_prob", "params": {}})
    logs_N = torch.log(torch.tensor([0.5, 0.25, 1.0, 1.0, 0.1, 0.1]))
    tally = tally_batch(likely, batch([[1.0], [1.0]], ["a", "b"], old_log_prob_N=logs_N), domain_map(), 1)
    assert tally.sum_D.tolist() == pytest.approx([0.375, 1.0, 0.0])


def test_a_nan_names_field_step_and_prompt() -> None:
    with pytest.raises(SignalError, match="rm_scores has a NaN or Inf at step 4, prompt 'u1'"):
        tally_batch(config(), batch([[1.0], [float("nan")]], ["a", "b"]), domain_map(), 4)


def test_what_a_batch_consumed() -> None:
    made = batch([[1.0, 0.0], [0.5, 0.5], [1.0]], ["a", "b", "a"])
    trained_B = torch.tensor([2, 0, 2, 2, 0, 5])  # padding's 5 is not data
    consumed = realised(made, trained_B, domain_map(), [0, 0, 1])
    assert consumed.prompts_D == [2, 1, 0]
    assert consumed.responses_D == [3, 2, 0]
    assert consumed.trained_tokens_D == [2.0, 4.0, 0.0]


# steps --------------------------------------------------------------------------------------------------------------


def outcomes(step: int, tally: Tally, consumed: Realised) -> Outcomes:
    """What a mixer reads of a step; it asks for no groups."""
    none = np.zeros(0, np.int64)
    return Outcomes(
        step=step, row_G=none, tries_G=none, solved_G=none, reward_G=np.zeros(0), tally=tally, realised=consumed
    )


def step_of(feed: MixerFeed, step: int, rewards: list[float], size: int = 8) -> tuple[list[int], dict[str, float]]:
    """Draw, let every response of a domain earn the domain's reward, finish; returns (rows, metrics)."""
    draw = feed.draw(size)
    counts = [draw.domain_of.count(d) for d in range(3)]
    count_D = torch.tensor(counts)
    tally = Tally(sum_D=torch.tensor(rewards, dtype=torch.float64) * count_D, count_D=count_D, seen_D=count_D)
    consumed = Realised(prompts_D=counts, responses_D=counts, trained_tokens_D=counts, shortage_D=[0, 0, 0])
    return draw.rows, feed.observe(outcomes(step, tally, consumed))


def test_metrics_of_two_steps() -> None:
    feed = made(config(params={"temperature": 0.1}, window=1))
    _, first = step_of(feed, 1, [1.0, 0.5, 1.0], size=6)
    assert [first[f"dataflex/share_target/{name}"] for name in NAMES] == pytest.approx([1 / 3] * 3)
    assert [first[f"dataflex/share_realised/{name}"] for name in NAMES] == pytest.approx([1 / 3] * 3)
    assert [first[f"dataflex/mixer_statistic/{name}"] for name in NAMES] == [1.0, 0.5, 1.0]
    _, second = step_of(feed, 2, [1.0, 0.5, 1.0], size=20)
    # gaps 0, 0.5, 0 at temperature 0.1: exp(5) = 148 of 150 -> floors 0.05 and 0.9
    assert [second[f"dataflex/share_target/{name}"] for name in NAMES] == pytest.approx([0.05, 0.9, 0.05])
    assert [second[f"dataflex/share_realised/{name}"] for name in NAMES] == pytest.approx([0.05, 0.9, 0.05])
    assert second["dataflex/recycled/b"] == 0.0
    assert {key.split("/")[1] for key in second} == {
        "share_target", "share_realised", "share_responses", "share_trained_tokens", "mixer_statistic", "shortage",
        "recycled",
    }  # fmt: skip


def test_an_exhausted_domain_is_recycled_and_counted() -> None:
    feed = made(config("static", params={"proportions": {"a": 0.0, "b": 1.0, "c": 0.0}}), rows=9)
    counted = [step_of(feed, step, [1.0] * 3, size=2)[1]["dataflex/recycled/b"] for step in (1, 2, 3)]
    assert counted == [0.0, 1.0, 2.0]  # b has 3 rows: the 4th draw is the first again


def test_surplus_is_drawn_at_the_shares_too() -> None:
    feed = made(config("static"))
    draw = feed.draw(6, surplus=3)
    assert draw.quota_D == [2, 2, 2]
    assert [draw.domain_of.count(d) for d in range(3)] == [3, 3, 3]


def test_a_step_without_trained_tokens_has_no_share_of_them() -> None:
    feed = made(config("static"))
    feed.draw(3)
    none = torch.zeros(3, dtype=torch.int64)
    consumed = Realised(prompts_D=[1, 1, 1], responses_D=[5, 5, 5], trained_tokens_D=[0, 0, 0], shortage_D=[0, 0, 0])
    metrics = feed.observe(outcomes(1, Tally(sum_D=none.double(), count_D=none, seen_D=none), consumed))
    assert not [key for key in metrics if "trained" in key]


def test_a_starved_domain_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    feed = made(config("static"))
    none = torch.zeros(3, dtype=torch.int64)
    tally = Tally(sum_D=none.double(), count_D=none, seen_D=none)
    with caplog.at_level(logging.WARNING, logger="dataflex_rl"):
        for step in range(1, 15):
            feed.draw(6)
            consumed = Realised(prompts_D=[0, 3, 3], responses_D=[0, 3, 3], trained_tokens_D=[], shortage_D=[2, 0, 0])
            assert feed.observe(outcomes(step, tally, consumed))["dataflex/shortage/a"] == 2.0
            assert len(caplog.records) == (step >= 10)
    assert "domain 'a' is starved: for 10 steps up to step 10" in caplog.text


# state --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["static", "reward_gap", "dump_ucb", "tscl"])
@pytest.mark.parametrize("stop", [1, 5, 11])
def test_resumed_equals_uninterrupted(name: str, stop: int) -> None:
    """Rows, shares and metrics, over pass boundaries (20 rows a domain and pass, 8 prompts a step)."""
    parsed = config(name, window=4, warmup_step=2, update_step=2)
    rng = random.Random(stop)
    rewards = [[rng.random() for _ in NAMES] for _ in range(14)]
    whole, part = made(parsed), made(parsed)
    expected = [step_of(whole, step + 1, rewards[step]) for step in range(14)]
    seen = [step_of(part, step + 1, rewards[step]) for step in range(stop)]
    resumed = made(parsed)
    resumed.load_state_dict(copy.deepcopy(part.state_dict()))
    seen += [step_of(resumed, step + 1, rewards[step]) for step in range(stop, 14)]
    assert seen == expected
    assert resumed.state_dict() == whole.state_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mixer": "tscl"}, "has mixer 'tscl', but this run has 'reward_gap'"),
        ({"domains": ["a", "b"]}, r"has domains \['a', 'b'\], but this run has \['a', 'b', 'c'\]"),
        ({"statistic": "group_solve"}, "has statistic 'group_solve', but this run has 'reward'"),
        ({"window_steps": 7}, r"has window \[steps\] 7, but this run has 50"),
        ({"component": {"x": 1}}, "does not fit its component"),
    ],
)
def test_another_runs_state_is_refused(change: dict[str, Any], message: str) -> None:
    feed = made(config())
    with pytest.raises(ConfigError, match=message):
        feed.load_state_dict({**feed.state_dict(), **change})


def test_a_state_that_lacks_a_part_is_refused() -> None:
    feed = made(config())
    state = feed.state_dict()
    del state["streams"]
    with pytest.raises(ConfigError, match="the saved state of mixer 'reward_gap' lacks streams"):
        feed.load_state_dict(state)
