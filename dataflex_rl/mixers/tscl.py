"""More of the domain whose reward moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dataflex_rl.components.registry import register_mixer
from dataflex_rl.errors import ConfigError
from dataflex_rl.mixers.interface import Mixer
from dataflex_rl.mixers.shares import check_floor, check_options, floored_D, softmax_D
from dataflex_rl.mixers.statistics import DomainStats


def slope_D(step_W: Tensor, sum_WD: Tensor, count_WD: Tensor) -> Tensor:
    """float64 [D]: least-squares slope of the per-step domain means against the step number [per step].

    Steps without data of a domain are not points of its line; with fewer than 2 points the slope is 0.
    """
    has_WD = count_WD > 0
    points_D = has_WD.sum(0)
    mean_WD = sum_WD / count_WD.clamp(min=1)
    weight_WD = has_WD.double() / points_D.clamp(min=1)
    x_WD = step_W.double()[:, None].expand_as(mean_WD)
    x_WD = (x_WD - (x_WD * weight_WD).sum(0)) * has_WD
    y_WD = (mean_WD - (mean_WD * weight_WD).sum(0)) * has_WD
    spread_D = x_WD.square().sum(0)
    fitted_D = (x_WD * y_WD).sum(0) / torch.where(points_D >= 2, spread_D, 1.0)
    return torch.where(points_D >= 2, fitted_D, 0.0)


def change_D(stats: DomainStats, *, per: str, signed: bool) -> Tensor:
    """float64 [D]: size of the fitted change, slope x (window - 1); per="step": of the bare slope.

    `signed` keeps only improvement: a falling domain has 0.

    Source: arXiv 1707.00183 (window variant).
    """
    fitted_D = slope_D(stats.step_W, stats.sum_WD, stats.count_WD) * (stats.window - 1 if per == "window" else 1)
    return fitted_D.clamp(min=0.0) if signed else fitted_D.abs()


@register_mixer("tscl", requires=("rm_scores", "response_mask"))
@dataclass(frozen=True, kw_only=True)
class TSCL(Mixer):
    """Share of a domain grows with the fitted change of its mean reward over the window."""

    temperature: float = 1.0
    floor: float = 0.05
    signed: bool = False
    per: Literal["window", "step"] = "window"

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_options("tscl", self.temperature, self.floor)

    def check(self, domains: Sequence[str], window: int) -> None:
        """Refuse D x floor >= 1, and a window in which no slope exists."""
        check_floor("tscl", self.floor, domains)
        if window < 2:
            raise ConfigError(f"mixer 'tscl' fits a slope: dataflex.mixer.window={window} [steps], expected 2 or more")

    def measure_D(self, stats: DomainStats) -> Tensor:
        """float64 [D] changes, at least 0."""
        return change_D(stats, per=self.per, signed=self.signed)

    def share_D(self, value_D: Tensor, stats: DomainStats) -> Tensor:
        """float64 [D] shares, each >= floor."""
        return floored_D(softmax_D(value_D, self.temperature), self.floor)
