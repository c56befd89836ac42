"""More of the domain that lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.registry import register_mixer
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.shares import check_floor, check_options, floored_D, softmax_D
from dataflex_rl.mixers.statistics import DomainStats


def reward_gap_D(reward_D: Tensor, temperature: float) -> Tensor:
    """float64 [D]: shares proportional to exp((largest reward - reward) / temperature), before the floor."""
    return softmax_D(reward_D.max() - reward_D, temperature)


@register_mixer("reward_gap", requires=("rm_scores", "response_mask"))
@dataclass(frozen=True, kw_only=True)
class RewardGap(Mixer):
    """Share of a domain grows with the gap of its mean reward to the best domain's."""

    temperature: float = 1.0
    floor: float = 0.05

    def __post_init__(self) -> None:
        """Check the ranges; an infinite temperature means equal shares."""
        check_options("reward_gap", self.temperature, self.floor)

    def check(self, domains: Sequence[str], window: int) -> None:
        """Refuse D x floor >= 1."""
        check_floor("reward_gap", self.floor, domains)

    def measure_D(self, stats: DomainStats) -> Tensor:
        """float64 [D]: mean reward over the window; a domain without data takes the mean of those with data."""
        if not bool(stats.has_D.any()):
            return stats.mean_D
        return torch.where(stats.has_D, stats.mean_D, stats.mean_D[stats.has_D].mean())

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D] shares, each >= floor."""
        return floored_D(reward_gap_D(value_D, self.temperature), self.floor)
