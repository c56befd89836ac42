"""Keep the most efficient responses of each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.ordering import level_B, place_in_group, sort_tiers
from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import register_actuator

NOISE = 1e-7  # relative: one rounding step of a float32 reward


def gfpo_B(merit_B: Tensor, group_B: Tensor, order_B: Tensor, n_groups: int, k: int) -> Tensor:
    """bool [B]: per group the min(k, G) responses of largest merit; merits within 1e-7 relative tie by `order_B`.

    Source: arXiv 2508.09726.
    """
    size_G = torch.bincount(group_B, minlength=n_groups)
    tier_B = level_B(merit_B, group_B, 0.0, NOISE)
    order = sort_tiers(tier_B, order_B, group_B, n_groups, falling=True)
    keep_B = torch.empty_like(group_B, dtype=torch.bool)
    keep_B[order] = place_in_group(group_B[order], size_G) < k
    return keep_B


@register_actuator(
    "gfpo", kind="select", granularity=("response", "prompt"), requires=("response_mask",), needs_groups=True
)
@dataclass(frozen=True, kw_only=True)
class GFPO:
    """Keep the k responses of each group with the best score per token, or the shortest."""

    k: int = 3
    metric: Literal["efficiency", "short"] = "efficiency"

    def __post_init__(self) -> None:
        """Check k."""
        within("actuator 'gfpo': k", self.k, "at least 1", self.k >= 1)

    def __call__(self, pool: Pool) -> Selection:
        """Keep min(k, G) of each group. Lengths are at least 1 in a pool."""
        length_B = pool.length_B.double()
        merit_B = pool.score_B / length_B if self.metric == "efficiency" else -length_B
        keep_B = gfpo_B(merit_B, pool.group_B, pool.order_B, pool.n_groups, self.k)
        return Selection(keep_B=keep_B, reasons=("inefficient" if self.metric == "efficiency" else "long",))
