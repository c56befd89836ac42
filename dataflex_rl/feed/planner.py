"""From shares to prompts, step by step, with what is logged and what a resume needs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.quotas import apportioned_D
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.mixers.statistics import Tally

logger = logging.getLogger("dataflex_rl")

PREFIX = "dataflex/"
STARVED_STEPS = 10  # after so many steps below half its target a domain is warned about


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Prompts to generate: dataset rows with their domains, and of each domain how many the batch is to consume."""

    rows: list[int]
    domain_of: list[int]
    ask_D: list[int]
    recycled_D: list[int]


@dataclass(frozen=True, kw_only=True)
class Realised:
    """What a step consumed, per domain: prompts, responses, and tokens with a weight above 0."""

    prompts_D: Sequence[float]
    responses_D: Sequence[float]
    trained_tokens_D: Sequence[float]
    shortage_D: Sequence[int]


class Planner:
    """Draws prompts at a mixer's shares, and reports.

    Metrics per domain: share_target (at which the step's prompts were drawn), share_realised (prompts),
    share_responses, share_trained_tokens (left out where nothing was trained), mixer_statistic (after the step),
    shortage (prompts asked minus available), recycled (prompts of the step drawn from a second or later pass).
    """

    def __init__(self, mixer: DomainMixer, streams: DomainStreams) -> None:
        self.mixer = mixer
        self._streams = streams
        size = len(mixer.domains)
        self._carry_D = [0.0] * size
        self._spare_carry_D = [0.0] * size
        self._starved_D = [0] * size
        self._expected_D = [0.0] * size
        self._target_D = mixer.share_D.tolist()
        self._recycled_D = [0] * size

    @property
    def target_D(self) -> list[float]:
        """Shares at which the step's prompts were drawn."""
        return self._target_D

    def draw(self, consume: int, generate: int) -> Draw:
        """Draw the prompts of a step: `consume` at the shares, and those generated beyond them at the shares too."""
        assert generate >= consume
        self._target_D = self.mixer.share_D.tolist()
        ask_D, self._carry_D = apportioned_D(self._target_D, self._carry_D, consume)
        spare_D, self._spare_carry_D = apportioned_D(self._target_D, self._spare_carry_D, generate - consume)
        rows: list[int] = []
        domain_of: list[int] = []
        self._recycled_D = []
        for domain, (ask, spare) in enumerate(zip(ask_D, spare_D, strict=True)):
            taken, recycled = self._streams.take(domain, ask + spare)
            rows += taken
            domain_of += [domain] * len(taken)
            self._recycled_D.append(recycled)
        return Draw(rows=rows, domain_of=domain_of, ask_D=ask_D, recycled_D=self._recycled_D)

    def finish(self, step: int, tally: Tally, realised: Realised) -> dict[str, float]:
        """Take in the finished step, update the shares where it is time, and return the step's metrics."""
        self._watch(step, realised)
        self.mixer.observe(step, tally)
        columns: dict[str, Sequence[float]] = {
            "share_target": self._target_D,
            "share_realised": _shares(realised.prompts_D),
            "share_responses": _shares(realised.responses_D),
            "share_trained_tokens": _shares(realised.trained_tokens_D),
            "mixer_statistic": self.mixer.value_D.tolist(),
            "shortage": realised.shortage_D,
            "recycled": self._recycled_D,
        }
        return {
            f"{PREFIX}{key}/{name}": float(value)
            for key, value_D in columns.items()
            for name, value in zip(self.mixer.domains, value_D, strict=False)  # no shares of nothing: left out
        }

    def state_dict(self) -> dict[str, Any]:
        """Return mixer, positions in the streams, remainders and watch counts as plain data."""
        return {
            **self.mixer.state_dict(),
            "streams": self._streams.state_dict(),
            "carry": list(self._carry_D),
            "spare_carry": list(self._spare_carry_D),
            "starved": list(self._starved_D),
            "expected": list(self._expected_D),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ConfigError: a part is missing, or it is of another mixer or other domains.
        """
        if lacking := sorted(set(self.state_dict()) - set(state)):
            raise ConfigError(f"the saved state of mixer {self.mixer.config.name!r} lacks {', '.join(lacking)}")
        self.mixer.load_state_dict(state)
        self._streams.load_state_dict(state["streams"])
        self._carry_D, self._spare_carry_D = list(state["carry"]), list(state["spare_carry"])
        self._starved_D, self._expected_D = list(state["starved"]), list(state["expected"])

    def _watch(self, step: int, realised: Realised) -> None:
        """Warn once where a domain stays below half its target, though a prompt or more were due."""
        total = sum(realised.prompts_D)
        for d, name in enumerate(self.mixer.domains):
            if realised.prompts_D[d] >= 0.5 * self._target_D[d] * total:
                self._starved_D[d], self._expected_D[d] = 0, 0.0
                continue
            self._starved_D[d] += 1
            self._expected_D[d] += self._target_D[d] * total
            if self._starved_D[d] == STARVED_STEPS and self._expected_D[d] >= 1:
                logger.warning(
                    "domain %r is starved: for %d steps up to step %d its realised share of prompts was below half its "
                    "target (now %.3f of %.3f)",
                    name, STARVED_STEPS, step, realised.prompts_D[d] / total if total else 0.0, self._target_D[d],
                )  # fmt: skip


def _shares(count_D: Sequence[float]) -> list[float]:
    """Return counts over their sum; an empty list where the sum is 0."""
    total = sum(count_D)
    return [count / total for count in count_D] if total > 0 else []
