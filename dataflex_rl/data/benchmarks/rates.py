"""Responses that were cut off or state no answer: they, not ability, often move a score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

FLAG = 0.1  # a rate above it is said aloud


def answer_rates(items: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return {benchmark: {"truncated": share, "unparseable": share}} of evaluated items, sorted by name.

    An item is {benchmark, truncated, pred, ...} as in eval_items.jsonl; a response is unparseable if its `pred` is "".
    A verifier that gives no pred (None) makes no response unparseable.
    """
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for item in items:
        groups[str(item["benchmark"])].append(item)
    return {
        name: {
            "truncated": sum(bool(item["truncated"]) for item in group) / len(group),
            "unparseable": sum(item["pred"] == "" for item in group) / len(group),
        }
        for name, group in sorted(groups.items())
    }


def rate_metrics(items: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rates as metrics: `dataflex/eval/<benchmark>/truncated` and `.../unparseable`."""
    return {
        f"dataflex/eval/{name}/{kind}": rate
        for name, rates in answer_rates(items).items()
        for kind, rate in rates.items()
    }


def flags(items: Iterable[Mapping[str, Any]], *, above: float = FLAG) -> list[str]:
    """Return one line per benchmark and rate above the limit: `aime24: 40% of the responses were cut off`."""
    said = {"truncated": "were cut off at their token limit", "unparseable": "state no answer the verifier can read"}
    return [
        f"{name}: {rate:.0%} of the responses {said[kind]}"
        for name, rates in answer_rates(items).items()
        for kind, rate in rates.items()
        if rate > above
    ]
