"""A benchmark's token limit travels with its items to the sampling parameters."""

from __future__ import annotations

import pytest

from dataflex_rl.host.agent_loop import with_limit


@pytest.mark.parametrize(
    ("params", "info", "expected"),
    [
        ({"temperature": 0}, {"max_new_tokens": 10}, {"temperature": 0, "max_tokens": 10}),
        ({}, {"max_new_tokens": 4096}, {"max_tokens": 64}),  # never above the run's own limit
        ({}, {"max_new_tokens": None}, {}),
        ({}, {}, {}),
        ({}, None, {}),
        ({"max_tokens": 5}, {"max_new_tokens": 10}, {"max_tokens": 5}),
        ({"max_new_tokens": 5}, {"max_new_tokens": 10}, {"max_new_tokens": 5}),
    ],
)
def test_the_limit_of_an_item_holds(params: dict[str, int], info: object, expected: dict[str, int]) -> None:
    given = dict(params)
    assert with_limit(given, info, 64) == expected
    assert given == params
