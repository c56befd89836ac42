"""Less weight on improbable tokens."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.pool import TokenPool
from dataflex_rl.components.registry import register_actuator


def ar_N(prob_N: Tensor, alpha: float) -> Tensor:
    """[N]: alpha * probability + (1 - alpha), before it is brought to mean 1. alpha 0 gives exactly 1.

    Source: arXiv 2505.12929.
    """
    return (prob_N * alpha).add_(1.0 - alpha)


@register_actuator("ar", kind="reweight", granularity=("token",))
@dataclass(frozen=True, kw_only=True)
class AR:
    """Weight of a token = alpha * score + (1 - alpha)."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        """Check alpha."""
        within("actuator 'ar': alpha", self.alpha, "between 0 and 1", 0 <= self.alpha <= 1)

    def __call__(self, pool: TokenPool) -> Tensor:
        """Raw weight of each token."""
        return ar_N(pool.score_N, self.alpha)
