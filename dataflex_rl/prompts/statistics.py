"""What a prompt selector sees: the outcomes of each prompt and each bucket so far, in arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from dataflex_rl.components.options import within
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.table import FloatArray, IntArray, PromptTable

_ARRAYS = ("tries_P", "solved_P", "visits_P", "last_step_P", "rate_P", "reward_P", "streak_P", "hit_P", "miss_P",
           "tries_K", "solved_K", "hit_K", "miss_K")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Memory:
    """How the statistics forget. `decay`: what an earlier visit of a prompt counts at the next one; `bucket_decay`:
    what an earlier step of a bucket counts at the next step; a visit of mean reward >= `easy` or <= `hard` is constant.
    """

    decay: float = 1.0
    bucket_decay: float = 0.95
    easy: float = 0.98
    hard: float = 0.11

    def check(self, who: str) -> None:
        """Refuse decays outside 0..1 and thresholds that overlap."""
        within(f"{who}: decay", self.decay, "between 0 and 1", 0 <= self.decay <= 1)
        within(f"{who}: bucket_decay", self.bucket_decay, "between 0 and 1", 0 <= self.bucket_decay <= 1)
        within(f"{who}: hard", self.hard, f"below easy={self.easy:g}", self.hard < self.easy)


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Finished groups of one step, G of them, each of another prompt: s of n responses solved, and their mean reward.

    Counts are over completed responses that are no padding, before any selection. A group without one (n = 0) tells
    nothing and changes nothing.
    """

    step: int
    prompt_G: IntArray
    tries_G: IntArray
    solved_G: IntArray
    reward_G: FloatArray


class PromptStats:
    """Outcomes per prompt (P) and per bucket (K).

    `tries`, `solved`: responses since the start. `hit`, `miss`: solved and unsolved responses with earlier visits (of
    a bucket: earlier steps) decayed. `visits`, `last_step` (0: never), `rate` and `reward` of the last visit (NaN:
    never), `streak`: trailing visits that were constant, positive for easy, negative for hard, 0 for neither.
    Of a prompt 34 bytes.
    """

    def __init__(self, table: PromptTable, memory: Memory) -> None:
        self.table = table
        self.memory = memory
        size, buckets = table.size, len(table.domain_K)
        self.tries_P, self.solved_P = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.visits_P, self.last_step_P = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.rate_P, self.reward_P = np.full(size, np.nan, np.float32), np.full(size, np.nan, np.float32)
        self.streak_P = np.zeros(size, np.int16)
        self.hit_P, self.miss_P = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.tries_K, self.solved_K = np.zeros(buckets, np.int64), np.zeros(buckets, np.int64)
        self.hit_K, self.miss_K = np.zeros(buckets), np.zeros(buckets)
        self.step = 0

    def add(self, groups: Groups) -> None:
        """Take in finished groups; their prompts are distinct, and steps never go back."""
        some_G = groups.tries_G > 0
        at, tries, solved = groups.prompt_G[some_G], groups.tries_G[some_G], groups.solved_G[some_G]
        reward = groups.reward_G[some_G]
        assert len(np.unique(at)) == len(at), "a prompt is in the step twice"
        self.tries_P[at] += tries.astype(np.int32)
        self.solved_P[at] += solved.astype(np.int32)
        self.visits_P[at] += 1
        self.last_step_P[at] = groups.step
        self.rate_P[at], self.reward_P[at] = solved / tries, reward
        self.hit_P[at] = self.memory.decay * self.hit_P[at] + solved
        self.miss_P[at] = self.memory.decay * self.miss_P[at] + (tries - solved)
        self.streak_P[at] = self._streak(at, reward)
        self._add_to_buckets(groups.step, self.table.bucket_P[at], tries, solved)

    def _add_to_buckets(self, step: int, bucket_G: Any, tries: IntArray, solved: IntArray) -> None:
        size = len(self.hit_K)
        tries_K = np.bincount(bucket_G, weights=tries, minlength=size)
        solved_K = np.bincount(bucket_G, weights=solved, minlength=size)
        self.tries_K += tries_K.astype(np.int64)
        self.solved_K += solved_K.astype(np.int64)
        kept = self.memory.bucket_decay ** max(step - self.step, 0)
        self.hit_K = kept * self.hit_K + solved_K
        self.miss_K = kept * self.miss_K + (tries_K - solved_K)
        self.step = step

    def _streak(self, at: IntArray, reward: FloatArray) -> Any:
        """Return the new trailing runs: one longer in the same class, 1 in the other, 0 for a mixed group."""
        old, limit = self.streak_P[at], np.iinfo(np.int16).max
        easier = np.minimum(np.maximum(old, 0), limit - 1) + 1
        harder = np.maximum(np.minimum(old, 0), 1 - limit) - 1
        return np.where(reward >= self.memory.easy, easier, np.where(reward <= self.memory.hard, harder, 0))

    def by_domain(self) -> tuple[FloatArray, FloatArray]:
        """float64 [D], float64 [D]: decayed solved and unsolved responses of each domain."""
        size, domain_K = len(self.table.domains), self.table.domain_K
        hit_D, miss_D = np.zeros(size), np.zeros(size)
        np.add.at(hit_D, domain_K, self.hit_K)
        np.add.at(miss_D, domain_K, self.miss_K)
        return hit_D, miss_D

    def domain_rate_D(self) -> FloatArray:
        """float64 [D]: posterior mean of each domain's solve rate under a uniform prior; .5 before any outcome."""
        hit_D, miss_D = self.by_domain()
        return (hit_D + 1) / (hit_D + miss_D + 2)

    def state_dict(self) -> dict[str, Any]:
        """Return copies of the arrays as tensors, and what they belong to."""
        return {
            "table": self.table.fingerprint(),
            "step": self.step,
            **{name: torch.from_numpy(getattr(self, name).copy()) for name in _ARRAYS},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where it is of other prompts, domains or buckets."""
        here = self.table.fingerprint()
        if state["table"] != here:
            raise ConfigError(
                f"the saved prompt statistics are of other prompts or buckets (fingerprint {state['table']}, this data "
                f"has {here}); resume with the same data and dataflex.prompts.buckets, or start a new run"
            )
        self.step = int(state["step"])
        for name in _ARRAYS:
            setattr(self, name, state[name].numpy().copy())
