"""Which of the finished groups are consumed, where more were generated than a batch needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def chosen(
    available_D: Sequence[Sequence[T]], ask_D: Sequence[int], share_D: Sequence[float], total: int
) -> tuple[list[T], list[int]]:
    """Return (groups to consume, shortage_D).

    Each domain gives its first `ask_D` groups; shortage is what it lacks. A gap is filled from the domains that have
    more, each time the one that is furthest below its share, ties to the earlier domain.

    Args:
        available_D: finished groups per domain, in the order in which they are to be used.
        ask_D: groups expected per domain, of sum `total`.
        share_D: target shares, which decide who fills a gap.
        total: groups to return; fewer are available only where fewer exist.
    """
    taken_D = [min(len(groups), ask) for groups, ask in zip(available_D, ask_D, strict=True)]
    shortage_D = [max(0, ask - len(groups)) for groups, ask in zip(available_D, ask_D, strict=True)]
    while sum(taken_D) < min(total, sum(len(groups) for groups in available_D)):
        spare = [d for d, groups in enumerate(available_D) if len(groups) > taken_D[d]]
        taken_D[max(spare, key=lambda d: (share_D[d] * total - taken_D[d], -d))] += 1
    return [group for groups, count in zip(available_D, taken_D, strict=True) for group in groups[:count]], shortage_D
