"""Keep the best part of the batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.ordering import level_B, rounded_share, sort_tiers
from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import register_actuator

NOISE = 1e-6  # equal advantages of two groups differ by a few rounding steps of float32


def topk_B(score_B: Tensor, order_B: Tensor, fraction: float, largest: bool) -> Tensor:
    """bool [B]: exactly round(fraction B) (half to even, at least 1) responses with the largest (or smallest) score.

    Scores within 1e-6 (relative above 1) tie; ties go to the smaller `order_B`.
    """
    whole_B = torch.zeros_like(order_B)  # the batch is one group
    tier_B = level_B(score_B, whole_B, NOISE, NOISE)
    order = sort_tiers(tier_B, order_B, whole_B, 1, falling=largest)
    count = rounded_share(fraction, torch.tensor(score_B.numel()))
    keep_B = torch.zeros_like(score_B, dtype=torch.bool)
    keep_B[order[: int(count)]] = True
    return keep_B


@register_actuator("topk", kind="select", granularity=("response", "prompt"))
@dataclass(frozen=True, kw_only=True)
class TopK:
    """Keep a fraction of the whole batch, best scores first."""

    fraction: float = 0.5
    largest: bool = True

    def __post_init__(self) -> None:
        """Check the fraction."""
        within("actuator 'topk': fraction", self.fraction, "above 0 and at most 1", 0 < self.fraction <= 1)

    def __call__(self, pool: Pool) -> Selection:
        """Keep exactly k of the pool."""
        return Selection(keep_B=topk_B(pool.score_B, pool.order_B, self.fraction, self.largest), reasons=("below_top",))
