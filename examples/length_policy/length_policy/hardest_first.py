"""Which prompts to generate next: those that fared worst at their last visit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts import Candidates, Choice, PromptSelector
from dataflex_rl.prompts.interface import nearest_order, ranked


@register_prompt_selector("hardest_first")
@dataclass(frozen=True, kw_only=True)
class HardestFirst(PromptSelector):
    """Of candidates x n prompts the n of the lowest pass rate at their last visit; one never visited counts as 0."""

    candidates: int = 4

    def __post_init__(self) -> None:
        """Check the number of candidates."""
        if self.candidates < 2:
            raise ConfigError(f"prompt selector 'hardest_first': candidates must be 2 or more, got {self.candidates}")

    def window(self, n: int) -> int:
        """Look at candidates x n prompts."""
        return self.candidates * n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the n lowest, equal ones at random."""
        rate_C = np.nan_to_num(candidates.stats.rate_P[candidates.prompt_C].astype(np.float64), nan=0.0)
        tie_C = candidates.drawn(lambda order: rng.random(len(order)))
        return ranked(nearest_order(rate_C, 0.0, tie_C), n, candidates.size, "solved_more_often")
