"""The four mixers against numbers computed by hand, through the one call without a host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import linregress

from dataflex_rl import replay_mixer
from dataflex_rl.mixers.tscl import slope_D

Step = dict[str, dict[str, list[float]]]


def rewards(**domains: list[float]) -> Step:
    return {name: {"reward": values} for name, values in domains.items()}


def advantages(**domains: list[float]) -> Step:
    return {name: {"advantage": values} for name, values in domains.items()}


def softmax(*scores: float) -> list[float]:
    raw = [math.exp(score) for score in scores]
    return [value / sum(raw) for value in raw]


def last(config: dict[str, Any], history: list[Step]) -> list[float]:
    shares = replay_mixer(config, history)
    assert len(shares) == len(history)
    return list(shares[-1].values())


# defaults of the study ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("static", {"proportions": None}),
        ("reward_gap", {"temperature": 1.0, "floor": 0.05}),
        ("dump_ucb", {"temperature": 1.0, "c": 1.0, "floor": 0.05}),
        ("tscl", {"temperature": 1.0, "floor": 0.05, "signed": False, "per": "window"}),
    ],
)
def test_defaults_are_the_vetted_ones(name: str, params: dict[str, Any]) -> None:
    from dataflex_rl.components.registry import lookup
    from dataflex_rl.config.methods import method_block
    from dataflex_rl.policy.split import MIXER_DEFAULTS

    assert lookup("mixer", name).defaults == params
    block = method_block(name)["mixer"]
    assert block == {**MIXER_DEFAULTS, "name": name, "params": params}
    assert (block["window"], block["warmup_step"], block["update_step"]) == (50, 1, 1)


# static -------------------------------------------------------------------------------------------------------------


def test_static_is_equal_or_as_given() -> None:
    history = [rewards(a=[0.0], b=[1.0])] * 3
    assert last({"name": "static"}, history) == [0.5, 0.5]
    given = {"name": "static", "params": {"proportions": {"a": 0.2, "b": 0.8}}}
    assert replay_mixer(given, history) == [{"a": 0.2, "b": 0.8}] * 3
    in_order = {"name": "static", "params": {"proportions": [0.2, 0.8]}, "domains": ["b", "a"]}
    assert replay_mixer(in_order, history) == [{"b": 0.2, "a": 0.8}] * 3


# reward_gap ---------------------------------------------------------------------------------------------------------


def test_reward_gap_follows_the_gap() -> None:
    # means 0.5, 1.0, 0.25: gaps 0.5, 0, 0.75
    history = [rewards(a=[0.0, 1.0], b=[1.0, 1.0], c=[0.25, 0.25])]
    assert last({"name": "reward_gap"}, history) == pytest.approx(softmax(0.5, 0.0, 0.75))
    sharp = {"name": "reward_gap", "params": {"temperature": 0.5}}
    assert last(sharp, history) == pytest.approx(softmax(1.0, 0.0, 1.5))


def test_reward_gap_pools_the_responses_of_the_window() -> None:
    # a: (0 + 1 + 1 + 1) / 4 = 0.75, not the mean of the steps' means (0 + 1) / 2; b: 1.0
    history = [rewards(a=[0.0], b=[1.0]), rewards(a=[1.0, 1.0, 1.0])]
    assert last({"name": "reward_gap"}, history) == pytest.approx(softmax(0.25, 0.0))
    # with a window of 1 step b has no data and takes the mean of those seen: no gap
    assert last({"name": "reward_gap", "window": 1}, history) == pytest.approx([0.5, 0.5])


def test_reward_gap_gives_an_unseen_domain_the_mean_of_the_seen() -> None:
    # a 0.2, b 0.6, c unseen: (0.2 + 0.6) / 2 = 0.4; gaps 0.4, 0, 0.2
    config = {"name": "reward_gap", "domains": ["a", "b", "c"]}
    assert last(config, [rewards(a=[0.2], b=[0.6])]) == pytest.approx(softmax(0.4, 0.0, 0.2))


# dump_ucb -----------------------------------------------------------------------------------------------------------


def test_dump_ucb_adds_the_bonus_of_few_visits() -> None:
    # n = 2, 1; N = 3; mean abs A = 1.5, 1.0
    history = [advantages(a=[-1.0, 2.0], b=[1.0])]
    bonus = [math.sqrt(2 * math.log(4) / 3), math.sqrt(2 * math.log(4) / 2)]
    assert last({"name": "dump_ucb"}, history) == pytest.approx(softmax(1.5 + bonus[0], 1.0 + bonus[1]))
    assert last({"name": "dump_ucb", "params": {"c": 0.0}}, history) == pytest.approx(softmax(1.5, 1.0))


def test_dump_ucb_counts_visits_since_the_start_but_averages_the_window() -> None:
    # after two steps, window 1: n = 3, 1 (N = 4); a's mean is of the last step alone, b has no data: value 0
    history = [advantages(a=[4.0, 4.0], b=[9.0]), advantages(a=[1.0])]
    ln5 = math.log(5)
    expected = softmax(1.0 + math.sqrt(2 * ln5 / 4), math.sqrt(2 * ln5 / 2))
    assert last({"name": "dump_ucb", "window": 1}, history) == pytest.approx(expected)


def test_dump_ucb_prefers_a_domain_never_seen() -> None:
    config = {"name": "dump_ucb", "domains": ["a", "b", "c"]}
    shares = last(config, [advantages(a=[0.1] * 40, b=[0.1] * 40)] * 5)
    assert shares[2] > 0.5 > shares[0] == shares[1]


# tscl ---------------------------------------------------------------------------------------------------------------


def test_tscl_prefers_the_reward_that_moves() -> None:
    # a: 0.0, 0.1, 0.2: slope 0.1 per step; window 3: change 0.2. b: constant. c: falls by 0.05 per step: change 0.1
    history = [rewards(a=[a], b=[0.9], c=[c]) for a, c in ((0.0, 0.5), (0.1, 0.45), (0.2, 0.4))]
    config = {"name": "tscl", "window": 3}
    assert last(config, history) == pytest.approx(softmax(0.2, 0.0, 0.1))
    signed = {"name": "tscl", "window": 3, "params": {"signed": True}}
    assert last(signed, history) == pytest.approx(softmax(0.2, 0.0, 0.0))
    bare = {"name": "tscl", "window": 3, "params": {"per": "step"}}
    assert last(bare, history) == pytest.approx(softmax(0.1, 0.0, 0.05))


def test_tscl_reads_slopes_not_levels() -> None:
    high_but_still = [rewards(a=[1.0], b=[0.01 * step]) for step in range(5)]
    shares = last({"name": "tscl", "window": 5}, high_but_still)
    assert shares[1] > shares[0]


def test_tscl_needs_two_steps_of_a_domain() -> None:
    history = [rewards(a=[0.0], b=[0.0]), rewards(a=[1.0])]
    # a: slope 1 x (2 - 1); b has one point: 0
    assert last({"name": "tscl", "window": 2}, history) == pytest.approx(softmax(1.0, 0.0))
    assert last({"name": "tscl", "window": 2}, history[:1]) == [0.5, 0.5]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=12))
@settings(max_examples=50, deadline=None)
def test_slope_equals_scipys(points: list[tuple[float, bool]]) -> None:
    step_W = torch.arange(7, 7 + len(points))
    value_WD = torch.tensor([[value] for value, _ in points], dtype=torch.float64)
    count_WD = torch.tensor([[int(has)] for _, has in points])
    here = [(float(step), value) for step, (value, has) in zip(step_W.tolist(), points, strict=True) if has]
    expected = linregress(*np.array(here).T).slope if len(here) >= 2 else 0.0
    assert float(slope_D(step_W, value_WD * count_WD, count_WD)[0]) == pytest.approx(expected, abs=1e-9)


# laws ---------------------------------------------------------------------------------------------------------------

RULES = ("static", "reward_gap", "dump_ucb", "tscl")


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    names = ["a", "b", "c", "d"][: draw(st.integers(1, 4))]
    step = st.dictionaries(
        st.sampled_from(names),
        st.lists(st.floats(-2, 2), max_size=4).map(lambda v: {"reward": v, "advantage": v}),
    )
    return [{name: {"reward": [0.0], "advantage": [0.0]} for name in names}, *draw(st.lists(step, max_size=6))]


@given(st.sampled_from(RULES), histories(), st.floats(1e-3, 10), st.floats(0, 0.24), st.integers(2, 5))
@settings(max_examples=120, deadline=None)
def test_shares_are_shares(name: str, history: list[Step], temperature: float, floor: float, window: int) -> None:
    params = {} if name == "static" else {"temperature": temperature, "floor": floor}
    for shares in replay_mixer({"name": name, "params": params, "window": window}, history):
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)
        assert min(shares.values()) >= params.get("floor", 0.0)


@given(st.sampled_from(RULES), histories(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_order_of_responses_and_domains_does_not_matter(name: str, history: list[Step], rng: Any) -> None:
    def shuffled(step: Step) -> Step:
        order = rng.sample(sorted(step), len(step))
        return {d: {key: rng.sample(v, len(v)) for key, v in step[d].items()} for d in order}

    for one, other in zip(
        replay_mixer({"name": name, "window": 3}, history),
        replay_mixer({"name": name, "window": 3}, [shuffled(step) for step in history]),
        strict=True,
    ):
        assert one == pytest.approx(other)
