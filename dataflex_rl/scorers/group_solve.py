"""Share of a prompt's responses that solved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import register_scorer


def group_solve_B(outcome_B: Tensor, group_B: Tensor, real_B: Tensor, n_groups: int, threshold: float) -> Tensor:
    """float64 [B]: count of the group's real responses with outcome > threshold over their number.

    Counts are integers and the quotient is the float64 nearest to the fraction, so 1 of 5 equals the literal 0.2.
    A group of one has rate 0 or 1; a group with no real response (padding only) has rate 0.

    Source: arXiv 2503.14476 (dynamic sampling reads a group's accuracy).
    """
    solved_G = torch.bincount(group_B[(outcome_B > threshold) & real_B], minlength=n_groups)
    size_G = torch.bincount(group_B[real_B], minlength=n_groups)
    return (solved_G.double() / size_G.clamp(min=1).double())[group_B]


@register_scorer(
    "group_solve", granularity="prompt", requires=("rm_scores", "uid"), timing="post_reward", needs_groups=True
)
@dataclass(frozen=True, kw_only=True)
class GroupSolve:
    """Share of the group's responses whose outcome exceeds success_threshold."""

    success_threshold: float = 0.5
    signal: Literal["reward", "acc"] = "reward"

    def fields(self) -> frozenset[str]:
        """Fields it reads with these options."""
        return frozenset({"rm_scores" if self.signal == "reward" else "acc", "uid"})

    def __call__(self, batch: Batch) -> Tensor:
        """float64 [B] solve rates."""
        outcome_B = batch.outcome(self.signal)
        return group_solve_B(outcome_B, batch.group_B, batch.real_B, batch.n_groups, self.success_threshold)
