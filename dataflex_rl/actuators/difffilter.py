"""Keep the prompts that are neither too easy nor too hard."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import register_actuator

# Two different solve rates of groups of up to 30,000 differ by more, two spellings of one bound by less.
NOISE = 1e-9


def difffilter_B(rate_B: Tensor, low: float, high: float) -> Tensor:
    """bool [B]: low < rate < high, strict; a rate within 1e-9 of a bound is on the bound and goes.

    Source: the rule with (0, 1) is the dynamic sampling of arXiv 2503.14476.
    """
    return (rate_B > low + NOISE) & (rate_B < high - NOISE)


@register_actuator("difffilter", kind="select", granularity=("prompt",), needs_groups=True)
@dataclass(frozen=True, kw_only=True)
class DiffFilter:
    """Keep the groups whose score lies strictly between low and high."""

    low: float = 0.2
    high: float = 0.8

    def __post_init__(self) -> None:
        """Check the band: solve rates lie in 0..1, and so do its bounds."""
        within("actuator 'difffilter': low", self.low, "between 0 and 1", 0 <= self.low <= 1)
        within("actuator 'difffilter': high", self.high, "between 0 and 1", 0 <= self.high <= 1)
        within("actuator 'difffilter': low", self.low, f"below high={self.high}", self.low < self.high)

    def __call__(self, pool: Pool) -> Selection:
        """Keep the responses of the groups inside the band."""
        keep_B = difffilter_B(pool.score_B, self.low, self.high)
        too_high_B = (pool.score_B >= self.high - NOISE).long()
        return Selection(keep_B=keep_B, reasons=("too_hard", "too_easy"), reason_B=too_high_B)
