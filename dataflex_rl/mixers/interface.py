"""What a mixer is: a dataclass of options with two pure functions, statistics -> value and value -> share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from dataflex_rl.mixers.statistics import DomainStats


class Mixer:
    """Base of all mixers. A third party's mixer is a frozen dataclass on it, registered with `register_mixer`.

    `statistic` is what is averaged per response, step and domain: `reward` or `advantage` (its absolute value). A
    configured `dataflex.mixer.scorer` takes its place.
    """

    statistic: ClassVar[str] = "reward"

    def check(self, domains: Sequence[str], window: int) -> None:
        """Raise ConfigError where the options do not fit the domains or the window [steps]."""
        assert domains
        assert window >= 1

    def start_D(self, domains: Sequence[str]) -> Tensor:
        """float64 [D] shares before the first update: equal."""
        return torch.full((len(domains),), 1.0 / len(domains), dtype=torch.float64)

    def measure_D(self, stats: DomainStats) -> Tensor:
        """float64 [D], finite: the value of each domain that shares are computed from, and that is logged."""
        return stats.mean_D

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D] shares, at least 0 and of sum 1, from the values of `measure_D`."""
        raise NotImplementedError(f"mixer {type(self).__name__} has no share_D")
