"""Equal shares from sources that can run dry: what one cannot give is taken from the nearest that still can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dataflex_rl.data.tasks.items import Item


@dataclass(kw_only=True)
class Tap:
    """A source of items of one level. take: (how many) -> that many new ones, or fewer when it has run dry."""

    level: int
    take: Callable[[int], list[Item]]
    is_dry: bool = False


def share_out(count: int, taps: Sequence[Tap]) -> list[Item]:
    """Return `count` items, from each tap an equal part; fewer only where all taps have run dry.

    What a tap lacks comes in equal parts from the others of its level, then from the next higher level with any left,
    at last from the lower ones, lowest first.
    """
    kept: list[Item] = []
    parts = _even(count, len(taps))
    while any(parts):
        lacking: Counter[int] = Counter()
        for tap, part in zip(taps, parts, strict=True):
            found = tap.take(part) if part else []
            kept += found
            tap.is_dry = tap.is_dry or len(found) < part
            lacking[tap.level] += part - len(found)
        parts = _passed_on(lacking, taps)
    return kept


def _passed_on(lacking: Mapping[int, int], taps: Sequence[Tap]) -> list[int]:
    """Return what each tap has to give of {level: items that it lacks}; nothing when all are dry."""
    parts = [0] * len(taps)
    levels = sorted({tap.level for tap in taps if not tap.is_dry})
    for level, count in lacking.items():
        higher = [other for other in levels if other >= level]
        for target in (higher or levels)[:1]:
            givers = [i for i, tap in enumerate(taps) if tap.level == target and not tap.is_dry]
            for i, more in zip(givers, _even(count, len(givers)), strict=True):
                parts[i] += more
    return parts


def _even(count: int, parts: int) -> list[int]:
    """Return equal parts of a count, the first ones larger by one where it does not divide."""
    return [count // parts + (i < count % parts) for i in range(parts)]
