"""Whether two runs saw the same prompts: one rule, and what cannot be compared is no agreement."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.record.streams import Agreement, compare_stream, compare_streams
from dataflex_rl.seeding import StreamDigest


def digest(prompts: list[tuple[str, str]]) -> dict[str, Any]:
    found = StreamDigest()
    for key, domain in prompts:
        found.update(key, domain, 0)
    return found.state_dict()


def math(count: int, start: int = 0) -> list[tuple[str, str]]:
    return [(f"p{n}", "math") for n in range(start, start + count)]


LOGIC = [(f"q{n}", "logic") for n in range(5)]


@pytest.mark.parametrize(
    ("one", "other", "mixing", "answer", "reasons"),
    [
        (math(8), math(8), False, "agree", []),
        (math(8), math(6), False, "differ", ["prompt streams: the two (8 and 6 prompts) agree on 6 of 6 in common"]),
        (math(8), math(6), True, "agree", []),
        # 600 prompts have a mark at every fourth (at most 256 are kept), 3 prompts at each: none in common
        (math(600), math(3), True, "cannot be compared",
         ["prompt streams of math: the two (600 and 3 prompts) have no mark in common and cannot be compared"]),
        (math(600), math(3), False, "differ",
         ["prompt streams: the two (600 and 3 prompts) agree on 0 of 0 in common"]),
        (math(600), math(4), True, "agree", []),
        (math(600) + LOGIC, math(3) + LOGIC, True, "cannot be compared",
         ["prompt streams of math: the two (600 and 3 prompts) have no mark in common and cannot be compared"]),
        (math(600) + LOGIC, math(3) + LOGIC[1:], True, "differ",
         ["prompt streams of logic: the two (5 and 4 prompts) agree on 0 of 4 in common",
          "prompt streams of math: the two (600 and 3 prompts) have no mark in common and cannot be compared"]),
        (math(3), LOGIC, True, "cannot be compared", ["prompt streams: the two have no domain in common"]),
        (math(4), math(4, start=1), True, "differ",
         ["prompt streams of math: the two (4 and 4 prompts) agree on 0 of 4 in common"]),
    ],
)  # fmt: skip
def test_the_rule(one: Any, other: Any, mixing: bool, answer: str, reasons: list[str]) -> None:
    assert compare_streams(digest(one), digest(other), mixing=mixing) == (answer, reasons)
    assert compare_streams(digest(other), digest(one), mixing=mixing)[0] == answer


@pytest.mark.parametrize(
    ("one", "other", "mixing", "answer"),
    [
        (None, digest(math(3)), False, "not recorded"),
        ({}, None, True, "not recorded"),
        ("ab", "ab", False, "agree"),
        ("ab", "ac", False, "differ"),
        ("ab", "ac", True, "not recorded"),
        ({"all": 3}, digest(math(3)), False, "cannot be compared"),
        (digest(math(3)) | {"domains": {}}, digest(math(3)), True, "cannot be compared"),
    ],
)
def test_other_recordings(one: Any, other: Any, mixing: bool, answer: str) -> None:
    assert compare_streams(one, other, mixing=mixing)[0] == answer


def test_the_prompts_of_a_selector_are_compared_with_none() -> None:
    one, other = digest(math(8)), digest(LOGIC)
    assert compare_streams(one, other, mixing=False, choosing=True) == (Agreement.CHOSEN, [])
    assert compare_streams(one, one, mixing=True, choosing=True) == (Agreement.CHOSEN, [])
    assert compare_streams(None, other, mixing=False, choosing=True) == (Agreement.UNRECORDED, [])


@settings(max_examples=60, deadline=None)
@given(one=st.integers(1, 700), other=st.integers(1, 700), same=st.integers(0, 700))
def test_only_what_lies_behind_the_last_common_mark_is_left_open(one: int, other: int, same: int) -> None:
    """Two streams with `same` prompts in common; the answer may only leave open what lies between two marks."""
    first = digest(math(one))["all"]
    second = digest([*math(min(same, other)), *math(other - min(same, other), start=10_000)])["all"]
    answer, _ = compare_stream(first, second)
    if min(one, other) <= same:
        assert answer is not Agreement.DIFFER
    shared, spacing = min(one, other), max(first["every"], second["every"])
    if answer is Agreement.AGREE and same < shared:
        assert one != other
        assert shared - same <= spacing
    if answer is Agreement.INCOMPARABLE:
        assert shared < spacing
