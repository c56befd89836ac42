"""The exponential of the score."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.pool import Pool
from dataflex_rl.components.registry import register_actuator


def softmax_B(score_B: Tensor, temperature: float) -> Tensor:
    """float64 [B]: exp((score - largest score) / temperature), before it is brought to mean 1.

    Subtracting the largest score changes nothing after normalising and keeps exp from overflowing. An infinite
    temperature gives exactly 1.
    """
    return ((score_B - score_B.max()) / temperature).exp()


@register_actuator("softmax", kind="reweight", granularity=("response", "prompt"))
@dataclass(frozen=True, kw_only=True)
class Softmax:
    """Weight of a response proportional to exp(score / temperature)."""

    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Check the temperature; infinity is allowed and means uniform."""
        within("actuator 'softmax': temperature", self.temperature, "above 0", self.temperature > 0)

    def __call__(self, pool: Pool) -> Tensor:
        """Raw weight of each response."""
        return softmax_B(pool.score_B, self.temperature)
