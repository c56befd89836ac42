"""Prompts in proportion to p(1 - p), the variance of their reward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import (
    Candidates,
    Choice,
    PromptSelector,
    check_prior,
    check_windows,
    posterior_C,
    ranked,
    weighted_order,
)
from dataflex_rl.prompts.statistics import Memory
from dataflex_rl.prompts.table import FloatArray


def learnability_C(rate_C: FloatArray, tau: float, explore: float) -> FloatArray:
    """float64 [C], of sum 1: (1 - explore) of (p(1 - p))^(1/tau) over its sum, plus explore / C.

    Equal where every score is 0.
    """
    score_C = (rate_C * (1 - rate_C)) ** (1 / tau)
    total, equal_C = score_C.sum(), np.full(len(rate_C), 1.0 / len(rate_C))
    return (1 - explore) * (score_C / total if total > 0 else equal_C) + explore * equal_C


@register_prompt_selector("learnability")
@dataclass(frozen=True, kw_only=True)
class Learnability(PromptSelector):
    """Of candidates x n prompts n drawn in proportion to p(1 - p), p the mean of the prompt's Beta posterior.

    `tau` below 1 sharpens, above 1 flattens; the share `explore` of the draws is uniform.

    Source: arXiv 2502.12272 (LILO), with a posterior mean in place of a rate measured by extra rollouts.
    """

    candidates: int = 8
    tau: float = 1.0
    explore: float = 0.1
    decay: float = 0.5
    alpha0: float = 1.0
    beta0: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        who = "prompt selector 'learnability'"
        check_windows(who, self.candidates)
        within(f"{who}: tau", self.tau, "above 0", 0 < self.tau < np.inf)
        within(f"{who}: explore", self.explore, "above 0 and at most 1", 0 < self.explore <= 1)
        check_prior(who, self.alpha0, self.beta0)
        self.memory.check(who)

    @property
    def memory(self) -> Memory:
        """Earlier visits count `decay`."""
        return Memory(decay=self.decay)

    def window(self, n: int) -> int:
        """Return candidates x n."""
        return self.candidates * n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Draw n without replacement."""
        weight_C = learnability_C(self.rate_C(candidates), self.tau, self.explore)
        return ranked(weighted_order(candidates, weight_C, rng), n, candidates.size, "not_drawn")

    def rate_C(self, candidates: Candidates) -> FloatArray:
        """float64 [C]: posterior mean."""
        return posterior_C(candidates, self.alpha0, self.beta0)
