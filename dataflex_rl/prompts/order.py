"""A fixed order: sorted by a column, or domain by domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import Candidates, Choice, PromptSelector
from dataflex_rl.prompts.table import IntArray, PromptTable


@register_prompt_selector("order", requires=())
@dataclass(frozen=True, kw_only=True)
class Order(PromptSelector):
    """Each pass sorted by a numeric column, smallest first, or by domain; shuffled where the column is equal.

    With a column of difficulties this is easy to hard. It decides the order only: each prompt comes once per pass.
    """

    column: str | None = None
    descending: bool = False

    @property
    def columns(self) -> Sequence[str]:
        """The column, unless the domain is meant."""
        return () if self.column is None else (self.column,)

    def check(self, table: PromptTable, steps: int | None) -> None:
        """Refuse a column that is not there or not numeric."""
        if self.column is not None:
            table.levels("prompt selector 'order'", self.column)

    def arrange(self, row_R: IntArray, table: PromptTable) -> IntArray:
        """Return the rows sorted, stably."""
        rank_P = table.domain_P if self.column is None else table.levels("prompt selector 'order'", self.column)[1]
        # up to 16 bits numpy sorts by counting, much faster
        small_P: npt.NDArray[np.signedinteger[Any]] = rank_P.astype(np.int16 if int(rank_P.max()) < 2**15 else np.int64)
        rank_R = (-small_P if self.descending else small_P)[table.prompt_R][row_R]
        return row_R[np.argsort(rank_R, kind="stable")]

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the first n."""
        take = np.arange(min(n, candidates.size))
        return Choice(take=take, used=len(take), skipped={})
