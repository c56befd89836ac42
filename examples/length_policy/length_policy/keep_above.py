"""Keep what scores at least a floor."""

from __future__ import annotations

from dataclasses import dataclass

from dataflex_rl.components.pool import Pool, Selection
from dataflex_rl.components.registry import register_actuator
from dataflex_rl.errors import ConfigError


@register_actuator("keep_above", kind="select", granularity=("response", "prompt"))
@dataclass(frozen=True, kw_only=True)
class KeepAbove:
    """Keep the responses whose score is at least floor."""

    floor: float = 0.5

    def __post_init__(self) -> None:
        """Check the floor."""
        if not 0 <= self.floor <= 1:
            raise ConfigError(f"actuator 'keep_above': floor must be between 0 and 1, got {self.floor}")

    def __call__(self, pool: Pool) -> Selection:
        """One bool per response of the pool."""
        return Selection(keep_B=pool.score_B >= self.floor, reasons=("below_floor",))
