"""Fixed shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.registry import register_mixer
from dataflex_rl.errors import ConfigError
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.statistics import DomainStats

_SLACK = 1e-6  # how far from 1 the sum of given shares may be, so that three thirds of six digits pass


@register_mixer("static", requires=("rm_scores", "response_mask"))
@dataclass(frozen=True, kw_only=True)
class Static(Mixer):
    """Fixed shares: `proportions` of sum 1, or null for equal ones. The control of the mixers.

    Given as {domain: share}, or as a list in the order of the domains (that of `dataflex.mixer.domains`, else
    alphabetical). It reads no statistic; the mean reward is logged.
    """

    proportions: Mapping[str, float] | Sequence[float] | None = None

    def check(self, domains: Sequence[str], window: int) -> None:
        """Refuse shares that do not name every domain once, are negative, or do not sum to 1."""
        if self.proportions is None:
            return
        given = self._named(domains)
        if unknown := [name for name in given if name not in domains]:
            raise ConfigError(
                f"mixer 'static': proportions name the unknown domain {unknown[0]!r}; known: {', '.join(domains)}"
            )
        if lacking := [name for name in domains if name not in given]:
            raise ConfigError(
                f"mixer 'static': proportions lack the domain {lacking[0]!r}; give it a share (0 is one), or leave it "
                "out of dataflex.mixer.domains"
            )
        for name, share in given.items():
            if not 0 <= share <= 1:
                raise ConfigError(f"mixer 'static': the share of {name!r} is {share:g}, expected 0 to 1")
        total = sum(given.values())
        if abs(total - 1) > _SLACK:
            shown = ", ".join(f"{name}: {share:g}" for name, share in given.items())
            raise ConfigError(f"mixer 'static': proportions ({shown}) sum to {total:g}, expected 1")

    def start_D(self, domains: Sequence[str]) -> Tensor:
        """float64 [D]: the proportions, brought to sum 1 exactly."""
        if self.proportions is None:
            return super().start_D(domains)
        given = self._named(domains)
        share_D = torch.tensor([given[name] for name in domains], dtype=torch.float64)
        return share_D / share_D.sum()

    def _named(self, domains: Sequence[str]) -> Mapping[str, float]:
        """Return the proportions by name."""
        assert self.proportions is not None
        if isinstance(self.proportions, Mapping):
            return self.proportions
        if len(self.proportions) != len(domains):
            raise ConfigError(
                f"mixer 'static': proportions are {len(self.proportions)} shares for {len(domains)} domains "
                f"({', '.join(domains)})"
            )
        return dict(zip(domains, self.proportions, strict=True))

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D]: the same at every step."""
        return self.start_D(stats.domains)
