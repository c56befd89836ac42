"""Probability with which each token was sampled."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import register_scorer


def token_prob_N(old_log_prob_N: Tensor) -> Tensor:
    """float32 [N]: exp of the log-probability. Tokens that are not data may give anything, NaN too.

    Source: arXiv 2505.12929.
    """
    return old_log_prob_N.float().exp()


@register_scorer(
    "token_prob", granularity="token", requires=("old_log_probs", "response_mask"), timing="post_advantage"
)
@dataclass(frozen=True, kw_only=True)
class TokenProb:
    """Probability of each token under the policy that generated it."""

    def __call__(self, batch: Batch) -> Tensor:
        """float32 [N] probabilities."""
        return token_prob_N(batch.old_log_probs)
