"""The solve rates predicted at a draw, kept until their prompts' outcomes are in, then scored."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflex_rl.prompts.predictions import PARTS, Scores
from dataflex_rl.prompts.statistics import Groups, PromptStats
from dataflex_rl.prompts.table import FloatArray, IntArray

logger = logging.getLogger("dataflex_rl")

JUDGED_AFTER = 1000  # predicted responses before a selector is told that it knows no more than its domain's mean


class Predicted:
    """Predictions of prompts being generated, and the scores of those whose outcome is known."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: dict[int, tuple[float, float, bool]] = {}  # prompt -> rule's rate, its domain's, first visit
        self._judged = False
        self.scores = Scores.empty()

    def remember(self, prompt_C: IntArray, rate_C: FloatArray, stats: PromptStats) -> None:
        """Keep what is predicted of prompts, and what their domains' means would predict."""
        domain_C = stats.domain_rate_D()[stats.table.domain_P[prompt_C]]
        first_C = stats.visits_P[prompt_C] == 0
        for prompt, *rest in zip(prompt_C.tolist(), rate_C.tolist(), domain_C.tolist(), first_C.tolist(), strict=True):
            self._open[prompt] = (rest[0], rest[1], rest[2])

    def score(self, groups: Groups) -> dict[str, float]:
        """Score the groups that were predicted; returns the Brier scores so far, empty without a prediction."""
        at = [place for place, prompt in enumerate(groups.prompt_G.tolist()) if prompt in self._open]
        found = [self._open.pop(prompt) for prompt in groups.prompt_G[at].tolist()]
        if found:
            rate_G, domain_G, first_G = (np.asarray(column) for column in zip(*found, strict=True))
            self.scores.add(rate_G, domain_G, first_G, groups.tries_G[at], groups.solved_G[at])
        if not self.scores.responses:
            return {}
        self._judge(groups.step)
        metrics: dict[str, float] = {}
        for part in PARTS:
            rule, domain = self.scores.brier(part)
            if not np.isnan(rule):
                metrics |= {f"dataflex/prompts/brier/{part}": rule, f"dataflex/prompts/brier_domain/{part}": domain}
        return metrics

    def _judge(self, step: int) -> None:
        """Say once, when enough is known, that the predictions are no better than the domain mean."""
        rule, domain = self.scores.brier()
        if self._judged or self.scores.responses < JUDGED_AFTER:
            return
        self._judged = True
        if rule >= domain:
            logger.warning(
                "prompt selector %r predicts solve rates no better than the mean of a prompt's domain: "
                "Brier score %.4f against %.4f over %d responses up to step %d",
                self._name, rule, domain, self.scores.responses, step,
            )  # fmt: skip

    def forget(self, prompt_G: IntArray) -> None:
        """Drop the predictions of prompts that will have no outcome."""
        for prompt in prompt_G.tolist():
            self._open.pop(prompt, None)

    def state_dict(self) -> dict[str, Any]:
        """Return open predictions and scores as plain data."""
        open_ = [[prompt, *values] for prompt, values in sorted(self._open.items())]
        return {"open": open_, "scores": self.scores.state_dict(), "judged": self._judged}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self._open = {int(prompt): (rate, domain, bool(first)) for prompt, rate, domain, first in state["open"]}
        self.scores.load_state_dict(state["scores"])
        self._judged = bool(state["judged"])
