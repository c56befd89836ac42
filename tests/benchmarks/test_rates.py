"""Responses that were cut off or state no answer."""

from __future__ import annotations

from dataflex_rl.data.benchmarks.rates import answer_rates, flags, rate_metrics

ITEMS = [
    {"benchmark": "aime24", "truncated": True, "pred": ""},
    {"benchmark": "aime24", "truncated": True, "pred": "4"},
    {"benchmark": "aime24", "truncated": False, "pred": "5"},
    {"benchmark": "aime24", "truncated": False, "pred": "6"},
    {"benchmark": "sciq", "truncated": False, "pred": None},
    {"benchmark": "sciq", "truncated": False, "pred": "A"},
]


def test_rates_are_counted_per_benchmark() -> None:
    # aime24: 2 of 4 cut off, 1 of 4 without an answer; a verifier without preds makes none unparseable
    assert answer_rates(ITEMS) == {
        "aime24": {"truncated": 0.5, "unparseable": 0.25},
        "sciq": {"truncated": 0.0, "unparseable": 0.0},
    }
    assert rate_metrics(ITEMS)["dataflex/eval/aime24/unparseable"] == 0.25
    assert answer_rates([]) == {}


def test_what_is_above_the_limit_is_said() -> None:
    assert flags(ITEMS) == [
        "aime24: 50% of the responses were cut off at their token limit",
        "aime24: 25% of the responses state no answer the verifier can read",
    ]
    assert flags(ITEMS, above=0.25) == flags(ITEMS)[:1]
    assert flags(ITEMS, above=0.5) == []
