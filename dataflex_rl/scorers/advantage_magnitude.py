"""How far a response was from what the estimator expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import register_scorer
from dataflex_rl.components.segments import count_B, masked_max_B, masked_sum_B


def advantage_magnitude_B(advantage_N: Tensor, mask_N: Tensor, offset_B1: Tensor, agg: str) -> Tensor:
    """float64 [B]: mean, sum or max of abs(advantage) over the tokens with mask 1; 0 for a response without any."""
    if agg == "max":
        return masked_max_B(advantage_N, mask_N, offset_B1)
    sum_B = masked_sum_B(advantage_N, mask_N, offset_B1, of=abs)
    return sum_B if agg == "sum" else sum_B / count_B(mask_N, offset_B1).clamp(min=1)


@register_scorer(
    "advantage_magnitude", granularity="response", requires=("advantages", "response_mask"), timing="post_advantage"
)
@dataclass(frozen=True, kw_only=True)
class AdvantageMagnitude:
    """abs(advantage) of each response, aggregated over its tokens."""

    agg: Literal["mean", "sum", "max"] = "mean"

    def __call__(self, batch: Batch) -> Tensor:
        """float64 [B] magnitudes."""
        return advantage_magnitude_B(batch.advantages, batch.mask_N, batch.offset_B1, self.agg)
