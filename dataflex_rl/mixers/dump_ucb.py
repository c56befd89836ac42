"""More of the domain with large advantages, or with few visits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_mixer
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.shares import check_floor, check_options, floored_D, softmax_D
from dataflex_rl.mixers.statistics import DomainStats


def dump_ucb_D(value_D: Tensor, visit_D: Tensor, c: float) -> Tensor:
    """float64 [D]: value + c sqrt(2 ln(N + 1) / (n_d + 1)) with n_d the visits of a domain and N their sum.

    Source: arXiv 2504.09710.
    """
    total = int(visit_D.sum())
    return value_D.double() + c * (2.0 * math.log(total + 1) / (visit_D.double() + 1.0)).sqrt()


@register_mixer("dump_ucb", requires=("advantages", "response_mask"), timing="pre_rollout")
@dataclass(frozen=True, kw_only=True)
class DumpUCB(Mixer):
    """Upper confidence bound of the mean abs(advantage); visits are responses since the start."""

    statistic: ClassVar[str] = "advantage"

    temperature: float = 1.0
    c: float = 1.0
    floor: float = 0.05

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_options("dump_ucb", self.temperature, self.floor)
        within("mixer 'dump_ucb': c", self.c, "a finite number of at least 0", 0 <= self.c < math.inf)

    def check(self, domains: Sequence[str], window: int) -> None:
        """Refuse D x floor >= 1."""
        check_floor("dump_ucb", self.floor, domains)

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D] shares, each >= floor. A domain without data in the window has value 0: its bonus speaks."""
        return floored_D(softmax_D(dump_ucb_D(value_D, stats.seen_D, self.c), self.temperature), self.floor)
