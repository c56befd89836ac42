"""What a policy decided about one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.segments import expand_N


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Weights, what was kept and what to log. All tensors are detached.

    `weight_B` is each response's policy weight, `factor_N` a per-token factor on top (token-granular policies only,
    else None). `score_B` (or `score_N`) is the last link's score; both None for uniform. `keep_B` is None unless the
    policy selects; padding and responses without tokens are never kept. `acts`: the weights are the policy's
    own; else (a warm-up, a shadow run) they are uniform's. `skip_update`: the host must not step the optimizer on this
    batch.
    """

    batch: Batch
    weight_B: Tensor
    factor_N: Tensor | None = None
    keep_B: Tensor | None = None
    score_B: Tensor | None = None
    score_N: Tensor | None = None
    acts: bool
    metrics: Mapping[str, float] = field(default_factory=dict)
    trace: Sequence[Mapping[str, Any]] = ()
    skip_update: bool = False

    @cached_property
    def policy_weight_N(self) -> Tensor:
        """float32 [N]: the policy's weight per token; 0 on padding and masked tokens. Made on first use."""
        weight_N = expand_N(self.weight_B, self.batch.mask_N, self.batch.offset_B1)
        return weight_N if self.factor_N is None else weight_N.mul_(self.factor_N)

    @cached_property
    def weight_N(self) -> Tensor:
        """float32 [N]: the policy's weight times the importance weights that the batch already carried."""
        existing_N = self.batch.rollout_is_weight_N
        if existing_N is None:
            return self.policy_weight_N
        return (self.policy_weight_N * existing_N.detach().float()).masked_fill_(self.batch.mask_N == 0, 0.0)
