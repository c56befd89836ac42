"""What each mixer does to the prompts that the trainer draws, when the rewards of the domains are made to differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dataflex_rl.plugin  # noqa: F401 (verl must have loaded it before our host modules are imported one by one)
from dataflex_rl.host.mix_replay import MixReplayBuffer
from tests.host.mix.composed import drawn, stepped, trainer

SMALL = ("data.train_batch_size=2", "actor_rollout_ref.actor.ppo_mini_batch_size=2")


def prompts(made: Any, rewards: list[dict[str, float]]) -> list[Counter[str]]:
    """Prompts per domain of each step."""
    return [Counter(stepped(made, reward)[1]) for reward in rewards]


def test_reward_gap_draws_from_the_weaker_domain(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=reward_gap", "dataflex.mixer.params.temperature=0.2")
    counts = prompts(made, [{"math": 0.9, "logic": 0.1, "science": 0.9}] * 5)
    assert sorted(counts[0].values()) == [5, 5, 6]
    # gap 0.8 at temperature 0.2: exp(4) = 54.6 of 56.6 -> floors 0.05 and 0.9; 16 x 0.9 = 14.4
    assert all(step["logic"] in (14, 15) for step in counts[1:])
    assert sum(step["math"] + step["science"] for step in counts[1:]) == 7  # 4 x 16 x 0.1, and 2/3 carried


def test_dump_ucb_draws_a_domain_never_seen(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=dump_ucb", *SMALL)
    counts = prompts(made, [{"math": 0.2, "logic": 0.2, "science": 0.2}] * 2)
    assert counts[0] == {"logic": 1, "math": 1}  # two prompts for three domains
    # n = 2, 2, 0 responses, N = 4: 0.2 + sqrt(2 ln 5 / 3) = 1.236 twice, and sqrt(2 ln 5) = 1.794
    target = made.feed.source.quotas.share_D
    assert target[2] == pytest.approx(0.4664, abs=1e-4)  # e^1.794 / (2 e^1.236 + e^1.794) = 6.014 / 12.897
    assert counts[1]["science"] == 1


def test_tscl_draws_from_the_domain_whose_reward_moves(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=tscl", "dataflex.mixer.window=5")
    moving = [{"math": 0.9, "logic": 0.1, "science": 0.2 * step} for step in range(5)]
    counts = prompts(made, [*moving, moving[-1]])
    # science: slope 0.2 x (5 - 1) = 0.8; e^0.8 = 2.226 of 4.226
    assert made.feed.source.quotas.share_D == pytest.approx([0.2367, 0.2367, 0.5267], abs=1e-4)
    assert counts[-1]["science"] in (8, 9)


def test_static_keeps_its_shares(tmp_path: Path) -> None:
    given = "dataflex.mixer.params.proportions={math: 0.5, logic: 0.3, science: 0.2}"
    made = trainer(tmp_path, "method=static", given)
    expected, total = {"math": 8.0, "logic": 4.8, "science": 3.2}, Counter[str]()
    for step in range(1, 16):
        count = Counter(stepped(made, {"math": 0.0, "logic": 1.0, "science": 0.1 * step})[1])
        total += count
        for name, prompts_of in expected.items():
            assert abs(count[name] - prompts_of) <= 1
            assert abs(total[name] - prompts_of * step) < 1
    assert total == {"math": 120, "logic": 72, "science": 48}  # 15 x 16 prompts


def test_a_scorers_mean_takes_the_statistics_place(tmp_path: Path) -> None:
    scorer = "dataflex.mixer.scorer={name: group_solve, params: {success_threshold: 0.8}}"
    made = trainer(tmp_path, "method=reward_gap", scorer)
    _, _, metrics = stepped(made, {"math": 0.9, "logic": 0.7, "science": 0.1})
    assert [metrics[f"dataflex/mixer_statistic/{name}"] for name in ("logic", "math", "science")] == [0.0, 1.0, 0.0]


def test_the_buffer_waits_until_nothing_is_in_flight(tmp_path: Path) -> None:
    made = trainer(tmp_path, "method=static", "dataflex.mixer.oversample=1.25")
    uids, _ = drawn(made)
    buffer = made.replay_buffer
    assert isinstance(buffer, MixReplayBuffer)
    no_eviction = buffer._terminal_eviction_reasons(1, "train")
    for partition in ("train", "val"):
        buffer.finished_keys[partition] = set(uids[:18])
        buffer.running_keys[partition] = set(uids[18:])
    assert buffer._sampleable_terminal_keys("train", no_eviction) == set()
    assert buffer._sampleable_terminal_keys("val", no_eviction) == set(uids[:18])
    buffer.running_keys["train"].clear()
    assert buffer._sampleable_terminal_keys("train", no_eviction) == set(uids[:18])
