"""Cadence, regrouping and bad input of the mixer block."""

from __future__ import annotations

from typing import Any

import pytest

from dataflex_rl import replay_mixer
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import parse_mixer
from dataflex_rl.feed.domains import check_several, resolve_domains
from dataflex_rl.policy.split import MIXER_DEFAULTS

STEP = {"a": {"reward": [0.0], "advantage": [0.0]}, "b": {"reward": [1.0], "advantage": [1.0]}}


def changes(**block: Any) -> list[int]:
    """Steps after which the shares differ from those before."""
    history = [{"a": {"reward": [0.0]}, "b": {"reward": [step / 10]}} for step in range(1, 9)]
    shares = [{"a": 0.5, "b": 0.5}, *replay_mixer({"name": "reward_gap", **block}, history)]
    return [step for step in range(1, 9) if shares[step] != shares[step - 1]]


def test_updates_follow_warm_up_and_interval() -> None:
    assert changes() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert changes(warmup_step=0) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert changes(warmup_step=3) == [3, 4, 5, 6, 7, 8]
    assert changes(warmup_step=2, update_step=3) == [2, 5, 8]
    assert changes(warmup_step=9) == []


def test_a_scorer_takes_the_statistics_place() -> None:
    config = {"name": "reward_gap", "scorer": {"name": "group_solve", "params": {"success_threshold": 0.9}}}
    scored = [{"a": {"group_solve": [0.2, 0.4]}, "b": {"group_solve": [0.3]}}]
    assert replay_mixer(config, scored) == [pytest.approx({"a": 0.5, "b": 0.5})]
    with pytest.raises(ConfigError, match="history step 1, domain 'a' lacks 'group_solve'"):
        replay_mixer(config, [STEP])


# domains ------------------------------------------------------------------------------------------------------------


def test_domains_are_found_restricted_or_regrouped() -> None:
    found = ["math", "logic", "math", "science"]
    assert resolve_domains(None, found).names == ("logic", "math", "science")
    some = resolve_domains(["science", "math"], found)
    assert (some.names, some.index("science"), some.index("logic")) == (("science", "math"), 0, -1)
    groups = resolve_domains({"exact": ["math", "logic"], "facts": ["science"]}, found)
    assert groups.names == ("exact", "facts")
    assert [groups.index(name) for name in ("logic", "math", "science")] == [0, 0, 1]


def test_regrouped_histories_are_pooled() -> None:
    history = [{"a": {"reward": [0.0]}, "b": {"reward": [1.0]}, "c": {"reward": [0.5]}}]
    config = {"name": "reward_gap", "domains": {"ab": ["a", "b"], "c": ["c"]}}
    assert replay_mixer(config, history) == [pytest.approx({"ab": 0.5, "c": 0.5})]  # 0.5 each: no gap


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["math", "chess"], "unknown domain 'chess'; the data has logic, math"),
        (["math", "math"], "'math' stands twice"),
        ([], "is empty"),
        ("math", "must be null, a list of domain names"),
        (7, "must be null, a list of domain names"),
        ({"x": ["math"], "y": ["math"]}, "'math' stands twice"),
        ({"x": ["math"], "y": []}, "the group 'y' is empty"),
        ({"x": "math"}, r"domains\.x must be"),
    ],
)
def test_bad_domains_are_refused(setting: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve_domains(setting, ["logic", "math"])


def test_one_domain_cannot_be_mixed() -> None:
    with pytest.raises(ConfigError, match="mixer 'tscl' needs two or more domains, got math"):
        check_several("tscl", ["math"])


# the block ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"window": 0}, r"dataflex.mixer.window must be an integer >= 1 \[steps\], got 0"),
        ({"window": 2.5}, "window must be an integer"),
        ({"window": True}, "window must be an integer"),
        ({"update_step": 0}, r"dataflex.mixer.update_step must be an integer >= 1 \[steps\], got 0"),
        ({"warmup_step": -1}, "warmup_step must be an integer >= 0"),
        ({"oversample": 0.9}, r"oversample must be a number >= 1\.0"),
        ({"oversample": "2"}, r"oversample must be a number >= 1\.0"),
        ({"domain_key": ""}, "domain_key must be the name of a dataset column"),
        ({"params": {"temperature": 0}}, r"mixer 'tscl': temperature must be above 0, got 0"),
        ({"params": {"temperature": -1.0}}, "temperature must be above 0"),
        ({"params": {"floor": -0.1}}, "floor must be at least 0"),
        ({"params": {"floor": 1.0}}, "below 1"),
        ({"params": {"signed": 1}}, "signed must be true or false"),
        ({"params": {"per": "epoch"}}, "per must be one of window, step"),
        ({"params": {"temprature": 1.0}}, "mixer 'tscl' has no parameter 'temprature'; known: floor, per"),
        ({"scorer": {"name": "luck"}}, "unknown scorer 'luck'"),
        ({"name": "tsc"}, "unknown mixer 'tsc'; known: .*tscl"),
        ({"windows": 3}, "dataflex.mixer has no key 'windows'"),
        ({"window": 1}, r"dataflex.mixer.window=1 \[steps\], expected 2 or more"),
        ({"params": {"floor": 0.5}}, "floor 0.5 for 2 domains"),
    ],
)
def test_bad_blocks_are_refused(block: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replay_mixer({"name": "tscl", **block}, [STEP])


@pytest.mark.parametrize(
    ("proportions", "message"),
    [
        ({"a": 0.5, "b": 0.6}, r"proportions \(a: 0.5, b: 0.6\) sum to 1.1, expected 1"),
        ({"a": 0.5, "b": 0.2, "z": 0.3}, "unknown domain 'z'; known: a, b"),
        ({"a": 1.0}, "proportions lack the domain 'b'"),
        ({"a": 1.5, "b": -0.5}, "the share of 'a' is 1.5, expected 0 to 1"),
        ([0.5, 0.3, 0.2], r"proportions are 3 shares for 2 domains \(a, b\)"),
        ("half", "proportions must be a mapping or a list or null"),
    ],
)
def test_bad_proportions_are_refused(proportions: Any, message: str) -> None:
    config = {"name": "static", "params": {"proportions": proportions}, "domains": ["a", "b"]}
    with pytest.raises(ConfigError, match=message):
        replay_mixer(config, [STEP])


def test_bad_c_is_refused() -> None:
    with pytest.raises(ConfigError, match="c must be a finite number of at least 0"):
        replay_mixer({"name": "dump_ucb", "params": {"c": -1.0}}, [STEP])


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([{"a": {"reward": [float("nan")]}, "b": {"reward": [1.0]}}], "history step 1, domain 'a': reward has a NaN"),
        ([STEP, {"c": {"reward": [1.0]}}], "history step 2, domain 'c' is unknown; known: a, b"),
        ([{"a": {"reward": [1.0], "advantage": []}, "b": {}}], "reward: 1, advantage: 0"),
        ([{"a": {"advantage": [1.0]}, "b": {}}], "lacks 'reward'"),
        ([{"a": {"reward": 1.0}, "b": {}}], "reward must be a list of numbers"),
        ([{"a": {"reward": ["x"]}, "b": {}}], "reward must hold numbers only"),
        ([["a"]], "history step 1 must be a mapping"),
        ({"a": {}}, "history must be a list of steps"),
    ],
)
def test_bad_histories_are_refused(history: Any, message: str) -> None:
    config = {"name": "reward_gap", "domains": ["a", "b"]}
    with pytest.raises(ConfigError, match=message):
        replay_mixer(config, history)


@pytest.mark.parametrize("name", ["static", "reward_gap", "dump_ucb", "tscl"])
def test_a_history_without_domains_needs_them_named(name: str) -> None:
    with pytest.raises(ConfigError, match=r"history names no domain, so set dataflex\.mixer\.domains"):
        replay_mixer({"name": name}, [{}, {}])
    assert replay_mixer({"name": name, "domains": ["a", "b"]}, [{}, {}]) == [{"a": 0.5, "b": 0.5}] * 2
    assert replay_mixer({"name": name}, []) == []


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        ("group_solve", "dataflex.mixer.scorer must be a mapping, got 'group_solve'"),
        ({"nme": "group_solve"}, "dataflex.mixer.scorer has no key 'nme'; known: name, params"),
        ({"name": "reward", "param": {}}, "dataflex.mixer.scorer has no key 'param'; known: name, params"),
        ({"params": {"signal": "acc"}}, "dataflex.mixer.scorer is none, but parameters are given: signal"),
    ],
)
def test_a_misspelt_scorer_is_not_left_out(scorer: Any, message: str) -> None:
    """It would silently train on the mixer's own statistic."""
    with pytest.raises(ConfigError, match=message):
        replay_mixer({"name": "reward_gap", "scorer": scorer}, [STEP])


def test_no_mixer_is_none_and_has_no_replay() -> None:
    assert parse_mixer(MIXER_DEFAULTS) is None
    with pytest.raises(ConfigError, match="replay_mixer needs a mixer"):
        replay_mixer({"name": "none"}, [STEP])
