"""Keep the part of each group whose rewards have the largest variance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.batch import REWARD_NOISE
from dataflex_rl.components.options import within
from dataflex_rl.components.ordering import level_B, place_in_group, rounded_share, sort_tiers
from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import register_actuator


def maxvar_B(reward_B: Tensor, group_B: Tensor, order_B: Tensor, n_groups: int, keep_fraction: float) -> Tensor:
    """bool [B]: per group of G exactly n = round(keep_fraction G) (half to even, at least 1) responses.

    They have the largest variance of all subsets of n; of several such subsets the one with the smallest tie ranks
    `order_B` is kept. Rewards within 1e-7 (relative above 1) are the same reward. A group of one is kept.

    The optimum is some a lowest and the n - a highest (arXiv 2504.13818). Going from a to a + 1 swaps the lowest kept
    high h for the next low l; with m the mean of the other n - 1, the variance rises if and only if l + h < 2 m. In a
    the left side rises and m falls, so the variance has one peak: the first step that does not rise is the answer.

    Source: arXiv 2504.13818.
    """
    size_G = torch.bincount(group_B, minlength=n_groups)
    keep_G = rounded_share(keep_fraction, size_G)
    # one response has no variance: all values alike, so that the rank alone decides
    value_B = torch.where(keep_G[group_B] > 1, reward_B, torch.zeros_like(reward_B))
    tier_B = level_B(value_B, group_B, REWARD_NOISE, REWARD_NOISE)
    rising = sort_tiers(tier_B, order_B, group_B, n_groups, falling=False)
    falling = sort_tiers(tier_B, order_B, group_B, n_groups, falling=True)
    group = group_B[rising]
    place = place_in_group(group, size_G)
    low_G = _peak_G(value_B[rising], tier_B[rising], order_B[rising], order_B[falling], group, place, size_G, keep_G)
    keep_B = torch.empty_like(reward_B, dtype=torch.bool)
    keep_B[rising] = place < low_G[group]
    high_G = keep_G - low_G
    keep_B[falling] |= place < high_G[group]
    return keep_B


def _peak_G(
    value: Tensor, tier: Tensor, rank_up: Tensor, rank_down: Tensor, group: Tensor, place: Tensor,
    size_G: Tensor, keep_G: Tensor,
) -> Tensor:  # fmt: skip
    """int64 [groups]: how many of the lowest belong to the best subset; rows sorted by (group, tier, rank)."""
    start_G = size_G.cumsum(0) - size_G
    step = (place < keep_G[group]).nonzero().squeeze(1)  # step a of a group: swap high h for low l = value[step]
    owner, taken = group[step], place[step]
    size, keep, start = size_G[owner], keep_G[owner], start_G[owner]
    high = start + size - keep + taken
    sum1 = torch.cat([value.new_zeros(1), value.cumsum(0)])  # sum1[i] = sum of the first i
    others = sum1[step] - sum1[start] + sum1[start + size] - sum1[high + 1]
    slope = value[step] + value[high] - 2 * others / (keep - 1).clamp(min=1)
    slack = 4 * REWARD_NOISE * torch.maximum(value[step].abs(), value[high].abs()).clamp(min=1.0)
    smaller = rank_up[step] < rank_down[start + keep - taken - 1]
    rises = (tier[step] == tier[high]) | (slope < -slack) | ((slope <= slack) & smaller)
    stop = torch.where(rises, keep, taken)
    return keep_G.scatter_reduce(0, owner, stop, reduce="amin")


@register_actuator("maxvar", kind="select", granularity=("response",), needs_groups=True)
@dataclass(frozen=True, kw_only=True)
class MaxVar:
    """Keep the keep_fraction of each group with the largest score variance."""

    keep_fraction: float = 0.5

    def __post_init__(self) -> None:
        """Check the fraction."""
        within(
            "actuator 'maxvar': keep_fraction", self.keep_fraction, "above 0 and at most 1", 0 < self.keep_fraction <= 1
        )

    def __call__(self, pool: Pool) -> Selection:
        """Keep n of each group."""
        keep_B = maxvar_B(pool.score_B, pool.group_B, pool.order_B, pool.n_groups, self.keep_fraction)
        return Selection(keep_B=keep_B, reasons=("low_variance",))
