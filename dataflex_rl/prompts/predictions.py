"""How good predicted solve rates were: Brier score and calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflex_rl.prompts.table import FloatArray, IntArray

BINS = 10
PARTS = ("first", "later")  # visits of a prompt: its first one, all others


def brier(rate_G: FloatArray, tries_G: IntArray, solved_G: IntArray) -> float:
    """Return the mean squared difference of predicted rate and outcome (0 or 1) over all responses; NaN of none.

    Source: Brier 1950. A group with n responses of which s are solved adds s (1 - p)^2 + (n - s) p^2.
    """
    total = int(tries_G.sum())
    return _squares(rate_G, tries_G, solved_G) / total if total else float("nan")


def calibration(rate_G: FloatArray, tries_G: IntArray, solved_G: IntArray, bins: int = BINS) -> list[dict[str, float]]:
    """Return one row per bin of equal width that has responses: low, high, responses, predicted and observed rate."""
    return _rows(*_binned(rate_G, tries_G, solved_G, bins))


@dataclass(kw_only=True)
class Scores:
    """Running scores of a run's predictions, over responses: the rule's own, and those of the domains' means.

    `first` counts the first visits of prompts alone, `later` all others.
    """

    parts: dict[str, list[float]]
    bins: dict[str, list[list[float]]]

    @classmethod
    def empty(cls) -> Scores:
        """Return the scores of no prediction."""
        return cls(
            parts={name: [0.0, 0.0, 0.0] for name in PARTS},
            bins={name: [[0.0] * BINS for _ in range(3)] for name in PARTS},
        )

    def add(
        self, rate_G: FloatArray, domain_rate_G: FloatArray, first_G: Any, tries_G: IntArray, solved_G: IntArray
    ) -> None:
        """Add finished groups with what was predicted of them before they were generated."""
        for name, part_G in zip(PARTS, (first_G, ~first_G), strict=True):
            tries, solved = tries_G[part_G], solved_G[part_G]
            new = (tries.sum(), _squares(rate_G[part_G], tries, solved), _squares(domain_rate_G[part_G], tries, solved))
            self.parts[name] = [old + float(more) for old, more in zip(self.parts[name], new, strict=True)]
            for row, more_L in zip(self.bins[name], _binned(rate_G[part_G], tries, solved, BINS), strict=True):
                row[:] = [old + float(more) for old, more in zip(row, more_L, strict=True)]

    def brier(self, part: str | None = None) -> tuple[float, float]:
        """Return the Brier scores (of the rule, of the domains' means) over `first` or `later` visits, or all."""
        rows = [self.parts[part]] if part else list(self.parts.values())
        count, rule, domain = (sum(row[i] for row in rows) for i in range(3))
        return (rule / count, domain / count) if count else (float("nan"), float("nan"))

    @property
    def responses(self) -> int:
        """Responses that were predicted."""
        return int(sum(row[0] for row in self.parts.values()))

    def table(self, part: str | None = None) -> list[dict[str, float]]:
        """Return the calibration table so far, over `first` or `later` visits, or all."""
        bins = [self.bins[part]] if part else list(self.bins.values())
        return _rows(*np.sum([np.asarray(one) for one in bins], axis=0))

    def summary(self) -> dict[str, Any]:
        """Return per part that has responses their number, both Brier scores and the calibration table."""
        found = {}
        for part in PARTS:
            rule, domain = self.brier(part)
            if (count := int(self.parts[part][0])) > 0:
                scores = {"responses": count, "brier": rule, "brier_domain": domain}
                found[part] = {**scores, "calibration": self.table(part)}
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {
            "parts": {name: list(row) for name, row in self.parts.items()},
            "bins": {name: [list(row) for row in rows] for name, rows in self.bins.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.parts = {name: list(row) for name, row in state["parts"].items()}
        self.bins = {name: [list(row) for row in rows] for name, rows in state["bins"].items()}


def _squares(rate_G: FloatArray, tries_G: IntArray, solved_G: IntArray) -> float:
    return float((solved_G * (1 - rate_G) ** 2 + (tries_G - solved_G) * rate_G**2).sum())


def _binned(rate_G: FloatArray, tries_G: IntArray, solved_G: IntArray, bins: int) -> tuple[Any, Any, Any]:
    """Return per bin: responses, sum of predictions over them, solved; a rate of 1 is in the last bin."""
    bin_G = np.minimum((rate_G * bins).astype(np.int64), bins - 1)
    count_L, predicted_L, solved_L = (
        np.bincount(bin_G, weights=weight_G, minlength=bins) for weight_G in (tries_G, rate_G * tries_G, solved_G)
    )
    return count_L, predicted_L, solved_L


def _rows(count_L: FloatArray, predicted_L: FloatArray, solved_L: FloatArray) -> list[dict[str, float]]:
    bins = len(count_L)
    return [
        {
            "low": i / bins,
            "high": (i + 1) / bins,
            "responses": float(count_L[i]),
            "predicted": float(predicted_L[i] / count_L[i]),
            "observed": float(solved_L[i] / count_L[i]),
        }
        for i in range(bins)
        if count_L[i] > 0
    ]
