"""Fixed shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.errors import ConfigError
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.statistics import DomainStats
from dataflex_rl.registry import register_mixer

_SLACK = 1e-6  # how far from 1 the sum of given shares may be, so that three thirds of six digits pass


@register_mixer("static", requires=("rm_scores", "response_mask"))
@dataclass(frozen=True, kw_only=True)
class Static(Mixer):
    """Fixed shares: `proportions` {domain: share} of sum 1, or null for equal ones. The control of the mixers.

    It reads no statistic; the mean reward is logged.
    """

    proportions: Mapping[str, float] | None = None

    def check(self, domains: Sequence[str], window: int) -> None:
        """Refuse shares that do not name every domain once, are negative, or do not sum to 1."""
        if self.proportions is None:
            return
        if unknown := [name for name in self.proportions if name not in domains]:
            raise ConfigError(
                f"mixer 'static': proportions name the unknown domain {unknown[0]!r}; known: {', '.join(domains)}"
            )
        if lacking := [name for name in domains if name not in self.proportions]:
            raise ConfigError(
                f"mixer 'static': proportions lack the domain {lacking[0]!r}; give it a share (0 is one), or leave it "
                "out of dataflex.mixer.domains"
            )
        for name, share in self.proportions.items():
            if not 0 <= share <= 1:
                raise ConfigError(f"mixer 'static': the share of {name!r} is {share:g}, wanted 0 to 1")
        total = sum(self.proportions.values())
        if abs(total - 1) > _SLACK:
            given = ", ".join(f"{name}: {share:g}" for name, share in self.proportions.items())
            raise ConfigError(f"mixer 'static': proportions ({given}) sum to {total:g}, wanted 1")

    def start_D(self, domains: Sequence[str]) -> Tensor:
        """float64 [D]: the proportions, brought to sum 1 exactly."""
        if self.proportions is None:
            return super().start_D(domains)
        share_D = torch.tensor([self.proportions[name] for name in domains], dtype=torch.float64)
        return share_D / share_D.sum()

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D]: the same at every step."""
        return self.start_D(stats.domains)
