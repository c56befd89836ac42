"""What an actuator gets and what a selector gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from dataflex_rl.components.batch import Batch


@dataclass(frozen=True, kw_only=True)
class Pool:
    """What an actuator acts on: the rows `row_B` of `batch`, one score each. All its tensors have that many entries."""

    batch: Batch
    row_B: Tensor
    score_B: Tensor

    @cached_property
    def group_B(self) -> Tensor:
        """int64 group ids in 0..n_groups; a group may have no response left."""
        return self.batch.group_B[self.row_B]

    @property
    def n_groups(self) -> int:
        """Number of group ids."""
        return self.batch.n_groups

    @cached_property
    def length_B(self) -> Tensor:
        """int64 number of tokens that are data, at least 1."""
        return self.batch.length_B[self.row_B]

    @cached_property
    def order_B(self) -> Tensor:
        """int64 number that decides ties, smaller first."""
        return self.batch.order_B[self.row_B]


@dataclass(frozen=True, kw_only=True)
class TokenPool:
    """What a token-granular reweighter acts on: a score per token; tokens that are not data may hold anything."""

    batch: Batch
    score_N: Tensor


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A selector's answer: which responses of the pool stay and why the others go.

    `reason_B` indexes `reasons` and is read for dropped responses only; None means the first reason for all.
    """

    keep_B: Tensor
    reasons: tuple[str, ...] = ("dropped",)
    reason_B: Tensor | None = None
