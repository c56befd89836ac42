"""Blocks written for the public plugin, and the mixer's part."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import Policy, split_block
from dataflex_rl.policy.split import MIXER_DEFAULTS, _say_alias


@pytest.mark.parametrize(
    ("scorer", "actuator", "mechanism", "ours"),
    [
        ("group_solve_rate", "threshold_band", "select", "difffilter"),
        ("reward_difficulty", "max_variance", "select", "maxvar"),
        ("advantage_magnitude", "topk_fraction", "select", "topk"),
        ("reward_difficulty", "difficulty_band", "reweight", "diffband"),
        ("token_prob", "advantage_reweight", "reweight", "ar"),
        ("advantage_magnitude", "per_advantage", "reweight", "per"),
        ("advantage_magnitude", "softmax", "reweight", "softmax"),
        ("reward", "gfpo", "select", "gfpo"),
    ],
)
def test_public_blocks_run_unchanged(scorer: str, actuator: str, mechanism: str, ours: str) -> None:
    block = {
        "mechanism": mechanism,
        "scorer": {"name": scorer, "params": {}},
        "actuator": {"name": actuator, "params": {}},
        "domains": ["math", "logic"],
        "domain_key": "data_source",
        "window": 20,
        "warmup_step": 7,
        "update_step": 2,
    }
    policy_block, mixer = split_block(block)
    policy = Policy.from_config(policy_block)
    assert (policy.name, policy.kind, policy.config.warmup_step) == (ours, mechanism, 7)
    # the domain column is read for metrics; no mixer is active
    assert mixer == {
        **MIXER_DEFAULTS,
        "domains": ["math", "logic"],
        "domain_key": "data_source",
        "window": 20,
        "update_step": 2,
    }


def test_threshold_band_has_its_own_defaults() -> None:
    block = {"scorer": {"name": "group_solve_rate"}, "actuator": {"name": "threshold_band"}}
    options = Policy.from_config(block).config.links[0].actuator
    assert (options.low, options.high) == (0.0, 1.0)
    block["actuator"]["params"] = {"low": 0.1}  # type: ignore[assignment]
    options = Policy.from_config(block).config.links[0].actuator
    assert (options.low, options.high) == (0.1, 1.0)


def test_an_alias_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    _say_alias.cache_clear()
    block = {"scorer": {"name": "group_solve_rate"}, "actuator": {"name": "threshold_band"}}
    with caplog.at_level(logging.INFO, logger="dataflex_rl"):
        Policy.from_config(block)
        Policy.from_config(block)
    assert [record.getMessage() for record in caplog.records] == [
        "actuator 'threshold_band' is our 'difffilter'",
        "scorer 'group_solve_rate' is our 'group_solve'",
    ]


@pytest.mark.parametrize("mechanism", ["mix", None])
def test_a_mixer_in_the_actuator_takes_the_top_with_it(mechanism: str | None) -> None:
    block: dict[str, Any] = {
        "mechanism": mechanism,
        "scorer": {"name": "reward_difficulty"},
        "actuator": {"name": "reward_gap", "params": {"temperature": 0.5}},
        "domains": ["math", "logic"],
        "domain_key": "data_source",
        "window": 20,
        "warmup_step": 7,
        "update_step": 2,
        "shadow": False,
    }
    policy_block, mixer = split_block(block)
    assert Policy.from_config(policy_block).kind == "uniform"
    assert Policy.from_config(policy_block).config.warmup_step == 0
    assert mixer == {
        "name": "reward_gap",
        "params": {"temperature": 0.5},
        "scorer": {"name": "reward", "params": {}},
        "domains": ["math", "logic"],
        "domain_key": "data_source",
        "window": 20,
        "warmup_step": 7,
        "update_step": 2,
        "oversample": 1.0,
    }
    assert Policy.from_config(block).kind == "uniform"


def test_mix_beside_a_selector() -> None:
    block = {
        "scorer": {"name": "group_solve"},
        "actuator": {"name": "difffilter"},
        "mixer": {"name": "static", "params": {"proportions": {"math": 0.5}}, "window": 10},
        "warmup_step": 3,
    }
    policy_block, mixer = split_block(block)
    assert Policy.from_config(policy_block).config.warmup_step == 3
    assert (mixer["name"], mixer["window"], mixer["warmup_step"]) == ("static", 10, 1)


def test_the_block_is_not_changed() -> None:
    block = {"mechanism": "mix", "actuator": {"name": "tscl"}, "window": 5}
    split_block(block)
    assert block == {"mechanism": "mix", "actuator": {"name": "tscl"}, "window": 5}


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"mechanism": "filter"}, "unknown mechanism 'filter'; known: reweight, select, mix"),
        (
            {"mechanism": "reweight", "scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}},
            "mechanism 'reweight' does not fit actuator 'difffilter' (select); use one of ar, diffband, per, softmax",
        ),
        (
            {"mechanism": "select", "actuator": {"name": "reward_gap"}},
            "mechanism 'select' does not fit actuator 'reward_gap' (mix); use one of difffilter, gfpo, maxvar, topk",
        ),
        ({"mechanism": "select"}, "mechanism 'select' does not fit actuator 'none' (uniform)"),
        (
            {"mechanism": "mix", "actuator": {"name": "per"}},
            "mechanism 'mix' needs a mixer (dump_ucb, reward_gap, static, tscl), got actuator 'per'",
        ),
        ({"mechanism": "mix"}, "mechanism 'mix' needs a mixer"),
        ({"mechanism": "select", "chain": [1]}, "mechanism 'select' describes one actuator, but dataflex.chain is set"),
        (
            {"actuator": {"name": "tscl"}, "mixer": {"name": "static"}},
            "actuator 'tscl' is a mixer, but mixer 'static' is set too; keep one",
        ),
        ({"actuator": {"name": "tscl", "cap": 2}}, "mixer 'tscl' in dataflex.actuator cannot have cap=2"),
        ({"mixer": {"name": "statc"}}, "unknown mixer 'statc'; known: dump_ucb, none, reward_gap, static, tscl"),
        ({"mixer": {"nme": "static"}}, "dataflex.mixer has no key 'nme'; known: name, params, scorer, domains"),
        ({"mechanism": "mix", "actuator": {"name": "tscl"}, "scorer": "reward"}, "scorer must be a mapping"),
        (
            {"mechanism": "mix", "actuator": {"name": "tscl"}, "scorer": {"nme": "reward"}},
            "scorer has no key 'nme'; known: name, params",
        ),
        ({"mixer": "static"}, "dataflex.mixer must be a mapping, got 'static'"),
        ({"mixer": {"params": {"floor": 0.1}}}, "mixer is none, but parameters are given: floor"),
        (
            {"actuator": {"name": "tscl"}, "window": 3, "mixer": {"window": 4}},
            "dataflex.window=3 and dataflex.mixer.window=4 disagree; keep one",
        ),
        ({"mechanism": "mix", "actuator": {"name": "tscl"}, "windw": 3}, "dataflex has no key 'windw'; known: scorer"),
    ],
)
def test_refusals(block: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        split_block(block)
    assert message in str(caught.value)


def test_the_default_warm_up_of_the_policy_does_not_contradict_the_mixers() -> None:
    block = {"actuator": {"name": "tscl"}, "warmup_step": 0, "mixer": {"warmup_step": 5}}
    assert split_block(block)[1]["warmup_step"] == 5
    assert split_block({**block, "mixer": {}})[1]["warmup_step"] == 0
    with pytest.raises(ConfigError, match=r"dataflex.warmup_step=3 and dataflex.mixer.warmup_step=5 disagree"):
        split_block({**block, "warmup_step": 3})
