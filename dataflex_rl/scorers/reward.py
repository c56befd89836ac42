"""Outcome of each response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import register_scorer


@register_scorer("reward", granularity="response", requires=("rm_scores", "response_mask"), timing="post_reward")
@dataclass(frozen=True, kw_only=True)
class Reward:
    """Outcome of each response: the sum of its token rewards, or the raw outcome (signal: acc)."""

    signal: Literal["reward", "acc"] = "reward"

    def fields(self) -> frozenset[str]:
        """Fields it reads with these options."""
        return frozenset({"rm_scores" if self.signal == "reward" else "acc", "response_mask"})

    def __call__(self, batch: Batch) -> Tensor:
        """float64 [B] outcomes."""
        return batch.outcome(self.signal)
