"""The k-th prompt of a domain, pass by pass, and what a resume must not change."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.streams import DomainStreams

# rows 0..5: a a b a b c
OF_ROW = [0, 0, 1, 0, 1, 2]
ORDERS = [[5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5], [3, 5, 0, 2, 4, 1]]


def order(number: int) -> list[int]:
    return ORDERS[number % 3]


def streams() -> DomainStreams:
    return DomainStreams(order, OF_ROW, ["a", "b", "c"])


def test_a_stream_is_the_subsequence_of_every_pass() -> None:
    made = streams()
    assert made.take(0, 2) == ([3, 1], 0)  # pass 0: a's rows in the order 3, 1, 0
    assert made.take(0, 3) == ([0, 0, 1], 2)  # then pass 1: 0, 1, 3
    assert made.take(0, 1) == ([3], 1)
    assert made.take(0, 3) == ([3, 0, 1], 3)  # pass 2
    assert made.take(2, 3) == ([5, 5, 5], 2)  # one prompt: drawn again in every pass


def test_domains_advance_on_their_own() -> None:
    one, other = streams(), streams()
    other.take(1, 7)
    other.take(2, 5)
    assert one.take(0, 8) == other.take(0, 8)


def test_rows_left_out_are_never_drawn() -> None:
    made = DomainStreams(order, [0, 0, -1, 0, -1, 1], ["a", "c"])
    assert made.take(0, 6)[0] == [3, 1, 0, 0, 1, 3]
    assert made.take(1, 2)[0] == [5, 5]


def test_a_pass_may_lack_a_domain() -> None:
    cut = [[0, 1], [5, 0], [1, 3]]  # c's only prompt stands in the cut part of passes 0 and 2
    made = DomainStreams(lambda number: cut[number % 3], OF_ROW, ["a", "b", "c"])
    assert made.take(2, 2) == ([5, 5], 2)


def test_a_domain_that_never_comes_is_refused() -> None:
    with pytest.raises(ConfigError, match="domain 'd' has no prompt in the training data"):
        DomainStreams(order, OF_ROW, ["a", "b", "c", "d"])
    made = DomainStreams(lambda number: [0, 1], OF_ROW, ["a", "b", "c"])
    with pytest.raises(ConfigError, match="domain 'c' stands only in the part of each pass that is cut off"):
        made.take(2, 1)


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_any_split_of_the_draws_gives_the_same_streams(
    seed: int, draws: list[tuple[int, int]], data: st.DataObject
) -> None:
    rows = [0, 1, 2] + [random.Random(seed).randrange(3) for _ in range(17)]

    def shuffled(number: int) -> list[int]:
        return random.Random(seed * 1000 + number).sample(range(20), 20)

    stop = data.draw(st.integers(0, len(draws)), label="resumed after")
    whole, part = DomainStreams(shuffled, rows, "abc"), DomainStreams(shuffled, rows, "abc")
    expected = [whole.take(domain, count) for domain, count in draws]
    seen = [part.take(domain, count) for domain, count in draws[:stop]]
    resumed = DomainStreams(shuffled, rows, "abc")
    resumed.load_state_dict(part.state_dict())
    seen += [resumed.take(domain, count) for domain, count in draws[stop:]]
    assert seen == expected
    for domain in range(3):  # the k-th prompt does not depend on who else drew, nor in which portions
        drawn = [row for (d, _), (taken, _) in zip(draws, expected, strict=True) if d == domain for row in taken]
        assert drawn == DomainStreams(shuffled, rows, "abc").take(domain, len(drawn))[0]
