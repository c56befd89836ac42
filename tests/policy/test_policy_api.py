"""apply_policy: what it accepts, what it refuses, what it gives back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dataflex_rl
from dataflex_rl import apply_policy
from dataflex_rl.components.batch import SignalError
from dataflex_rl.errors import ConfigError

DIFF = {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}
AR = {"scorer": {"name": "token_prob"}, "actuator": {"name": "ar"}}
PER = {"scorer": {"name": "advantage_magnitude"}, "actuator": {"name": "per"}}
GFPO = {"scorer": {"name": "reward"}, "actuator": {"name": "gfpo"}}
TWO = {"uid": ["a", "a"], "reward": [0.0, 1.0]}


def test_the_result_has_what_it_promises() -> None:
    result = apply_policy(AR, {**TWO, "old_log_probs": [[-1.0, -2.0], [-0.5]]})
    assert isinstance(result, dataflex_rl.PolicyResult)
    assert [tuple(row.shape) for row in result.weights] == [(2,), (1,)]
    assert [row.dtype for row in result.weights] == [torch.float32] * 2
    assert [row.tolist() for row in result.scores] == [
        pytest.approx([0.367879, 0.135335], abs=1e-6),
        pytest.approx([0.606531], abs=1e-6),
    ]
    assert result.keep is None
    assert all(isinstance(value, float) for value in result.metrics.values())
    kept = apply_policy(DIFF, TWO)
    assert kept.keep == [True, True]
    assert kept.scores.tolist() == [0.5, 0.5]


def test_arrays_and_tensors_are_as_good_as_lists() -> None:
    lists = {**TWO, "advantages": [[1.0, 2.0], [-3.0]], "response_mask": [[1, 0], [1]], "acc": [False, True]}
    arrays = {
        "uid": np.array(["a", "a"]),
        "reward": np.array([0, 1]),
        "advantages": [np.array([1.0, 2.0]), torch.tensor([-3.0], requires_grad=True)],
        "response_mask": [torch.tensor([True, False]), np.array([1])],
        "acc": torch.tensor([0, 1]),
    }
    left, right = apply_policy(PER, lists), apply_policy(PER, arrays)
    assert [row.tolist() for row in left.weights] == [row.tolist() for row in right.weights]
    assert left.metrics == right.metrics


def test_method_with_overrides() -> None:
    data = {"uid": ["a"] * 4, "reward": [1, 0, 0, 0]}
    assert apply_policy({"method": "difffilter"}, data).keep == [True] * 4
    assert apply_policy({"method": "difffilter", "actuator": {"params": {"low": 0.3}}}, data).keep == [False] * 4


def test_response_id_decides_ties_else_the_position() -> None:
    data = {"uid": ["a"] * 4, "reward": [1.0] * 4}
    maxvar = {"method": "maxvar"}
    assert apply_policy(maxvar, data).keep == [True, True, False, False]
    assert apply_policy(maxvar, {**data, "response_id": [9, 8, 10, 1]}).keep == [False, True, False, True]
    assert apply_policy(maxvar, {**data, "response_id": ["9", "8", "10", "1"]}).keep == [False, False, True, True]


def test_without_response_id_the_position_decides_ties_across_groups_too() -> None:
    """Not the spelling of the uid: "p10" sorts before "p9"."""
    data = {"uid": ["p9", "p10", "p9", "p10"], "reward": [1.0] * 4, "advantages": [[1.0]] * 4}
    assert apply_policy({"method": "topk"}, data).keep == [True, True, False, False]


@pytest.mark.parametrize("ids", [np.array([9, 8, 10, 1]), torch.tensor([9, 8, 10, 1]), np.array(["d", "c", "e", "a"])])
def test_response_ids_may_be_arrays_and_tensors(ids: Any) -> None:
    data = {"uid": ["a"] * 4, "reward": [1.0] * 4, "response_id": ids}
    assert apply_policy({"method": "maxvar"}, data).keep == [False, True, False, True]


@pytest.mark.parametrize("method", [["maxvar"], {"name": "maxvar"}, None, 3])
def test_a_method_that_is_no_name_is_refused(method: Any) -> None:
    with pytest.raises(ConfigError, match=r"unknown method .*; known: ar, diffband"):
        apply_policy({"method": method}, TWO)


def test_response_ids_may_count_inside_groups() -> None:
    data = {"uid": list("abab"), "reward": [1.0] * 4, "response_id": [1, 0, 0, 1]}
    assert apply_policy({"method": "maxvar"}, data).keep == [False, True, True, False]


def test_without_token_signals_a_response_is_one_token() -> None:
    assert [row.tolist() for row in apply_policy(DIFF, TWO).weights] == [[1.0], [1.0]]


def test_an_empty_response_has_no_weight() -> None:
    result = apply_policy(PER, {**TWO, "advantages": [[], [2.0]]})
    assert [row.tolist() for row in result.weights] == [[], [1.0]]
    assert result.metrics["dataflex/reward_all"] == 0.5


def test_all_responses_empty() -> None:
    for config in (DIFF, PER, GFPO, {"method": "uniform"}):
        result = apply_policy(config, {**TWO, "advantages": [[], []]})
        assert [row.tolist() for row in result.weights] == [[], []]
        assert result.metrics["dataflex/empty_step"] == 1.0


def test_warmup_step_looks_at_the_step() -> None:
    config = {**DIFF, "actuator": {"name": "difffilter", "params": {"low": 0.6}}, "warmup_step": 3}
    assert apply_policy(config, TWO, step=3).weights[0].tolist() == [1.0]
    assert apply_policy(config, TWO, step=4).weights[0].tolist() == [0.0]


@pytest.mark.parametrize(
    ("config", "signals", "message"),
    [
        (DIFF, [1, 2], "signals must be a mapping of names to columns, got list"),
        (DIFF, {**TWO, "rewards": [1]}, "unknown signal 'rewards'; known: uid, reward, response_id, advantages, "),
        (DIFF, {"reward": [1.0]}, "signals lacks 'uid', which this policy requires; given: reward"),
        (DIFF, {"uid": ["a"]}, "signals lacks 'reward', which this policy requires; given: uid"),
        (PER, TWO, "signals lacks 'advantages', which this policy requires; given: reward, uid"),
        (AR, {**TWO, "advantages": [[1.0], [1.0]]}, "signals lacks 'old_log_probs', which this policy requires"),
        (
            {"scorer": {"name": "reward", "params": {"signal": "acc"}}, "actuator": {"name": "maxvar"}},
            TWO,
            "signals lacks 'acc', which this policy requires",
        ),
        (GFPO, TWO, "this policy reads the length of each response; give one of response_mask, advantages, old_log_"),
        (DIFF, {"uid": ["a", "a"], "reward": [1.0]}, "reward has 1 entries, but uid has 2"),
        (DIFF, {**TWO, "domain": ["x"]}, "domain has 1 entries, but uid has 2"),
        (DIFF, {**TWO, "acc": 3}, "acc must be a sequence with one entry per response, got int"),
        (DIFF, {"uid": "aa", "reward": [1, 0]}, "uid must be a sequence with one entry per response, got str"),
        (DIFF, {"uid": [1, 1], "reward": [1, 0]}, "uid[0] must be a string, got 1"),
        (DIFF, {"uid": [], "reward": []}, "signals has no response: uid is empty"),
        (DIFF, {"uid": ["a"], "reward": ["good"]}, "reward must hold numbers only"),
        (DIFF, {"uid": ["a"], "reward": [None]}, "reward must hold numbers only"),
        (DIFF, {"uid": ["a"], "reward": [[1.0]]}, "reward must be one-dimensional, got shape (1, 1)"),
        (PER, {**TWO, "advantages": [[1.0]]}, "advantages has 1 entries, but uid has 2"),
        (PER, {**TWO, "advantages": [0.5, 0.5]}, "advantages[0] must be a sequence of one number per token, got 0.5"),
        (
            PER,
            {**TWO, "advantages": [[1.0], [1.0, 2.0]], "response_mask": [[1], [1]]},
            "advantages[1] has 2 tokens, but response_mask[1] has 1",
        ),
        (PER, {**TWO, "advantages": [[1.0], ["x"]]}, "advantages[1] must hold numbers only"),
        (DIFF, {**TWO, "response_mask": [[1], [2]]}, "response_mask must hold 0 and 1 only"),
        (DIFF, {**TWO, "response_id": [1, "b"]}, "response_id must be all strings or all integers"),
        (DIFF, {**TWO, "response_id": [1, 1]}, "response_id 1 stands twice in group 'a'; it must be unique there"),
        (DIFF, {"uid": ["a"], "reward": [float("nan")]}, "reward has a NaN or Inf at step 1, prompt 'a' (response 0"),
        (
            PER,
            {**TWO, "advantages": [[1.0], [float("inf")]]},
            "advantages has a NaN or Inf at step 1, prompt 'a' (respo",
        ),
        (AR, {**TWO, "old_log_probs": [[0.0], [float("nan")]]}, "old_log_probs has a NaN or Inf at step 1, prompt 'a'"),
    ],
)
def test_bad_signals(config: dict[str, Any], signals: Any, message: str) -> None:
    with pytest.raises(SignalError) as caught:
        apply_policy(config, signals)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"method": "maxva"}, "unknown method 'maxva'; known: ar, "),
        (
            {"mixer": {"name": "static"}},
            "mixer 'static' draws prompts and does nothing to a batch; set the mixer to none",
        ),
        ({"mechanism": "mix", "actuator": {"name": "tscl"}}, "mixer 'tscl' draws prompts and does nothing to a batch"),
        ("maxvar", "dataflex must be a mapping, got 'maxvar'"),
    ],
)
def test_bad_config(config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        apply_policy(config, TWO)
    assert message in str(caught.value)


def test_the_package_lists_its_public_names() -> None:
    assert dataflex_rl.apply_policy is apply_policy
    with pytest.raises(AttributeError, match="has no attribute 'apply_polcy'"):
        _ = dataflex_rl.apply_polcy
