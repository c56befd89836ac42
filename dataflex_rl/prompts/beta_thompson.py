"""Prompts whose solve rate, drawn from its posterior, is near a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.interface import (
    Candidates,
    Choice,
    PromptSelector,
    check_prior,
    check_windows,
    nearest_order,
    posterior_C,
    ranked,
)
from dataflex_rl.prompts.statistics import Memory
from dataflex_rl.prompts.table import FloatArray, IntArray


def band_order(value_C: FloatArray, low: float, high: float, tie_C: FloatArray) -> IntArray:
    """int64 [C]: places inside [low, high] first, by `tie_C`, then those outside, nearest to the band first."""
    outside_C = np.maximum(np.maximum(low - value_C, value_C - high), 0.0)
    return np.lexsort((tie_C, outside_C))


@register_prompt_selector("beta_thompson")
@dataclass(frozen=True, kw_only=True)
class BetaThompson(PromptSelector):
    """Of candidates x n prompts the n whose solve rate, drawn from its Beta posterior, is nearest to the target.

    At each visit alpha <- decay alpha + (1 - decay) alpha0 + s and beta likewise with n - s, which is alpha0 plus
    decayed successes. With `low` and `high` in place of the target: a rate inside the band at random, then the nearest
    outside.

    Source: arXiv 2507.04632 (MoPPS).
    """

    target: float = 0.5
    candidates: int = 8
    decay: float = 0.5
    alpha0: float = 1.0
    beta0: float = 1.0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        who = "prompt selector 'beta_thompson'"
        within(f"{who}: target", self.target, "between 0 and 1", 0 <= self.target <= 1)
        check_windows(who, self.candidates)
        check_prior(who, self.alpha0, self.beta0)
        self.memory.check(who)
        low, high = self.low, self.high
        if (low is None) != (high is None):
            raise ConfigError(f"{who}: low={low} and high={high}; set both for a band, or neither")
        if low is not None and high is not None:
            within(f"{who}: low", low, f"at least 0 and below high={high:g}, which is at most 1", 0 <= low < high <= 1)

    @property
    def memory(self) -> Memory:
        """Earlier visits count `decay`."""
        return Memory(decay=self.decay)

    def window(self, n: int) -> int:
        """Return candidates x n."""
        return self.candidates * n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Draw a rate for each candidate and take the n nearest."""
        alpha_C, beta_C = self.alpha0 + candidates.hit_C, self.beta0 + candidates.miss_C
        rate_C = candidates.drawn(lambda order: rng.beta(alpha_C[order], beta_C[order]))
        tie_C = candidates.drawn(lambda order: rng.random(len(order)))
        if self.low is None or self.high is None:
            return ranked(nearest_order(rate_C, self.target, tie_C), n, candidates.size, "far_from_target")
        return ranked(band_order(rate_C, self.low, self.high, tie_C), n, candidates.size, "outside_band")

    def rate_C(self, candidates: Candidates) -> FloatArray:
        """float64 [C]: posterior mean."""
        return posterior_C(candidates, self.alpha0, self.beta0)
