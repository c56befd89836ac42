"""Orders with exact ties: values that differ only by float noise are one level, and a rank decides inside a level."""

from __future__ import annotations

import torch
from torch import Tensor


def argsort_by(*keys: Tensor) -> Tensor:
    """int64: indices that sort by the first key, then the second, and so on; equal in all keys: by position."""
    order = torch.arange(keys[0].numel(), device=keys[0].device)
    for key in reversed(keys):
        order = order[torch.sort(key[order], stable=True).indices]
    return order


def level_B(value_B: Tensor, group_B: Tensor, absolute: float, relative: float) -> Tensor:
    """int64 [B]: number of each value's level, rising with (group, value) over the whole batch.

    Two neighbours of one group in sorted order share a level if they differ by at most
    max(absolute, relative * abs(value)).
    """
    order = argsort_by(group_B, value_B)
    value, group = value_B[order], group_B[order]
    slack = (relative * value[1:].abs()).clamp(min=absolute)
    starts = (group[1:] != group[:-1]) | (value[1:] - value[:-1] > slack)
    level = torch.zeros_like(order)
    level[1:] = starts.cumsum(0)
    out_B = torch.empty_like(level)
    out_B[order] = level
    return out_B


def sort_tiers(tier_B: Tensor, order_B: Tensor, group_B: Tensor, n_groups: int, *, falling: bool) -> Tensor:
    """int64: indices that sort by group, then by tier (rising or falling), then by `order_B`.

    Tiers are those of `level_B`, which rise with the group; `order_B` holds numbers >= 0. One sort of a joint key.
    """
    if tier_B.numel() == 0:
        return tier_B
    if falling:
        last = int(tier_B.max())
        low_G = torch.full((n_groups,), last, device=tier_B.device).scatter_reduce(0, group_B, tier_B, reduce="amin")
        high_G = torch.zeros_like(low_G).scatter_reduce(0, group_B, tier_B, reduce="amax")
        tier_B = (low_G + high_G)[group_B] - tier_B
    return torch.sort(tier_B * (int(order_B.max()) + 1) + order_B, stable=True).indices


def place_in_group(group: Tensor, size_G: Tensor) -> Tensor:
    """int64: 0, 1, 2, ... inside each group, for a `group` that is sorted."""
    start_G = size_G.cumsum(0) - size_G
    return torch.arange(group.numel(), device=group.device) - start_G[group]


def rounded_share(fraction: float, size: Tensor) -> Tensor:
    """int64: round(fraction * size), half to even, at least 1 where size is at least 1.

    The product is first rounded to 9 decimals, so that 0.575 * 100 is the half it is in decimal.
    """
    product = torch.round(fraction * size.double() * 1e9) / 1e9
    return torch.minimum(torch.round(product).long().clamp(min=1), size)
