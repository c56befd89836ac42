"""The blocks `dataflex.budget` and `dataflex.backfill` of the configuration, checked and built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflex_rl.components.settings import SETTINGS, block_defaults
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.backfill import Backfill
from dataflex_rl.feed.budgets import knapsack, two_phase
from dataflex_rl.prompts.table import IntArray

BLOCKS = ("budget", "backfill")
_N = "actor_rollout_ref.rollout.n"


@dataclass(frozen=True, kw_only=True)
class Knapsack:
    """Responses by predicted solve rates under a fixed total.

    n_max: null is twice rollout.n. total: responses of a step, null: prompts of a batch x rollout.n.
    """

    name = "knapsack"
    n_min: int = 2
    n_max: int | None = None
    total: int | None = None

    def check(self, n: int, batch: int) -> None:
        """Refuse bounds that the total does not reach, for a batch of `batch` prompts at `n` responses each.

        Raises:
            ConfigError: n_min below 2 or above n, n_max below the mean, a total below one response per prompt or above
                what the batch has without a budget.
        """
        most, total = self.most(n), self.of_step(n, batch)
        if total < batch:
            raise ConfigError(
                f"dataflex.budget.total={total} is below one response per prompt: a batch has {batch} prompts; "
                f"expected {self.n_min * batch} to {n * batch}"
            )
        if self.n_min < 2:
            raise ConfigError(
                f"dataflex.budget.n_min={self.n_min}: expected at least 2, a response alone has no others to be "
                "compared with; a prompt selector skips prompts"
            )
        if self.n_min > n:
            raise ConfigError(
                f"dataflex.budget.n_min={self.n_min} is above {_N}={n}: the {n * batch} responses of a step would not "
                f"reach for {batch} prompts"
            )
        if not self.n_min * batch <= total <= min(most, n) * batch:
            raise ConfigError(
                f"dataflex.budget: total={total} responses for {batch} prompts; expected {self.n_min * batch} (n_min "
                f"each) to {min(most, n) * batch} (n_max={most} and {_N}={n})"
            )

    def most(self, n: int) -> int:
        """Return the most responses of a prompt."""
        return 2 * n if self.n_max is None else self.n_max

    def of_step(self, n: int, batch: int) -> int:
        """Return the responses of a whole batch."""
        return n * batch if self.total is None else self.total

    def first(self, rates: Any, n: int, batch: int) -> list[int]:
        """Return the responses of each prompt with these predicted rates, a batch or a part of one."""
        rate_P = np.asarray(rates, dtype=np.float64)
        if not len(rate_P):
            return []
        total = round(self.of_step(n, batch) * len(rate_P) / batch)
        return [int(count) for count in knapsack(rate_P, total, n_min=self.n_min, n_max=self.most(n))]


@dataclass(frozen=True, kw_only=True)
class TwoPhase:
    """Every prompt is screened with n_init responses; where some solved it and some did not, n_continue follow.

    n_continue: null fills up to rollout.n.
    """

    name = "two_phase"
    n_init: int = 2
    n_continue: int | None = None

    def check(self, n: int, batch: int) -> None:
        """Refuse phases that make no groups, or larger ones than verl counts its mini-batches in.

        Raises:
            ConfigError: fewer than two screened, none to continue with, or more than n together.
        """
        assert batch > 0
        more = self.more(n)
        if self.n_init < 2 or more < 1 or self.n_init + more > n:
            raise ConfigError(
                f"dataflex.budget: n_init={self.n_init} and n_continue={more}; expected at least 2 and at least 1, and "
                f"together at most {_N}={n}"
            )

    def more(self, n: int) -> int:
        """Return the responses of the second phase."""
        return n - self.n_init if self.n_continue is None else self.n_continue

    def further(self, solved_P: IntArray, tries_P: IntArray, n: int) -> IntArray:
        """int64 [P]: further responses of prompts that were screened; 0 where a response of the first phase failed."""
        whole_P = tries_P == self.n_init
        more_P = two_phase(np.where(whole_P, solved_P, 0), n_init=self.n_init, n_continue=self.more(n))
        return np.where(whole_P, more_P, 0)

    def first(self, rates: Any, n: int, batch: int) -> list[int]:
        """Return the responses of each prompt in the first phase."""
        assert n > 0
        assert batch > 0
        return [self.n_init] * len(rates)


Budget = Knapsack | TwoPhase
_OPTIONS = {"knapsack": ("n_min", "n_max", "total"), "two_phase": ("n_init", "n_continue")}


def take_block(block: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the part `name` of a `dataflex` block, complete.

    Raises:
        ConfigError: it is no mapping, has an unknown key, or a value of another kind.
    """
    part = block.get(name)
    part = {} if part is None else part
    defaults = block_defaults(f"dataflex.{name}")
    if not isinstance(part, Mapping):
        raise ConfigError(f"dataflex.{name} must be a mapping, got {part!r}")
    for key in part:
        if key not in defaults:
            raise ConfigError(f"dataflex.{name} has no key {key!r}; known: {', '.join(defaults)}")
    return {key: SETTINGS[f"dataflex.{name}.{key}"].check(part.get(key, value)) for key, value in defaults.items()}


def parse_budget(block: Mapping[str, Any]) -> Budget | None:
    """Build the budget of a complete block; None for none.

    Raises:
        ConfigError: an option of the other kind of budget is set.
    """
    name = block["name"]
    if name == "none":
        return None
    defaults = block_defaults("dataflex.budget")
    for other, names in _OPTIONS.items():
        if other != name and (given := [option for option in names if block[option] != defaults[option]]):
            raise ConfigError(f"dataflex.budget.{given[0]} belongs to {other}, but dataflex.budget.name is {name}")
    options = {option: block[option] for option in _OPTIONS[name]}
    return Knapsack(**options) if name == "knapsack" else TwoPhase(**options)


def parse_backfill(block: Mapping[str, Any]) -> Backfill | None:
    """Build the backfill of a complete block; None where it is off."""
    return Backfill(**{key: value for key, value in block.items() if key != "enabled"}) if block["enabled"] else None
