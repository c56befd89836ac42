"""From easy to hard along a column of difficulties: a target that follows the reward, or a schedule in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.interface import (
    Candidates,
    Choice,
    PromptSelector,
    State,
    check_windows,
    nearest_order,
    ranked,
    weighted_order,
)
from dataflex_rl.prompts.statistics import Groups, PromptStats
from dataflex_rl.prompts.table import FloatArray, IntArray, PromptTable

SCALE = 100.0
MOST_LEVELS = 100
_WHO = "prompt selector 'curriculum'"


def next_target(target: float, reward: float, *, eta: float, alpha: float, beta: float) -> float:
    """Return the target difficulty on 0..100 after a step of mean reward `reward`: T + eta tanh(alpha (reward - beta)).

    Source: arXiv 2504.05520 (AdaRFT), equation of the target update.
    """
    return min(max(target + eta * math.tanh(alpha * (reward - beta)), 0.0), SCALE)


def level_share_L(levels: int, progress: float, *, exponent: float, width: float, floor: float) -> FloatArray:
    """float64 [L], of sum 1: share of each level at `progress` of the run, 0 to 1, levels from easy to hard.

    A Gaussian of standard deviation `width` [levels] around progress^exponent (L - 1), and `floor` of it uniform.

    Source: arXiv 2506.06632 (E2H, Gaussian schedule).
    """
    centre = progress**exponent * (levels - 1)
    bell_L: FloatArray = np.exp(-((np.arange(levels) - centre) ** 2) / (2 * width**2))
    share_L: FloatArray = (1 - floor) * bell_L / bell_L.sum() + floor / levels
    return share_L


def scaled_C(value_C: FloatArray, low: float, high: float) -> FloatArray:
    """float64 [C]: difficulties brought from low..high to 0..100; all 0 where low is high."""
    return (value_C - low) / (high - low) * SCALE if high > low else np.zeros(len(value_C))


@register_prompt_selector("curriculum")
@dataclass(frozen=True, kw_only=True)
class Curriculum(PromptSelector):
    """Prompts by a difficulty column: nearest to a target that follows the reward, or by a schedule from easy to hard.

    `adaptive`: of candidates x n prompts the n nearest to the target T, which starts at `start` and rises where the
    mean reward is above `beta`; difficulties are brought to 0..100. `gaussian`: shares of the column's values move from
    the smallest to the largest over the run.

    Departs: nearest among the next candidates, not in all of the data, so that a target at rest draws other prompts.
    """

    column: str = "extra_info.difficulty"
    schedule: Literal["adaptive", "gaussian"] = "adaptive"
    candidates: int = 8
    start_at: float = 0.0
    eta: float = 50.0
    alpha: float = 2.0
    beta: float = 0.5
    exponent: float = 0.5
    width: float = 0.75
    floor: float = 0.05

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_windows(_WHO, self.candidates)
        within(f"{_WHO}: start_at", self.start_at, "between 0 and 100", 0 <= self.start_at <= SCALE)
        for name in ("eta", "alpha", "exponent", "width"):
            within(f"{_WHO}: {name}", getattr(self, name), "above 0", 0 < getattr(self, name) < math.inf)
        within(f"{_WHO}: floor", self.floor, "above 0 and at most 1 (share)", 0 < self.floor <= 1)

    @property
    def columns(self) -> Sequence[str]:
        """The difficulties."""
        return (self.column,)

    def check(self, table: PromptTable, steps: int | None) -> None:
        """Refuse a column that is not there or not numeric, and a schedule without an end."""
        levels = len(table.levels(_WHO, self.column)[0])
        if self.schedule == "gaussian" and steps is None:
            raise ConfigError(f"{_WHO}: schedule gaussian ends with the run, so it needs its number of steps")
        if self.schedule == "gaussian" and levels > MOST_LEVELS:
            raise ConfigError(
                f"{_WHO}: schedule gaussian moves through the values of a column, but {self.column!r} has {levels}; "
                f"expected at most {MOST_LEVELS}, or schedule adaptive"
            )

    def start(self, table: PromptTable) -> State:
        """Return the target difficulty."""
        return {"target": self.start_at}

    def window(self, n: int) -> int:
        """Return candidates x n."""
        return self.candidates * n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the n nearest to the target, or draw n by the shares of their levels."""
        level_L, level_P = candidates.table.levels(_WHO, self.column)
        level_C = level_P[candidates.prompt_C]
        if self.schedule == "gaussian":
            order = weighted_order(candidates, self._weight_C(candidates, level_C, len(level_L)), rng)
            return ranked(order, n, candidates.size, "other_level")
        tie_C = candidates.drawn(lambda order: rng.random(len(order)))
        value_C = scaled_C(level_L[level_C], float(level_L[0]), float(level_L[-1]))
        order = nearest_order(value_C, float(candidates.state["target"]), tie_C)
        return ranked(order, n, candidates.size, "far_from_target")

    def _weight_C(self, candidates: Candidates, level_C: IntArray, levels: int) -> FloatArray:
        """float64 [C]: the share of a candidate's level over the number of candidates that have it."""
        assert candidates.steps is not None
        progress = min((candidates.step - 1) / max(candidates.steps - 1, 1), 1.0)
        share_L = level_share_L(levels, progress, exponent=self.exponent, width=self.width, floor=self.floor)
        weight_C: FloatArray = share_L[level_C] / np.bincount(level_C, minlength=levels)[level_C]
        return weight_C

    def observe(self, state: State, before: PromptStats, groups: Groups) -> State:
        """Move the target by the mean reward of the step's responses."""
        total = int(groups.tries_G.sum())
        if total == 0:
            return state
        reward = float((groups.reward_G * groups.tries_G)[groups.tries_G > 0].sum()) / total
        return {"target": next_target(state["target"], reward, eta=self.eta, alpha=self.alpha, beta=self.beta)}
