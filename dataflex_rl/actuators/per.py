"""A power of the priority."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.pool import Pool
from dataflex_rl.components.registry import register_actuator

EPSILON = 1e-8  # so that a response with advantage 0 keeps a weight


def per_B(score_B: Tensor, alpha: float) -> Tensor:
    """float64 [B]: (abs(score) + 1e-8) ** alpha, before it is brought to mean 1. alpha 0 gives exactly 1.

    Source: arXiv 1511.05952 (proportional prioritisation).
    Departs: a weight on the loss instead of a sampling probability, so there is no importance correction.
    """
    return (score_B.abs() + EPSILON) ** alpha


@register_actuator("per", kind="reweight", granularity=("response", "prompt"))
@dataclass(frozen=True, kw_only=True)
class PER:
    """Weight of a response proportional to (abs(score) + 1e-8) ** alpha."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        """Check alpha."""
        within("actuator 'per': alpha", self.alpha, "a finite number >= 0", 0 <= self.alpha < math.inf)

    def __call__(self, pool: Pool) -> Tensor:
        """Raw weight of each response."""
        return per_B(pool.score_B, self.alpha)
