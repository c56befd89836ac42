"""A bonus for the responses in the middle of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dataflex_rl.components.batch import REWARD_NOISE
from dataflex_rl.components.options import within
from dataflex_rl.components.pool import Pool
from dataflex_rl.components.registry import register_actuator


def diffband_B(score_B: Tensor, low_q: float, high_q: float, focus_weight: float) -> Tensor:
    """float64 [B]: focus_weight if the score lies in the closed low_q..high_q quantile range of the batch, else 1.

    Quantiles are interpolated linearly; a score within 1e-7 (relative above 1) of a bound is inside. The result is
    before it is brought to mean 1. With 0/1 rewards and a batch accuracy between low_q and high_q the range is 0..1,
    every response is inside, and the method equals uniform.
    """
    value = torch.sort(score_B).values
    low, high = _quantile(value, low_q), _quantile(value, high_q)
    inside_B = (score_B >= low - REWARD_NOISE * max(1.0, abs(low))) & (
        score_B <= high + REWARD_NOISE * max(1.0, abs(high))
    )
    return torch.ones_like(score_B).masked_fill_(inside_B, focus_weight)


def _quantile(rising: Tensor, q: float) -> float:
    place = q * (rising.numel() - 1)
    below = int(place)
    above = min(below + 1, rising.numel() - 1)
    low, high = float(rising[below]), float(rising[above])
    return low + (place - below) * (high - low)


@register_actuator("diffband", kind="reweight", granularity=("response", "prompt"))
@dataclass(frozen=True, kw_only=True)
class DiffBand:
    """Weight focus_weight inside the low_q..high_q quantile range of the batch, 1 outside."""

    notice: ClassVar[str] = (
        "every response lies in diffband's quantile range, so this step equals uniform; with 0/1 rewards that is so "
        "whenever the batch accuracy is between low_q and high_q (said once)"
    )

    low_q: float = 0.25
    high_q: float = 0.75
    focus_weight: float = 2.0

    def __post_init__(self) -> None:
        """Check the quantiles and the weight."""
        within("actuator 'diffband': low_q", self.low_q, "between 0 and 1", 0 <= self.low_q <= 1)
        within("actuator 'diffband': high_q", self.high_q, "between 0 and 1", 0 <= self.high_q <= 1)
        within("actuator 'diffband': low_q", self.low_q, f"at most high_q={self.high_q}", self.low_q <= self.high_q)
        finite = 0 <= self.focus_weight < float("inf")
        within("actuator 'diffband': focus_weight", self.focus_weight, "a finite number >= 0", finite)

    def __call__(self, pool: Pool) -> Tensor:
        """Raw weight of each response."""
        return diffband_B(pool.score_B, self.low_q, self.high_q, self.focus_weight)
