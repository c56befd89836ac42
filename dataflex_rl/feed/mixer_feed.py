"""The prompts of a mixed run: of each domain the next of its stream, in the numbers that the mixer's shares ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.interface import Drawn, Outcomes
from dataflex_rl.feed.mix_quotas import MixQuotas
from dataflex_rl.feed.streams import DomainStreams


class MixerFeed:
    """A `Feed` that draws at a mixer's shares. A prompt is drawn again at its place in the next pass of its domain.

    Metrics: those of `MixQuotas`, and recycled (prompts of the step drawn from a second or later pass).
    """

    def __init__(self, mixer: DomainMixer, streams: DomainStreams) -> None:
        self.quotas = MixQuotas(mixer)
        self._streams = streams
        self._recycled_D = [0] * len(mixer.domains)

    def draw(self, n: int, quota_D: Sequence[int] | None = None, *, surplus: int = 0) -> Drawn:
        """Return the next n prompts, and `surplus` further ones; both at the shares, each with its own remainders."""
        ask_D, surplus_D = self.quotas.next_D(n, surplus) if quota_D is None else (list(quota_D), [0] * len(quota_D))
        assert sum(ask_D) == n
        rows: list[int] = []
        domain_of: list[int] = []
        for domain, (ask, more) in enumerate(zip(ask_D, surplus_D, strict=True)):
            taken, recycled = self._streams.take(domain, ask + more)
            rows += taken
            domain_of += [domain] * len(taken)
            self._recycled_D[domain] += recycled
        return Drawn(rows=rows, domain_of=domain_of, quota_D=ask_D, share_D=self.quotas.share_D)

    def observe(self, outcomes: Outcomes) -> dict[str, float]:
        """Show the mixer a finished step and return the step's metrics."""
        metrics = self.quotas.observe(outcomes) | self.quotas.named({"recycled": self._recycled_D})
        self._recycled_D = [0] * len(self._recycled_D)
        return metrics

    def release(self, rows: Sequence[int]) -> None:
        """Do nothing: what is being generated may be drawn again."""

    def state_dict(self) -> dict[str, Any]:
        """Return mixer, remainders, watch counts and the positions in the streams as plain data."""
        return {**self.quotas.state_dict(), "streams": self._streams.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where a part is missing, or it is of another mixer or other domains."""
        if "streams" not in state:
            raise ConfigError(f"the saved state of mixer {self.quotas.mixer.config.name!r} lacks streams")
        self.quotas.load_state_dict(state)
        self._streams.load_state_dict(state["streams"])
