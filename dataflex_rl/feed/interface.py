"""What every source of prompts does: draw the next ones, take in what came of them, and resume exactly.

Plain order, a mixer and a prompt selector are stages of one feed: quotas per domain first, then which prompts of a
domain, then in which order. A trainer calls `draw` when it needs prompts, `observe` once per step, and puts
`state_dict` into its checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.prompts.table import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Prompts to generate: dataset rows, and the domain each was drawn for (its place in the feed's domains).

    `quota_D`: prompts of each domain that the batch is to consume; what was drawn beyond them is surplus. `share_D`:
    shares at which they were drawn. `rates`: predicted solve rates, empty where none are predicted. `skipped`:
    reason -> candidates passed over. `fallback`: prompts taken though the rule had skipped them, since too few were
    left. `short`: prompts asked for that there are not: all others are being generated.
    """

    rows: list[int]
    domain_of: list[int]
    quota_D: list[int]
    share_D: list[float]
    rates: list[float] = field(default_factory=list)
    skipped: Mapping[str, int] = field(default_factory=dict)
    fallback: int = 0
    short: int = 0


@dataclass(frozen=True, kw_only=True)
class Realised:
    """What a step consumed, per domain: prompts, responses, and tokens with a weight above 0. `shortage_D`: prompts
    that were asked for minus those that were there.
    """

    prompts_D: Sequence[float]
    responses_D: Sequence[float]
    trained_tokens_D: Sequence[float]
    shortage_D: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What came of a step's prompts: G groups, one entry each.

    `row_G`: dataset row. `tries_G`: completed responses that are no padding, `solved_G`: those of a raw outcome above
    the success threshold, `reward_G`: mean reward, all before any selection. A group without a response (n = 0) sets
    its prompt free and counts as nothing. `tally`: what the mixer averages, where there is one; `realised`: what the
    batch consumed of its domains, where that is known.
    """

    step: int
    row_G: IntArray
    tries_G: IntArray
    solved_G: IntArray
    reward_G: FloatArray
    tally: Tally | None = None
    realised: Realised | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        size = len(self.row_G)
        for name in ("tries_G", "solved_G", "reward_G"):
            if (found := len(getattr(self, name))) != size:
                raise ConfigError(f"outcomes of step {self.step}: {name} has {found} entries for {size} groups")
        if size and ((self.solved_G < 0) | (self.solved_G > self.tries_G)).any():
            raise ConfigError(f"outcomes of step {self.step}: expected 0 <= solved <= tries in every group")
        if not np.isfinite(self.reward_G[self.tries_G > 0]).all():
            raise ConfigError(f"outcomes of step {self.step}: the mean reward of a group is a NaN or Inf")


def grouped(
    step: int,
    row_B: Sequence[int] | IntArray,
    reward_B: Sequence[float],
    outcome_B: Sequence[float] | None = None,
    *,
    success_threshold: float = 0.5,
    counts_B: Sequence[bool] | None = None,
    tally: Tally | None = None,
    realised: Realised | None = None,
) -> Outcomes:
    """Return outcomes from B single responses.

    Args:
        step: number of the step, from 1.
        row_B: dataset row of each response's prompt.
        reward_B: reward of each.
        outcome_B: raw outcome of the verifier, if it is not the reward; above `success_threshold` is solved.
        success_threshold: of the raw outcome.
        counts_B: completed and no padding; None for all. Groups without a response that counts are in the result.
        tally: what the mixer averages. realised: what the batch consumed of the mixer's domains.
    """
    row_G, group_B = np.unique(np.asarray(row_B, dtype=np.int64), return_inverse=True)
    counts = np.ones(len(group_B)) if counts_B is None else np.asarray(counts_B, dtype=np.float64)
    reward = np.asarray(reward_B, dtype=np.float64)
    solved = np.asarray(reward if outcome_B is None else outcome_B, dtype=np.float64) > success_threshold
    tries_G = np.bincount(group_B, weights=counts, minlength=len(row_G))
    total_G = np.bincount(group_B, weights=np.where(counts > 0, reward, 0.0), minlength=len(row_G))
    return Outcomes(
        step=step,
        row_G=row_G,
        tries_G=tries_G.astype(np.int64),
        solved_G=np.bincount(group_B, weights=counts * solved, minlength=len(row_G)).astype(np.int64),
        reward_G=total_G / np.maximum(tries_G, 1),
        tally=tally,
        realised=realised,
    )


@runtime_checkable
class Feed(Protocol):
    """A source of prompts. What it draws depends on its seed, its data and what it observed, and on nothing else."""

    def draw(self, n: int, quota_D: Sequence[int] | None = None, *, surplus: int = 0) -> Drawn:
        """Return the next n prompts, and `surplus` further ones at the same shares.

        `quota_D` asks for so many of each domain in place of the feed's own quotas (to replace groups).
        """

    def observe(self, outcomes: Outcomes) -> dict[str, float]:
        """Take in the outcomes of a step, once per step, and return its metrics."""

    def release(self, rows: Sequence[int]) -> None:
        """Set prompts free that were drawn and will have no outcome."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything the next draws depend on: plain data and tensors."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where it is of other data or another configuration."""
