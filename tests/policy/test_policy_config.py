"""Every refusal of a configuration block, message checked."""

from __future__ import annotations

from typing import Any

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import Policy

SOLVE = {"scorer": {"name": "group_solve"}}
DIFF = {"actuator": {"name": "difffilter"}}


def chosen(scorer: str, actuator: str, **more: Any) -> dict[str, Any]:
    return {"scorer": {"name": scorer}, "actuator": {"name": actuator, **more}}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"scorre": {}}, "dataflex has no key 'scorre'; known: scorer, actuator, chain, mixer, "),
        ("difffilter", "dataflex must be a mapping, got 'difffilter'"),
        ({"actuator": "difffilter"}, "actuator must be a mapping, got 'difffilter'"),
        ({**SOLVE, "actuator": {"name": ["difffilter"]}}, "actuator.name must be a string, got ['difffilter']"),
        (chosen("group_solv", "difffilter"), "unknown scorer 'group_solv'; known: advantage_magnitude, group_solve, "),
        (chosen("group_solve", "difffiltr"), "unknown actuator 'difffiltr'; known: ar, diffband, difffilter, gfpo, "),
        (
            {**SOLVE, "actuator": {"name": "difffilter", "parms": {}}},
            "actuator has no key 'parms'; known: name, params",
        ),
        ({"scorer": {"name": "reward", "cap": 1}, **DIFF}, "scorer has no key 'cap'; known: name, params"),
        (
            chosen("group_solve", "difffilter", params={"lo": 0.1}),
            "actuator 'difffilter' has no parameter 'lo'; known: high, low",
        ),
        (
            {"scorer": {"name": "group_solve", "params": {"treshold": 0.5}}, **DIFF},
            "scorer 'group_solve' has no parameter 'treshold'; known: signal, success_threshold",
        ),
        (chosen("group_solve", "difffilter", params=[1]), "actuator 'difffilter': params must be a mapping, got [1]"),
        (
            chosen("group_solve", "difffilter", params={"low": "x"}),
            "actuator 'difffilter': low must be a number, got 'x'",
        ),
        (chosen("group_solve", "difffilter", params={"low": True}), "low must be a number, got True"),
        (chosen("group_solve", "difffilter", params={"low": float("nan")}), "low must be a number, got nan"),
        (chosen("group_solve", "difffilter", params={"low": 0.9}), "low must be below high=0.8, got 0.9"),
        (chosen("group_solve", "difffilter", params={"high": 20}), "high must be between 0 and 1, got 20.0"),
        (chosen("reward", "gfpo", params={"k": 0}), "actuator 'gfpo': k must be at least 1, got 0"),
        (chosen("reward", "gfpo", params={"k": 2.5}), "actuator 'gfpo': k must be an integer, got 2.5"),
        (chosen("reward", "gfpo", params={"metric": "long"}), "metric must be one of efficiency, short, got 'long'"),
        (
            chosen("reward", "maxvar", params={"keep_fraction": 0}),
            "keep_fraction must be above 0 and at most 1, got 0.0",
        ),
        (chosen("reward", "topk", params={"fraction": 1.5}), "fraction must be above 0 and at most 1, got 1.5"),
        (chosen("reward", "topk", params={"largest": 1}), "largest must be true or false, got 1"),
        (chosen("token_prob", "ar", params={"alpha": 1.1}), "actuator 'ar': alpha must be between 0 and 1, got 1.1"),
        (chosen("reward", "per", params={"alpha": -1}), "actuator 'per': alpha must be a finite number >= 0, got -1.0"),
        (chosen("reward", "softmax", params={"temperature": 0}), "temperature must be above 0, got 0.0"),
        (chosen("reward", "diffband", params={"low_q": 0.8}), "low_q must be at most high_q=0.75, got 0.8"),
        (chosen("reward", "diffband", params={"focus_weight": -2}), "focus_weight must be a finite number >= 0"),
        (
            chosen("reward", "difffilter"),
            "takes a score per prompt, but scorer 'reward' gives one per response; use one",
        ),
        (
            chosen("reward", "ar"),
            "takes a score per token, but scorer 'reward' gives one per response; use one of token_",
        ),
        (
            chosen("token_prob", "softmax"),
            "takes a score per response or prompt, but scorer 'token_prob' gives one per",
        ),
        (chosen("group_solve", "maxvar"), "takes a score per response, but scorer 'group_solve' gives one per prompt"),
        (DIFF, "dataflex: actuator 'difffilter' needs a scorer; use one of group_solve"),
        (SOLVE, "scorer 'group_solve' has no actuator, so nothing would change; set dataflex.actuator.name to one of"),
        (
            {"actuator": {"name": "none", "params": {"low": 0.1}}},
            "actuator is none, but parameters are given: low",
        ),
        (
            chosen("group_solve", "difffilter", normalize="token"),
            "selector 'difffilter': normalize must be one of none, k",
        ),
        (chosen("reward", "per", normalize="kept"), "reweighter 'per': normalize must be one of response, token, got"),
        (chosen("reward", "per", cap=0.5), "actuator 'per': cap must be null or a largest weight >= 1, got 0.5"),
        (chosen("reward", "per", cap="2"), "cap must be null or a largest weight >= 1, got '2'"),
        (
            chosen("group_solve", "difffilter", on_empty="skip"),
            "on_empty must be one of zero, skip_update, keep_all, got",
        ),
        ({"chain": []}, "dataflex.chain must be null or a list of {scorer, actuator} pairs, got []"),
        ({"chain": [{**SOLVE}]}, "dataflex.chain[0] has no actuator; use one of ar, diffband"),
        ({"chain": [{**SOLVE, **DIFF, "x": 1}]}, "dataflex.chain[0] has no key 'x'; known: scorer, actuator"),
        ({"chain": [{**DIFF}]}, "dataflex.chain[0]: actuator 'difffilter' needs a scorer"),
        (
            {"chain": [{**SOLVE, **DIFF}], **SOLVE},
            "dataflex.chain is set, so dataflex.scorer and dataflex.actuator must",
        ),
        ({"warmup_step": -1}, "dataflex.warmup_step must be a number of steps >= 0, got -1"),
        ({"warmup_step": 1.5}, "dataflex.warmup_step must be a number of steps >= 0, got 1.5"),
        ({"shadow": "yes"}, "dataflex.shadow must be true or false, got 'yes'"),
        ({"trace": 1}, "dataflex.trace must be true or false, got 1"),
        (
            {"weight_kl": True},
            "dataflex.weight_kl=true cannot be honoured: verl applies rollout_is_weights to the policy",
        ),
        ({"group_estimator": "x"}, "dataflex.group_estimator must be true or false, got 'x'"),
        ({"window": 3}, "dataflex.window belongs to the mixer: write dataflex.mixer.window, or set mechanism: mix"),
    ],
)
def test_refusals(block: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Policy.from_config(block)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("block", "kind", "name"),
    [
        ({}, "uniform", "uniform"),
        ({"scorer": {"name": "none"}, "actuator": {"name": "none", "params": {}}}, "uniform", "uniform"),
        ({"scorer": None, "actuator": None, "chain": None, "mixer": None}, "uniform", "uniform"),
        (chosen("group_solve", "difffilter"), "select", "difffilter"),
        (chosen("advantage_magnitude", "topk"), "select", "topk"),
        (chosen("advantage_magnitude", "softmax"), "reweight", "softmax"),
        ({"chain": [chosen("group_solve", "difffilter"), chosen("reward", "per")]}, "chain", "difffilter+per"),
    ],
)
def test_kind_and_name(block: dict[str, Any], kind: str, name: str) -> None:
    policy = Policy.from_config(block)
    assert (policy.kind, policy.name) == (kind, name)


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ({}, {"rm_scores", "response_mask", "uid"}),
        (chosen("token_prob", "ar"), {"rm_scores", "response_mask", "uid", "old_log_probs"}),
        (chosen("advantage_magnitude", "per"), {"rm_scores", "response_mask", "uid", "advantages"}),
        (
            {"scorer": {"name": "group_solve", "params": {"signal": "acc"}}, "actuator": {"name": "difffilter"}},
            {"rm_scores", "response_mask", "uid", "acc"},
        ),
    ],
)
def test_requires(block: dict[str, Any], fields: set[str]) -> None:
    assert Policy.from_config(block).requires == fields


def test_the_default_of_normalize_follows_the_actuator() -> None:
    expected = {"difffilter": "none", "per": "response", "ar": "token"}
    pairs = {"difffilter": "group_solve", "per": "reward", "ar": "token_prob"}
    for actuator, normalize in expected.items():
        assert Policy.from_config(chosen(pairs[actuator], actuator)).config.links[0].normalize == normalize


def test_an_integer_is_a_number_where_a_number_is_wanted() -> None:
    policy = Policy.from_config(chosen("group_solve", "difffilter", params={"low": 0, "high": 1}))
    options = policy.config.links[0].actuator
    assert (options.low, options.high) == (0.0, 1.0)
    assert isinstance(options.low, float)
