"""Backfill: bounded, with a stated end, and resumable between any two rounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.backfill import Backfill, Batch, Group, State, add, finish, start, tokens_generated, wanted_D


def groups(text: str, *, first: int = 0, domain: int = 0, tokens: int = 10) -> list[Group]:
    """One group per letter: s has signal, c is constant; uids count up."""
    return [
        Group(uid=f"g{first + place}", domain=domain, tokens=tokens, signal=letter == "s")
        for place, letter in enumerate(text)
    ]


def run(options: Backfill, state: State, make: Callable[[int, int], list[Group]]) -> tuple[Batch, State, list[int]]:
    """Play a step: make(round, expected) gives the groups of a round of one domain."""
    asked = []
    while any(wanted_D(options, state)):
        asked.append(sum(wanted_D(options, state)))
        assert len(asked) < 50, "never ends"
        state = add(state, make(len(asked) - 1, asked[-1]))
    return finish(options, state), state, asked


def uids(found: tuple[Group, ...]) -> list[str]:
    return [group.uid for group in found]


def test_constant_groups_are_replaced_until_the_batch_is_full() -> None:
    rounds = ["scsc", "cs", "s"]
    batch, state, asked = run(Backfill(), start((4,)), lambda r, n: groups(rounds[r], first=10 * r))
    assert asked == [4, 2, 1]
    assert uids(batch.train) == ["g0", "g2", "g11", "g20"]
    assert (uids(batch.dropped), batch.carry, batch.ended) == (["g1", "g3", "g10"], (), "full")
    assert (batch.missing_D, batch.skip_update, tokens_generated(state)) == ((0,), False, 70)


@pytest.mark.parametrize(
    ("on_short", "trained", "skip"),
    [("train_short", ["g0"], False), ("fill_constant", ["g0", "g1", "g2", "g3"], False), ("skip_update", [], True)],
)
def test_the_end_when_it_stays_short(on_short: Any, trained: list[str], skip: bool) -> None:
    options = Backfill(max_rounds=2, max_tokens_factor=10, on_short=on_short)
    batch, _, asked = run(options, start((4,)), lambda r, n: groups("sccc" if r == 0 else "c" * n, first=10 * r))
    assert asked == [4, 3, 3]
    assert (uids(batch.train), batch.skip_update) == (trained, skip)
    assert (batch.ended, batch.missing_D) == ("max_rounds", (3,))
    assert uids(batch.carry) == (["g0"] if skip else [])  # what was not trained on serves the next step


@pytest.mark.parametrize("on_short", ["train_short", "fill_constant", "skip_update"])
def test_all_constant_data_ends(on_short: Any) -> None:
    # factor 2 of a plain batch of 4 x 10 tokens: 4 + 4 groups and no more
    options = Backfill(on_short=on_short)
    batch, state, asked = run(options, start((4,)), lambda r, n: groups("c" * n, first=10 * r))
    assert asked == [4, 4]
    assert (batch.ended, tokens_generated(state)) == ("max_tokens", 80)
    assert len(batch.train) == (4 if on_short == "fill_constant" else 0)
    assert batch.skip_update is (on_short != "fill_constant")


def test_the_last_round_asks_for_what_the_tokens_allow() -> None:
    # plain batch 4 x 10; after 4 groups of 10 and 4 of 8: 72 of 80 spent, mean 9: no whole group fits any more
    options = Backfill(max_rounds=9)
    state = add(add(start((4,)), groups("cccc")), groups("cccc", first=10, tokens=8))
    assert wanted_D(options, state) == (0,)
    assert finish(options, state).ended == "max_tokens"
    # after 4 of 10 and 3 of 10: one more of 10
    state = add(add(start((4,)), groups("cccc")), groups("ccc", first=10))
    assert wanted_D(options, state) == (1,)


def test_no_prompts_left_is_an_end() -> None:
    state = add(start((4,)), groups("scc"), exhausted=True)
    assert wanted_D(Backfill(), state) == (0,)
    assert finish(Backfill(), state).ended == "no_prompts"


def test_surplus_serves_one_later_step() -> None:
    # 2 expected, 4 with signal: two are left for the next step, which then generates one group only
    first = finish(Backfill(), add(start((2,)), groups("ssss")))
    assert (uids(first.train), uids(first.carry)) == (["g0", "g1"], ["g2", "g3"])
    state = start((3,), first.carry)
    assert [group.age for group in state.groups] == [1, 1]
    assert wanted_D(Backfill(), state) == (1,)
    state = add(state, groups("s", first=10))
    second = finish(Backfill(), state)
    assert (uids(second.train), tokens_generated(state)) == (["g2", "g3", "g10"], 10)
    third = finish(Backfill(), start((1,), first.carry))  # a step old and not needed: dropped, not carried again
    assert (uids(third.train), third.carry, uids(third.dropped)) == (["g2"], (), ["g3"])
    none = finish(Backfill(carry=False), add(start((2,)), groups("ssss")))
    assert (none.carry, uids(none.dropped)) == ((), ["g2", "g3"])


def test_quotas_hold_in_the_batch_that_is_trained() -> None:
    state = start((2, 2))
    state = add(state, [*groups("sc"), *groups("ss", first=5, domain=1)])
    assert wanted_D(Backfill(), state) == (1, 0)
    state = add(state, groups("s", first=10))
    batch = finish(Backfill(), state)
    assert [group.domain for group in batch.train] == [0, 0, 1, 1]
    short = finish(
        Backfill(on_short="fill_constant"), add(start((2, 2)), [*groups("sc"), *groups("sss", first=5, domain=1)])
    )
    assert uids(short.train) == ["g0", "g1", "g5", "g6"]  # the constant one of its own domain, not another's surplus
    # two domains lack 2 and 1 and two groups fit: one each, the first in need first
    state = add(start((2, 1)), [*groups("cc"), *groups("c", first=5, domain=1)])
    assert wanted_D(Backfill(max_tokens_factor=1.67, max_rounds=9), state) == (2, 0)  # after one: 1 and 1, ties earlier


@given(st.integers(1, 8), st.integers(0, 4), st.floats(1, 4), st.integers(0, 10_000), st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_it_ends_within_its_bounds(size: int, rounds: int, factor: float, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    options = Backfill(max_rounds=rounds, max_tokens_factor=factor, on_short="fill_constant")

    def make(round_: int, n: int) -> list[Group]:
        letters = "".join("s" if rng.random() < share else "c" for _ in range(n))
        return groups(letters, first=100 * round_)

    batch, state, asked = run(options, start((size,)), make)
    assert len(asked) <= 1 + rounds
    assert tokens_generated(state) <= max(factor, 1.0) * size * 10 + 1e-6  # equal lengths: the bound is exact
    assert len(batch.train) == size
    assert sorted(uids(batch.train + batch.carry + batch.dropped)) == sorted(uids(state.groups))
    if sum(group.signal for group in state.groups) >= size:
        assert all(group.signal for group in batch.train)


def test_a_step_resumes_between_rounds() -> None:
    state = add(start((4,), groups("s", first=90)), groups("scc"), exhausted=False)
    again = State.of(json.loads(json.dumps(state.state_dict())))
    assert again == state
    assert wanted_D(Backfill(), again) == wanted_D(Backfill(), state) == (2,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rounds": -1}, "backfill: max_rounds must be an integer of at least 0, got -1"),
        ({"max_tokens_factor": 0.5}, r"backfill: max_tokens_factor must be at least 1 \(plain batches\), got 0.5"),
        ({"on_short": "stop"}, "backfill: on_short must be one of train_short, fill_constant, skip_update, got 'stop'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Backfill(**options)


def test_a_group_is_finished_once() -> None:
    with pytest.raises(ConfigError, match="backfill: group 'g0' is finished twice in a step"):
        add(add(start((4,)), groups("s")), groups("s"))
