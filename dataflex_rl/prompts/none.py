"""Uniform: the prompts in the order of the stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import Candidates, Choice, PromptSelector


@register_prompt_selector("none", requires=())
@dataclass(frozen=True, kw_only=True)
class Uniform(PromptSelector):
    """Every prompt once per pass, in shuffled order. The control of the prompt selectors."""

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the first n."""
        take = np.arange(min(n, candidates.size))
        return Choice(take=take, used=len(take), skipped={})
