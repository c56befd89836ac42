"""Whole prompts per domain at a mixer's shares, what became of them, and what is logged of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.interface import Outcomes, Realised
from dataflex_rl.feed.quotas import apportioned_D

logger = logging.getLogger("dataflex_rl")

PREFIX = "dataflex/"
STARVED_STEPS = 10  # after so many steps below half its target a domain is warned about


class MixQuotas:
    """Quotas at a mixer's shares, with the remainders that later batches make up for.

    Metrics per domain: share_target (at which the step's prompts were drawn), mixer_statistic (after the step), and of
    what a batch consumed share_realised (prompts), share_responses, share_trained_tokens (left out where nothing was
    trained), shortage (prompts asked minus available).
    """

    def __init__(self, mixer: DomainMixer) -> None:
        self.mixer = mixer
        self.names = mixer.domains
        size = len(mixer.domains)
        self.share_D: list[float] = mixer.share_D.tolist()
        self._carry_D = [0.0] * size
        self._surplus_carry_D = [0.0] * size
        self._starved_D = [0] * size
        self._expected_D = [0.0] * size

    def next_D(self, n: int, surplus: int = 0) -> tuple[list[int], list[int]]:
        """Return the prompts of each domain in the next n, and in what is generated beyond them."""
        self.share_D = self.mixer.share_D.tolist()
        quota_D, self._carry_D = apportioned_D(self.share_D, self._carry_D, n)
        surplus_D, self._surplus_carry_D = apportioned_D(self.share_D, self._surplus_carry_D, surplus)
        return quota_D, surplus_D

    def observe(self, outcomes: Outcomes) -> dict[str, float]:
        """Take in a finished step, update the shares where it is time, and return the step's metrics.

        Raises:
            ConfigError: the outcomes have no tally.
        """
        if outcomes.tally is None:
            raise ConfigError(
                f"outcomes of step {outcomes.step} have no tally, which mixer {self.mixer.config.name!r} reads"
            )
        columns: dict[str, Sequence[float]] = {"share_target": self.share_D}
        if (realised := outcomes.realised) is not None:
            self._watch(outcomes.step, realised)
            columns |= {
                "share_realised": _shares(realised.prompts_D),
                "share_responses": _shares(realised.responses_D),
                "share_trained_tokens": _shares(realised.trained_tokens_D),
                "shortage": realised.shortage_D,
            }
        self.mixer.observe(outcomes.step, outcomes.tally)
        return self.named({**columns, "mixer_statistic": self.mixer.value_D.tolist()})

    def named(self, columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
        """Return metrics from one number per domain; shares of nothing are left out."""
        return {
            f"{PREFIX}{key}/{name}": float(value)
            for key, value_D in columns.items()
            for name, value in zip(self.names, value_D, strict=False)
        }

    def state_dict(self) -> dict[str, Any]:
        """Return mixer, remainders and watch counts as plain data."""
        return {
            **self.mixer.state_dict(),
            "carry": list(self._carry_D),
            "spare_carry": list(self._surplus_carry_D),
            "starved": list(self._starved_D),
            "expected": list(self._expected_D),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ConfigError: a part is missing, or it is of another mixer or other domains.
        """
        if missing := sorted(set(self.state_dict()) - set(state)):
            raise ConfigError(f"the saved state of mixer {self.mixer.config.name!r} lacks {', '.join(missing)}")
        self.mixer.load_state_dict(state)
        self._carry_D, self._surplus_carry_D = list(state["carry"]), list(state["spare_carry"])
        self._starved_D, self._expected_D = list(state["starved"]), list(state["expected"])

    def _watch(self, step: int, realised: Realised) -> None:
        """Warn once where a domain stays below half its target, though a prompt or more were due."""
        total = sum(realised.prompts_D)
        for d, name in enumerate(self.names):
            if realised.prompts_D[d] >= 0.5 * self.share_D[d] * total:
                self._starved_D[d], self._expected_D[d] = 0, 0.0
                continue
            self._starved_D[d] += 1
            self._expected_D[d] += self.share_D[d] * total
            if self._starved_D[d] == STARVED_STEPS and self._expected_D[d] >= 1:
                logger.warning(
                    "domain %r is starved: for %d steps up to step %d its realised share of prompts was below half its "
                    "target (now %.3f of %.3f)",
                    name, STARVED_STEPS, step, realised.prompts_D[d] / total if total else 0.0, self.share_D[d],
                )  # fmt: skip


def _shares(count_D: Sequence[float]) -> list[float]:
    """Return counts over their sum; an empty list where the sum is 0."""
    total = sum(count_D)
    return [count / total for count in count_D] if total > 0 else []
