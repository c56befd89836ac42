"""Responses per prompt: exact against brute force, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.budgets import group_value, knapsack, two_phase


def summed(n_P: tuple[int, ...], rate_P: np.ndarray) -> float:
    return sum(float(group_value(n, rate_P[i : i + 1])[0]) for i, n in enumerate(n_P))


def test_value_by_hand() -> None:
    # p = .5: 2 responses mixed with .5, times .125 = .0625; 3: 1 - 2 x .125 = .75 x .125. p = .2, 2: .32 x .2 x .64
    assert group_value(2, np.array([0.5, 0.2])).tolist() == pytest.approx([0.0625, 0.32 * 0.128])
    assert group_value(3, np.array([0.5])).tolist() == pytest.approx([0.09375])
    assert group_value(1, np.array([0.5])).tolist() == [0.0]
    assert group_value(0, np.array([0.5])).tolist() == [0.0]


def test_knapsack_by_hand() -> None:
    # gains of the 2nd, 3rd, 4th response: p = .5: .0625, .03125, .015625 (2 p q, then half of it each time);
    # p = 1: 0. Four more than one each: three to the first, and the last one where it does no good
    assert knapsack(np.array([0.5, 1.0]), 6, n_min=1, n_max=4).tolist() == [4, 2]
    # equal prompts share equally; what is over goes to the earlier
    assert knapsack(np.array([0.5, 0.5, 0.5]), 8, n_min=1, n_max=5).tolist() == [3, 3, 2]
    assert knapsack(np.array([0.0, 1.0, 0.0]), 7, n_min=1, n_max=4).tolist() == [3, 2, 2]
    # without a least, hopeless prompts get none: 2 of .5 are worth .0625, 1 + 1 nothing
    assert knapsack(np.array([0.5, 0.0]), 2, n_min=0, n_max=2).tolist() == [2, 0]


@given(
    st.lists(st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0]) | st.floats(0, 1), min_size=1, max_size=4),
    st.integers(0, 2),
    st.integers(0, 4),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_knapsack_is_as_good_as_trying_all(rates: list[float], n_min: int, more: int, data: st.DataObject) -> None:
    rate_P, n_max = np.array(rates), n_min + more
    total = data.draw(st.integers(n_min * len(rates), n_max * len(rates)))
    found = knapsack(rate_P, total, n_min=n_min, n_max=n_max)
    ranges = itertools.product(range(n_min, n_max + 1), repeat=len(rates))
    best = max(summed(n_P, rate_P) for n_P in ranges if sum(n_P) == total)
    assert found.sum() == total
    assert ((found >= n_min) & (found <= n_max)).all()
    assert summed(tuple(found.tolist()), rate_P) == pytest.approx(best, abs=1e-12)


def test_permuting_prompts_permutes_the_budget() -> None:
    rng = np.random.default_rng(0)
    rate_P, order = rng.random(40), rng.permutation(40)
    for n_min in (0, 1, 2):
        whole = knapsack(rate_P, 200, n_min=n_min, n_max=16)
        assert knapsack(rate_P[order], 200, n_min=n_min, n_max=16).tolist() == whole[order].tolist()


@pytest.mark.parametrize(
    ("rates", "total", "n_min", "n_max", "message"),
    [
        ([0.5, 0.5], 1, 1, 8, "a budget of 1 responses for 2 prompts; expected 2 to 16 (n_min=1, n_max=8 each)"),
        ([0.5, 0.5], 17, 1, 8, "a budget of 17 responses for 2 prompts; expected 2 to 16"),
        ([0.5], 8, 9, 8, "n_min=9; expected at least 0 and at most n_max=8 responses"),
        ([0.5], 8, -1, 8, "n_min=-1; expected at least 0"),
        ([1.5], 8, 1, 8, "expected solve rates between 0 and 1, one per prompt, got [1.5]"),
        ([float("nan")], 8, 1, 8, "expected solve rates between 0 and 1, one per prompt, got [nan]"),
        ([], 0, 1, 8, "expected solve rates between 0 and 1, one per prompt, got []"),
    ],
)
def test_budgets_that_cannot_be(rates: list[float], total: int, n_min: int, n_max: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        knapsack(np.array(rates), total, n_min=n_min, n_max=n_max)
    assert str(caught.value).startswith("knapsack: ")
    assert message in str(caught.value)


def test_screening_continues_what_is_mixed() -> None:
    assert two_phase(np.array([0, 1, 3, 4]), n_init=4, n_continue=12).tolist() == [0, 12, 12, 0]
    assert two_phase(np.array([], np.int64), n_init=2, n_continue=1).tolist() == []


@pytest.mark.parametrize(
    ("solved", "n_init", "n_continue", "message"),
    [
        ([0], 1, 4, "two_phase: n_init=1; expected at least 2 responses, one alone is never mixed"),
        ([0], 2, 0, "two_phase: n_continue=0; expected at least 1 response"),
        ([3], 2, 4, r"two_phase: expected 0 to n_init=2 solved responses of each prompt, got \[3\]"),
    ],
)
def test_screenings_that_cannot_be(solved: list[int], n_init: int, n_continue: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        two_phase(np.array(solved), n_init=n_init, n_continue=n_continue)
