"""Softmax, floor and whole prompts: hand-computed, then laws on random shares."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.choose import chosen
from dataflex_rl.feed.quotas import apportioned_D
from dataflex_rl.mixers.shares import check_floor, floored_D, softmax_D


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@st.composite
def shares(draw: st.DrawFn, size: int | None = None) -> list[float]:
    least, most = (1, 6) if size is None else (size, size)
    raw = draw(st.lists(st.floats(0.0, 1.0), min_size=least, max_size=most).filter(lambda values: sum(values) > 1e-3))
    return [value / sum(raw) for value in raw]


# softmax ------------------------------------------------------------------------------------------------------------


def test_softmax_by_hand() -> None:
    # exp(0), exp(ln 3) = 1, 3 -> 1/4, 3/4
    assert softmax_D(tensor(0.0, math.log(3)), 1.0).tolist() == pytest.approx([0.25, 0.75])
    # at temperature 0.5: exp(2 ln 3) = 9 -> 1/10, 9/10
    assert softmax_D(tensor(0.0, math.log(3)), 0.5).tolist() == pytest.approx([0.1, 0.9])


def test_softmax_does_not_overflow_and_infinity_is_equal() -> None:
    assert softmax_D(tensor(1e8, 0.0), 1e-3).tolist() == [1.0, 0.0]
    assert softmax_D(tensor(3.0, 1.0, 2.0), math.inf).tolist() == pytest.approx([1 / 3] * 3)


# floor --------------------------------------------------------------------------------------------------------------


def test_floor_by_hand() -> None:
    # 0.01 -> 0.05; the others share 0.95 in proportion 0.39 : 0.60 (of 0.99)
    floored = floored_D(tensor(0.01, 0.39, 0.60), 0.05).tolist()
    assert floored == pytest.approx([0.05, 0.39 * 0.95 / 0.99, 0.60 * 0.95 / 0.99])


def test_floor_pulls_a_second_share_below() -> None:
    # first pass: 0 -> 0.2, rest 0.8 over 1.0: 0.21 -> 0.168 < 0.2; second: 0.2, 0.2, and 0.6 for 0.79
    assert floored_D(tensor(0.0, 0.21, 0.79), 0.2).tolist() == pytest.approx([0.2, 0.2, 0.6])


def test_floor_of_a_fifth_over_four_domains_is_a_fifth() -> None:
    assert min(floored_D(tensor(0.97, 0.01, 0.01, 0.01), 0.2).tolist()) == 0.2  # not 0.125, as after renormalising


def test_floor_changes_nothing_where_none_is_below() -> None:
    share_D = tensor(0.05, 0.35, 0.6)
    assert torch.equal(floored_D(share_D, 0.05), share_D)


@given(shares(), st.floats(0.0, 0.999))
@settings(deadline=None)
def test_floor_holds_after_normalising(share_D: list[float], part: float) -> None:
    floor = part / len(share_D)
    floored = floored_D(tensor(*share_D), floor)
    assert float(floored.min()) >= floor
    assert float(floored.sum()) == pytest.approx(1.0, abs=1e-9)
    assert bool(torch.isfinite(floored).all())
    above = [d for d in range(len(share_D)) if floored[d] > floor]
    for a in above:  # those not raised keep their proportions
        for b in above:
            assert float(floored[a]) * share_D[b] == pytest.approx(float(floored[b]) * share_D[a], abs=1e-9)


def test_floor_that_does_not_fit_is_refused() -> None:
    check_floor("tscl", 0.33, ["a", "b", "c"])
    with pytest.raises(ConfigError, match=r"mixer 'tscl': floor 0.25 for 4 domains \(a, b, c, d\).*below 1/4"):
        check_floor("tscl", 0.25, ["a", "b", "c", "d"])


# whole prompts ------------------------------------------------------------------------------------------------------


def test_thirds_of_sixteen_take_turns() -> None:
    counts, carry = [], [0.0] * 3
    for _ in range(3):
        count_D, carry = apportioned_D([1 / 3] * 3, carry, 16)
        counts.append(count_D)
    # 16/3 = 5.33: the odd prompt goes round, and 3 batches give 16 to each
    assert counts == [[6, 5, 5], [5, 6, 5], [5, 5, 6]]
    assert carry == pytest.approx([0.0] * 3, abs=1e-9)


def test_remainders_are_carried() -> None:
    # 4 x (.5, .3, .2) = 2, 1.2, 0.8 -> 2, 1, 1, carry 0, .2, -.2; then 2, 1.4, .6 -> 2, 1, 1, carry 0, .4, -.4;
    # then 2, 1.6, .4 -> 2, 2, 0
    counts, carry = [], [0.0] * 3
    for _ in range(5):
        count_D, carry = apportioned_D([0.5, 0.3, 0.2], carry, 4)
        counts.append(count_D)
    assert counts[:3] == [[2, 1, 1], [2, 1, 1], [2, 2, 0]]
    assert [sum(column) for column in zip(*counts, strict=True)] == [10, 6, 4]


@given(shares(), st.integers(1, 64), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_fixed_shares_are_exact_over_time(share_D: list[float], total: int, batches: int) -> None:
    carry, sums = [0.0] * len(share_D), [0] * len(share_D)
    slack = 1 + 1e-6 if len(share_D) <= 4 else 1.25
    for number in range(1, batches + 1):
        count_D, carry = apportioned_D(share_D, carry, total)
        assert sum(count_D) == total
        for d, (share, count) in enumerate(zip(share_D, count_D, strict=True)):
            assert abs(count - share * total) <= slack  # within one prompt per batch
            sums[d] += count
            assert abs(sums[d] - share * total * number) <= slack  # and over all batches


@given(st.lists(shares(3), min_size=1, max_size=40), st.integers(1, 32))
@settings(max_examples=60, deadline=None)
def test_moving_shares_keep_every_remainder_small(many: list[list[float]], total: int) -> None:
    carry = [0.0] * 3
    for share_D in many:
        count_D, carry = apportioned_D(share_D, carry, total)
        assert sum(count_D) == total
        assert min(count_D) >= 0
        assert sum(carry) == pytest.approx(0.0, abs=1e-6)
        assert max(map(abs, carry)) < 2


def test_a_domain_that_is_ahead_gives_nothing_back() -> None:
    # quotas 0 - 0.6, 0 - 0.7, 2 + 1.3: floors 0, 0, 3 are one too many
    count_D, carry = apportioned_D([0.0, 0.0, 1.0], [-0.6, -0.7, 1.3], 2)
    assert count_D == [0, 0, 2]
    assert carry == pytest.approx([-0.6, -0.7, 1.3])


# choice among finished groups ---------------------------------------------------------------------------------------


def test_each_domain_gives_its_first_groups() -> None:
    picked, shortage_D = chosen([["a1", "a2", "a3"], ["b1", "b2"]], [2, 1], [0.5, 0.5], 3)
    assert (picked, shortage_D) == (["a1", "a2", "b1"], [0, 0])


def test_a_gap_is_filled_by_who_is_furthest_below() -> None:
    # asked 2, 3, 1 of 6; b has one: shortage 2. Shares x 6 = 2.4, 2.4, 1.2: a and c lack 0.4 and 0.2 -> a, then c
    picked, shortage_D = chosen([["a1", "a2", "a3", "a4"], ["b1"], ["c1", "c2", "c3"]], [2, 3, 1], [0.4, 0.4, 0.2], 6)
    assert shortage_D == [0, 2, 0]
    assert picked == ["a1", "a2", "a3", "b1", "c1", "c2"]


def test_fewer_than_wanted_are_all_taken() -> None:
    assert chosen([["a1"], []], [1, 2], [0.5, 0.5], 3) == (["a1"], [0, 2])
