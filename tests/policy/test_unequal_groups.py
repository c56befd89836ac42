"""Groups of unequal size: advantages, scorers, actuators, metrics and outcomes, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dataflex_rl.components.batch import Batch
from dataflex_rl.feed.measure import outcomes_of
from dataflex_rl.policy import Policy

# a: 2 responses, 1 solved; b: 5, 1 solved; c: 3, all solved; each of two tokens
REWARD = [1, 0, 0, 0, 1, 0, 0, 1, 1, 1]
UID = list("aabbbbbccc")


def batch(**fields: object) -> Batch:
    return Batch(
        offset_B1=torch.arange(0, 21, 2), response_mask_N=torch.ones(20), uid=[f"{name}-0" for name in UID],
        prompt_key=UID, rollout_index_B=torch.tensor([0, 1, 0, 1, 2, 3, 4, 0, 1, 2]),
        is_padding_B=torch.zeros(10, dtype=torch.bool), reward_B=torch.tensor(REWARD, dtype=torch.float32), **fields,
    )  # fmt: skip


def test_verls_baseline_is_each_groups_own() -> None:
    """GRPO: (r - mean) / (sd + 1e-6) with divisor n - 1: of a mean 1/2, sd .70710678; of b mean 1/5, sd .4472136."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    reward = torch.zeros(10, 2)
    reward[:, 1] = torch.tensor(REWARD, dtype=torch.float32)
    found, _ = compute_grpo_outcome_advantage(reward, torch.ones(10, 2), np.array(UID, dtype=object))
    a, b = 0.5 / (math.sqrt(0.5) + 1e-6), math.sqrt(0.2) + 1e-6
    expected = [a, -a, -0.2 / b, -0.2 / b, 0.8 / b, -0.2 / b, -0.2 / b, 0, 0, 0]
    assert found[:, 0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("method", "kept"),
    [
        ({"scorer": "group_solve", "actuator": "difffilter"}, "aa"),  # rates 1/2, 1/5 (on the bound: out), 1
        # round(n / 2), half to even: 1 of 2, 2 of 5, 2 of 3; the largest variance of two of b is one of each
        ({"scorer": "reward", "actuator": "maxvar"}, "abbcc"),
        ({"scorer": "reward", "actuator": "gfpo"}, "aabbbccc"),  # the best min(3, n)
    ],
)
def test_selectors_take_each_group_by_its_own_size(method: dict[str, str], kept: str) -> None:
    block = {part: {"name": name} for part, name in method.items()}
    decision = Policy.from_config(block).apply(batch(), step=1)
    assert decision.keep_B is not None
    assert "".join(uid for uid, keep in zip(UID, decision.keep_B.tolist(), strict=True) if keep) == kept


def test_metrics_count_groups_as_groups_and_responses_as_responses() -> None:
    metrics = Policy.from_config({}).apply(batch(), step=1).metrics
    assert metrics["dataflex/groups"] == 3
    assert metrics["dataflex/groups_mixed"] == pytest.approx(2 / 3)
    assert metrics["dataflex/groups_all_solved"] == metrics["dataflex/groups_constant"] == pytest.approx(1 / 3)
    assert metrics["dataflex/reward_all"] == pytest.approx(5 / 10)  # over responses, not over groups (17 / 30)
    assert metrics["dataflex/tokens_generated"] == 20


def test_statistics_count_what_each_prompt_really_had() -> None:
    found = outcomes_of(batch(), {"a-0": 4, "b-0": 2, "c-0": 9}, 1)
    assert found.row_G.tolist() == [2, 4, 9]
    assert (found.tries_G.tolist(), found.solved_G.tolist()) == ([5, 2, 3], [1, 1, 3])
    assert found.reward_G.tolist() == pytest.approx([0.2, 0.5, 1.0])
