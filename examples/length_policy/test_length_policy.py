"""Run with: pip install . && pytest"""

import pytest

from dataflex_rl import apply_policy, replay_prompts
from dataflex_rl.components.registry import build
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.conformance import check_selects

POLICY = {"scorer": {"name": "brevity"}, "actuator": {"name": "keep_above"}}


def test_short_responses_stay():
    # longest of a is 4 tokens: brevity 0, .5, .75; of b 1 token: 0
    signals = {"uid": list("aaab"), "reward": [1, 1, 0, 1], "response_mask": [[1] * n for n in (4, 2, 1, 1)]}
    result = apply_policy(POLICY, signals)
    assert result.scores.tolist() == [0.0, 0.5, 0.75, 0.0]
    assert result.keep == [False, True, True, False]
    assert result.metrics["dataflex/dropped/below_floor"] == 2


def test_a_misspelt_parameter_is_refused():
    with pytest.raises(ConfigError, match="actuator 'keep_above' has no parameter 'flor'; known: floor"):
        apply_policy({**POLICY, "actuator": {"name": "keep_above", "params": {"flor": 0.1}}}, {})


def test_a_floor_out_of_range_is_refused():
    with pytest.raises(ConfigError, match="floor must be between 0 and 1, got 2"):
        apply_policy({**POLICY, "actuator": {"name": "keep_above", "params": {"floor": 2}}}, {})


def test_the_hardest_prompts_come_first():
    # last visits: a all, b half, c none solved; d was never visited. Two of the four: c and d
    history = [{"a": [1, 1], "b": [1, 0], "c": [0, 0]}]
    (after,) = replay_prompts({"name": "hardest_first"}, history, prompts=["a", "b", "c", "d"], n=2)
    assert set(after["next"]) == {"c", "d"}
    assert after["skipped"]["solved_more_often"] == 2


def test_it_is_a_selector():
    assert check_selects("hardest_first", build("prompt selector", "hardest_first")) > 1.5


def test_one_candidate_is_no_choice():
    with pytest.raises(ConfigError, match="candidates must be 2 or more, got 1"):
        replay_prompts({"name": "hardest_first", "params": {"candidates": 1}}, [])
