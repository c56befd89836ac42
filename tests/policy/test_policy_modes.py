"""Empty batches, warm-up, shadow mode, chains, the trace, saved state, and a notice that is given once."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import torch

from dataflex_rl import apply_policy
from dataflex_rl.components.batch import Batch
from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import HostFacts, Policy
from dataflex_rl.policy.signals import to_batch

SOLVE = {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}
PER = {"scorer": {"name": "advantage_magnitude"}, "actuator": {"name": "per", "params": {"alpha": 1.0}}}
# groups a (2 of 4 solved), b (none of 2), c (both of 2)
DATA = {
    "uid": list("aaaabbcc"),
    "reward": [1, 1, 0, 0, 0, 0, 1, 1],
    "domain": ["math"] * 4 + ["logic"] * 4,
    "advantages": [[1.0], [1.0], [3.0], [3.0], [9.0], [9.0], [9.0], [9.0]],
}


def batch(data: dict[str, Any] | None = None) -> Batch:
    return to_batch(data or DATA, frozenset(), False)


def on_empty(how: str) -> dict[str, Any]:
    return {**SOLVE, "actuator": {"name": "difffilter", "params": {"low": 0.6, "high": 0.7}, "on_empty": how}}


@pytest.mark.parametrize(
    ("how", "weight", "skips"), [("zero", 0.0, False), ("skip_update", 0.0, True), ("keep_all", 1.0, False)]
)
def test_nothing_kept(how: str, weight: float, skips: bool) -> None:
    policy = Policy.from_config(on_empty(how))
    for steps in (1, 2):
        decision = policy.apply(batch(), step=steps)
        assert decision.weight_N.tolist() == [weight] * 8
        assert decision.skip_update is skips
        assert decision.metrics["dataflex/empty_step"] == 1.0
        assert decision.metrics["dataflex/empty_steps"] == steps
        assert decision.metrics["dataflex/kept_frac"] == weight
        assert ("dataflex/reward_effective" in decision.metrics) is (how == "keep_all")


def test_a_batch_with_something_kept_is_not_empty() -> None:
    metrics = apply_policy(SOLVE, DATA).metrics
    assert (metrics["dataflex/empty_step"], metrics["dataflex/empty_steps"]) == (0.0, 0.0)


def test_warmup_acts_as_uniform_up_to_its_step() -> None:
    policy = Policy.from_config({**SOLVE, "warmup_step": 2})
    uniform = Policy.from_config({}).apply(batch(), step=1)
    for step in (1, 2):
        decision = policy.apply(batch(), step=step)
        assert torch.equal(decision.weight_N, uniform.weight_N)
        assert decision.keep_B is None
        assert decision.metrics["dataflex/acting"] == 0.0
    decision = policy.apply(batch(), step=3)
    assert decision.weight_N.tolist() == [1.0] * 4 + [0.0] * 4
    assert decision.metrics["dataflex/acting"] == 1.0


@pytest.mark.parametrize("block", [SOLVE, PER, on_empty("skip_update")])
def test_shadow_logs_the_decision_and_acts_as_uniform(block: dict[str, Any]) -> None:
    uniform = Policy.from_config({}).apply(batch(), step=1)
    acting = Policy.from_config(block).apply(batch(), step=1)
    shadow = Policy.from_config({**block, "shadow": True}).apply(batch(), step=1)
    assert torch.equal(shadow.weight_N, uniform.weight_N)
    assert (shadow.keep_B, shadow.skip_update) == (None, False)
    for key, value in uniform.metrics.items():
        assert shadow.metrics[key] == (0.0 if key == "dataflex/acting" else value)
    for key in ("kept_frac", "kept_frac/math", "weight_std", "tokens_trained", "empty_step"):
        assert shadow.metrics[f"dataflex/shadow/{key}"] == acting.metrics[f"dataflex/{key}"]


def test_chain_multiplies_and_later_links_see_what_is_left() -> None:
    # difffilter keeps a; per with alpha 1 over abs(A) = 1, 1, 3, 3: mean 2, weights .5, .5, 1.5, 1.5
    result = apply_policy({"chain": [SOLVE, PER]}, DATA)
    assert torch.cat(result.weights).tolist() == pytest.approx([0.5, 0.5, 1.5, 1.5, 0, 0, 0, 0], abs=1e-6)
    assert result.keep == [True] * 4 + [False] * 4
    metrics = result.metrics
    assert metrics["dataflex/link0_difffilter/kept_frac"] == 0.5
    assert metrics["dataflex/link0_difffilter/dropped/too_hard"] == 2.0
    assert metrics["dataflex/link0_difffilter/dropped/too_easy"] == 2.0
    assert metrics["dataflex/link1_per/kept_frac"] == 1.0
    assert metrics["dataflex/link1_per/weight_mean"] == pytest.approx(1.0)
    assert metrics["dataflex/link1_per/weight_max"] == pytest.approx(1.5)


def test_chain_of_selectors_counts_in_what_is_left() -> None:
    # difffilter leaves the 4 of a; topk keeps round(.5 * 4) = 2 of these, the largest advantages
    topk = {"scorer": {"name": "advantage_magnitude"}, "actuator": {"name": "topk", "normalize": "kept"}}
    result = apply_policy({"chain": [SOLVE, topk]}, DATA)
    assert result.keep == [False, False, True, True, False, False, False, False]
    # kept: of the 4 that reached it, 2 stay, so they count double
    assert torch.cat(result.weights).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


def test_chain_with_token_weights() -> None:
    data = {**DATA, "old_log_probs": [[0.0], [-1e9], [0.0], [0.0], [0.0], [0.0], [0.0], [0.0]]}
    ar = {"scorer": {"name": "token_prob"}, "actuator": {"name": "ar"}}
    # over a: probabilities 1, 0, 1, 1 -> raw 1, .5, 1, 1, mean .875
    result = apply_policy({"chain": [SOLVE, ar]}, data)
    expected = [1 / 0.875, 0.5 / 0.875, 1 / 0.875, 1 / 0.875, 0, 0, 0, 0]
    assert torch.cat(result.weights).tolist() == pytest.approx(expected, abs=1e-6)


def test_a_chain_stops_where_nothing_is_left() -> None:
    result = apply_policy({"chain": [on_empty("skip_update"), PER]}, DATA)
    assert not torch.cat(result.weights).any()
    assert result.skip_update
    assert "dataflex/link1_per/kept_frac" not in result.metrics


def test_trace_has_one_json_row_per_response() -> None:
    rows = apply_policy({**SOLVE, "trace": True}, DATA).trace
    assert len(rows) == 8
    assert json.loads(json.dumps(rows[4])) == {
        "step": 1, "prompt_key": "b", "uid": "b", "rollout_index": 4, "domain": "logic", "reward": 0.0, "score": 0.0,
        "weight": 0.0, "kept": False, "reason": "too_hard", "acted": True,
    }  # fmt: skip
    assert [row["reason"] for row in rows] == [""] * 4 + ["too_hard"] * 2 + ["too_easy"] * 2
    assert apply_policy(SOLVE, DATA).trace == ()
    shadow = apply_policy({**SOLVE, "trace": True, "shadow": True}, DATA).trace
    assert [(row["kept"], row["acted"]) for row in shadow] == [(True, False)] * 4 + [(False, False)] * 4


def test_notice_of_a_step_that_equals_uniform_is_given_once(caplog: pytest.LogCaptureFixture) -> None:
    policy = Policy.from_config({"scorer": {"name": "reward"}, "actuator": {"name": "diffband"}})
    with caplog.at_level(logging.WARNING, logger="dataflex_rl"):
        for step in (1, 2, 3):
            policy.apply(batch(), step=step)  # accuracy .5: every response is in the band
    assert len(caplog.records) == 1
    assert "every response lies in diffband's quantile range" in caplog.text
    caplog.clear()
    spread = {**DATA, "reward": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}
    Policy.from_config({"scorer": {"name": "reward"}, "actuator": {"name": "diffband"}}).apply(batch(spread), step=1)
    assert not caplog.records


@pytest.mark.parametrize(
    ("mode", "weight"),
    # a is 4 of 8 responses and 4 of 10 tokens, b and c the rest; a token sum has no denominator
    [("token-mean", 10 / 4), ("seq-mean-token-mean", 8 / 4), ("seq-mean-token-sum", 8 / 4), ("token-sum", 1.0)],
)
def test_kept_takes_the_share_that_the_loss_averages_over(mode: str, weight: float) -> None:
    data = {**DATA, "response_mask": [[1]] * 4 + [[1, 1], [1, 1], [1], [1]]}
    data["advantages"] = [[1.0] * len(row) for row in data["response_mask"]]
    policy = Policy.from_config({**SOLVE, "actuator": {"name": "difffilter", "normalize": "kept"}})
    fields = frozenset({"rm_scores", "response_mask", "uid"})
    policy.check(HostFacts(adv_estimator="grpo", rollout_n=4, fields=fields, loss_agg_mode=mode))
    assert policy.apply(batch(data), step=1).weight_N.tolist() == pytest.approx([weight] * 4 + [0.0] * 6)


def test_state_round_trip_and_another_policys_state() -> None:
    policy = Policy.from_config(on_empty("zero"))
    policy.apply(batch(), step=1)
    state = json.loads(json.dumps(policy.state_dict()))
    assert state == {"policy": "difffilter", "empty_steps": 1, "links": [{"scorer": None, "actuator": None}]}
    fresh = Policy.from_config(on_empty("zero"))
    fresh.load_state_dict(state)
    assert fresh.apply(batch(), step=2).metrics["dataflex/empty_steps"] == 2.0
    with pytest.raises(ConfigError, match="the saved state is of policy 'difffilter', but this run has 'per'"):
        Policy.from_config(PER).load_state_dict(state)
