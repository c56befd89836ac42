"""How short a response is for its prompt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import register_scorer


def brevity_B(length_B: Tensor, group_B: Tensor, n_groups: int) -> Tensor:
    """float64 [B]: 1 - length / length of the longest response of the group; 0 for the longest itself."""
    longest_G = torch.ones(n_groups, dtype=torch.float64, device=length_B.device)
    longest_G.scatter_reduce_(0, group_B, length_B.double(), reduce="amax")
    return 1.0 - length_B.double() / longest_G[group_B]


@register_scorer("brevity", granularity="response", requires=("response_mask", "uid"), needs_groups=True)
@dataclass(frozen=True, kw_only=True)
class Brevity:
    """How much shorter a response is than the longest one of its prompt."""

    def __call__(self, batch: Batch) -> Tensor:
        """float64 [B] scores in 0..1."""
        return brevity_B(batch.length_B, batch.group_B, batch.n_groups)
