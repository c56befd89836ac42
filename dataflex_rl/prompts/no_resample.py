"""Solved prompts leave the pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import Candidates, Choice, PromptSelector, passed, posterior_C
from dataflex_rl.prompts.table import FloatArray

_NOISE = 1e-6  # rates are kept in float32: 9 of 10 must count as .9


@register_prompt_selector("no_resample")
@dataclass(frozen=True, kw_only=True)
class NoResample(PromptSelector):
    """A prompt with a pass rate of at least `pass_rate` at its last visit is drawn no more.

    All come back as soon as fewer than `reserve` batches are left; under a mixer those of each domain on their own,
    measured in what a batch takes of it.

    Source: arXiv 2510.13786 (ScaleRL, "no positive resampling").
    """

    pass_rate: float = 0.9
    reserve: float = 2.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        who = "prompt selector 'no_resample'"
        within(f"{who}: pass_rate", self.pass_rate, "above 0 and at most 1", 0 < self.pass_rate <= 1)
        within(f"{who}: reserve", self.reserve, "at least 0 (batches)", 0 <= self.reserve < np.inf)

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the first n that are not solved; any, where the pool they come from is nearly solved as a whole."""
        solved_P = candidates.stats.rate_P >= self.pass_rate - _NOISE  # false where never visited
        in_pool = solved_P if candidates.pool is None else solved_P[candidates.pool]
        back = np.count_nonzero(~in_pool) < self.reserve * candidates.batch
        return passed(~solved_P[candidates.prompt_C] | back, n, np.full(candidates.size, "solved"))

    def rate_C(self, candidates: Candidates) -> FloatArray:
        """float64 [C]: posterior mean of the prompt's own visits under a uniform prior."""
        return posterior_C(candidates, 1.0, 1.0)
