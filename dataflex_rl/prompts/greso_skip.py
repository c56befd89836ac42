"""Skips, by chance, prompts whose last visits gave no signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import Candidates, Choice, PromptSelector, State, passed, posterior_C
from dataflex_rl.prompts.statistics import Groups, Memory, PromptStats
from dataflex_rl.prompts.table import FloatArray, IntArray

_ROUNDING = 1e-9  # two of twelve groups are a sixth


def keep_chance_C(streak_C: IntArray, easy: float, hard: float, least: float) -> FloatArray:
    """float64 [C]: max(p^c, least), with c the trailing constant visits and p of their class; 1 without one."""
    base_C = np.where(streak_C > 0, easy, hard)
    return np.where(streak_C == 0, 1.0, np.maximum(base_C ** np.abs(streak_C), least))


def adjusted(chance: float, share: float, target: float, change: float, low: float, high: float) -> float:
    """Return the class's base chance: `change` less where its share of groups is at or over the target, else more."""
    moved = chance - change if share >= target - _ROUNDING else chance + change
    return min(max(moved, low), high)


@register_prompt_selector("greso_skip")
@dataclass(frozen=True, kw_only=True)
class GresoSkip(PromptSelector):
    """Skips a prompt with a chance that grows with the visits in a row that were all solved, or all unsolved.

    A prompt is kept with probability max(p^c, least_chance), c its trailing visits of mean reward >= easy, or <= hard,
    and p of that class. After each step p moves by `change`, down where the class's share of the step's groups is at or
    over its target. Before its second visit no prompt is skipped.

    Source: arXiv 2506.02177 (GRESO).
    """

    easy: float = 0.98
    hard: float = 0.11
    target: float = 0.25
    easy_part: float = 1 / 3
    start_chance: float = 0.5
    change: float = 0.01
    lowest: float = 0.05
    highest: float = 0.95
    least_chance: float = 0.01

    def __post_init__(self) -> None:
        """Check the ranges."""
        who = "prompt selector 'greso_skip'"
        self.memory.check(who)
        within(f"{who}: target", self.target, "between 0 and 1 (share of groups)", 0 <= self.target <= 1)
        within(f"{who}: easy_part", self.easy_part, "between 0 and 1 (part of the target)", 0 <= self.easy_part <= 1)
        within(f"{who}: lowest", self.lowest, "above 0 and at most highest", 0 < self.lowest <= self.highest <= 1)
        inside = self.lowest <= self.start_chance <= self.highest
        within(f"{who}: start_chance", self.start_chance, f"in {self.lowest:g}..{self.highest:g}", inside)
        within(f"{who}: change", self.change, "between 0 and 1", 0 <= self.change <= 1)
        within(f"{who}: least_chance", self.least_chance, "above 0 and at most 1", 0 < self.least_chance <= 1)

    @property
    def memory(self) -> Memory:
        """What counts as a constant visit."""
        return Memory(easy=self.easy, hard=self.hard)

    def start(self, table: object) -> State:
        """Return both base chances."""
        return {"easy": self.start_chance, "hard": self.start_chance}

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the first n that are not skipped."""
        easy, hard = float(candidates.state["easy"]), float(candidates.state["hard"])
        streak_C = candidates.stats.streak_P[candidates.prompt_C].astype(np.int64)
        chance_C = keep_chance_C(streak_C, easy, hard, self.least_chance)
        keep_C = candidates.drawn(lambda order: rng.random(len(order))) < chance_C
        return passed(keep_C, n, np.where(streak_C > 0, "easy_before", "hard_before"))

    def observe(self, state: State, before: PromptStats, groups: Groups) -> State:
        """Move both base chances by the step's shares of easy and hard groups."""
        reward_G = groups.reward_G[groups.tries_G > 0]
        if len(reward_G) == 0:
            return state
        shares = {"easy": float((reward_G >= self.easy).mean()), "hard": float((reward_G <= self.hard).mean())}
        targets = {"easy": self.target * self.easy_part, "hard": self.target * (1 - self.easy_part)}
        limits = (self.change, self.lowest, self.highest)
        return {name: adjusted(float(state[name]), shares[name], targets[name], *limits) for name in shares}

    def rate_C(self, candidates: Candidates) -> FloatArray:
        """float64 [C]: posterior mean of the prompt's own visits under a uniform prior."""
        return posterior_C(candidates, 1.0, 1.0)
