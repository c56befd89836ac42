"""What a prompt selector is: a frozen dataclass of options with pure functions of statistics and a small state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dataflex_rl.components.options import within
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.statistics import Groups, Memory, PromptStats
from dataflex_rl.prompts.table import BoolArray, FloatArray, IntArray, PromptTable

State = Mapping[str, Any]  # plain data: what a checkpoint holds of a rule


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The next prompts of a stream, C of them and all different, in its order; what is known of them is in `stats`.

    `state`: the rule's own. `step`: of the draw, from 1. `steps`: of the whole run, None where unknown. `pool`: the
    prompts of which these are the next, those of a mixer's domain; None: all, which is so without a mixer, whatever
    domains the data have. `batch`: prompts of a batch that come from the pool.
    """

    prompt_C: IntArray
    stats: PromptStats
    state: State = field(default_factory=dict)
    step: int = 1
    steps: int | None = None
    pool: IntArray | None = None
    batch: int = 1

    @property
    def size(self) -> int:
        """Number of candidates C."""
        return len(self.prompt_C)

    @property
    def table(self) -> PromptTable:
        """All prompts."""
        return self.stats.table

    @cached_property
    def hit_C(self) -> FloatArray:
        """float64 [C]: decayed solved responses."""
        return self.stats.hit_P[self.prompt_C].astype(np.float64)

    @cached_property
    def miss_C(self) -> FloatArray:
        """float64 [C]: decayed unsolved responses."""
        return self.stats.miss_P[self.prompt_C].astype(np.float64)

    def drawn(self, sample: Callable[[IntArray], FloatArray]) -> FloatArray:
        """float64 [C]: random numbers handed out in the order of the prompts' keys, so that candidates in another order
        get the same numbers. `sample` gets the candidates' places in key order and returns one number for each.
        """
        order_C = np.argsort(self.prompt_C, kind="stable")
        out_C = np.empty(self.size)
        out_C[order_C] = sample(order_C)
        return out_C


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`take`: places of the chosen candidates, first to be generated first. `used`: so many leading candidates are
    behind the run now; the others stay in the stream. `skipped`: reason -> candidates that were used but not taken.
    """

    take: IntArray
    used: int
    skipped: Mapping[str, int]


class PromptSelector:
    """Base of all prompt selectors. A third party's is a frozen dataclass on it under `register_prompt_selector`.

    A rule reads statistics and its state and changes neither; its random numbers come from the generator it is given.
    """

    @property
    def memory(self) -> Memory:
        """How the statistics of this rule forget."""
        return Memory()

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the data that the rule reads."""
        return ()

    def check(self, table: PromptTable, steps: int | None) -> None:
        """Raise ConfigError where the options do not fit the data or the run's number of steps."""
        assert table.size > 0
        assert steps is None or steps > 0

    def start(self, table: PromptTable) -> State:
        """Return the rule's state before the first step: numbers, strings and lists of them by name."""
        assert table.size > 0
        return {}

    def arrange(self, row_R: IntArray, table: PromptTable) -> IntArray:
        """Return the dataset rows of one pass in the order in which they become candidates."""
        assert len(row_R) <= len(table.prompt_R)
        return row_R

    def window(self, n: int) -> int:
        """Return how many candidates to look at for n prompts, at least n."""
        return n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Choose at most n of the candidates."""
        raise NotImplementedError(f"prompt selector {type(self).__name__} has no choose")

    def observe(self, state: State, before: PromptStats, groups: Groups) -> State:
        """Return the state after finished groups; `before` are the statistics without them."""
        assert groups.step > 0
        assert before.table.size > 0
        return state

    def rate_C(self, candidates: Candidates) -> FloatArray | None:
        """float64 [C]: predicted solve rate of each candidate; None where the rule predicts none."""
        assert candidates.size >= 0
        return None


def ranked(order: IntArray, n: int, size: int, reason: str) -> Choice:
    """Return the choice of the first n of `order`, all candidates used; the others were skipped for one reason."""
    take = np.asarray(order[:n], dtype=np.int64)
    return Choice(take=take, used=size, skipped={reason: size - len(take)} if size > len(take) else {})


def passed(keep_C: BoolArray, n: int, reason_C: npt.NDArray[Any]) -> Choice:
    """Return the choice of the first n candidates that are kept; those after the n-th stay in the stream.

    `reason_C`: why a candidate that is not kept was skipped.
    """
    take = np.flatnonzero(keep_C)[:n]
    used = int(take[-1]) + 1 if len(take) == n and n > 0 else len(keep_C)
    lost = reason_C[:used][~keep_C[:used]]
    names, count = np.unique(lost.astype(str), return_counts=True)
    return Choice(take=take, used=used, skipped=dict(zip(names.tolist(), count.tolist(), strict=True)))


def posterior_C(candidates: Candidates, alpha0: float, beta0: float) -> FloatArray:
    """float64 [C]: mean of Beta(alpha0 + hit, beta0 + miss)."""
    hit_C, miss_C = candidates.hit_C, candidates.miss_C
    return (alpha0 + hit_C) / (alpha0 + beta0 + hit_C + miss_C)


def checked(name: str, choice: Choice, size: int, need: int) -> Choice:
    """Hold the selector `name` to its contract: at most `need` different ones of `size` candidates, in the used part.

    Raises:
        ConfigError: the choice breaks it.
    """
    take, who = choice.take, f"prompt selector {name!r}"
    if len(take) > need or len(np.unique(take)) != len(take):
        raise ConfigError(f"{who} chose {take.tolist()}, expected at most {need} different candidates")
    least = max([1, *(take + 1).tolist()])
    if (len(take) and take.min() < 0) or not least <= choice.used <= size:
        raise ConfigError(f"{who} used {choice.used} of {size} candidates and chose {take.tolist()}")
    if len(take) < need and choice.used < size:
        raise ConfigError(f"{who} chose {len(take)} of {need} prompts and left {size - choice.used} unused")
    return choice


def nearest_order(value_C: FloatArray, target: float, tie_C: FloatArray) -> IntArray:
    """int64 [C]: places by distance to the target, nearest first; equal distances by `tie_C`."""
    return np.lexsort((tie_C, np.abs(value_C - target)))


def weighted_order(candidates: Candidates, weight_C: FloatArray, rng: np.random.Generator) -> IntArray:
    """int64 [C]: places in the order of successive draws without replacement, each in proportion to its weight.

    A weight of 0 comes last. Exponential clocks: the smallest e / weight is a draw in proportion to the weights.
    """
    clock_C = candidates.drawn(lambda order: rng.standard_exponential(len(order)))
    with np.errstate(divide="ignore"):
        return np.lexsort((clock_C, clock_C / weight_C))


def check_windows(who: str, candidates: int) -> None:
    """Refuse fewer than one candidate per prompt."""
    within(f"{who}: candidates", candidates, "an integer of at least 1 (candidates per prompt)", candidates >= 1)


def check_prior(who: str, alpha0: float, beta0: float) -> None:
    """Refuse a prior that is no Beta distribution."""
    within(f"{who}: alpha0", alpha0, "above 0", 0 < alpha0 < np.inf)
    within(f"{who}: beta0", beta0, "above 0", 0 < beta0 < np.inf)
