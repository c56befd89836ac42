"""The mixer block of the configuration, checked and built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflex_rl.components.registry import TIMINGS, Spec, build, lookup
from dataflex_rl.components.settings import SETTINGS
from dataflex_rl.errors import ConfigError
from dataflex_rl.mixers.interface import Mixer

_STATISTICS = {"reward": ("rm_scores",), "advantage": ("advantages", "response_mask")}
_CHECKED = ("domain_key", "window", "warmup_step", "update_step", "oversample")
_MOUNT = "post_advantage"


@dataclass(frozen=True, kw_only=True)
class MixerConfig:
    """A mixer without its state. Times are in steps; `scorer` is None where the mixer's own statistic is averaged."""

    name: str
    mixer: Mixer
    spec: Spec
    scorer: Any | None
    scorer_spec: Spec | None
    domains: Any
    domain_key: str
    window: int
    warmup_step: int
    update_step: int
    oversample: float

    @property
    def statistic(self) -> str:
        """Name of what is averaged: the scorer's, else reward or advantage."""
        return self.scorer_spec.name if self.scorer_spec is not None else self.mixer.statistic

    @property
    def requires(self) -> frozenset[str]:
        """Fields of verl's batch that the statistic is computed from."""
        if self.scorer_spec is None:
            return frozenset(_STATISTICS[self.mixer.statistic])
        fields = getattr(self.scorer, "fields", None)
        return frozenset(fields() if fields is not None else self.scorer_spec.requires)

    def updates_after(self, step: int) -> bool:
        """Whether the shares are computed anew after a step (steps count from 1)."""
        first = max(self.warmup_step, 1)
        return step >= first and (step - first) % self.update_step == 0


def parse_mixer(block: Mapping[str, Any]) -> MixerConfig | None:
    """Check a complete mixer block (see `split_block`) and build its components; None for no mixer.

    Raises:
        ConfigError: unknown name or parameter, wrong type, or a value out of range.
    """
    if block["name"] == "none":
        return None
    spec = lookup("mixer", block["name"])
    mixer = build("mixer", spec.name, block["params"])
    if not isinstance(mixer, Mixer) or mixer.statistic not in _STATISTICS:
        raise ConfigError(
            f"mixer {spec.name!r}: {type(mixer).__name__} must be a dataflex_rl.mixers.Mixer whose statistic is one of "
            f"{', '.join(_STATISTICS)}"
        )
    scorer, scorer_spec = _scorer(block["scorer"])
    return MixerConfig(
        name=spec.name,
        mixer=mixer,
        spec=spec,
        scorer=scorer,
        scorer_spec=scorer_spec,
        domains=block["domains"],
        **{name: SETTINGS[f"dataflex.mixer.{name}"].check(block[name]) for name in _CHECKED},
    )


def _scorer(part: Any) -> tuple[Any | None, Spec | None]:
    if part is None:
        return None, None
    spec = lookup("scorer", part["name"])
    if TIMINGS.index(spec.timing) > TIMINGS.index(_MOUNT):
        raise ConfigError(
            f"dataflex.mixer.scorer: {spec.name!r} is computed {spec.timing}, but mixers read scores {_MOUNT}; "
            f"use a scorer of timing {', '.join(TIMINGS[: TIMINGS.index(_MOUNT) + 1])}"
        )
    return build("scorer", spec.name, part.get("params")), spec
