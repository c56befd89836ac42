"""A prompt's prior is its bucket's posterior, the bucket's prior its domain's, the domain's the run's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dataflex_rl.components.options import within
from dataflex_rl.components.registry import register_prompt_selector
from dataflex_rl.prompts.interface import (
    Candidates,
    Choice,
    PromptSelector,
    State,
    check_windows,
    nearest_order,
    ranked,
    weighted_order,
)
from dataflex_rl.prompts.learnability import learnability_C
from dataflex_rl.prompts.statistics import Groups, Memory, PromptStats
from dataflex_rl.prompts.table import FloatArray, PromptTable

LEAST, MOST = 0.5, 1000.0  # bounds of a concentration [responses]
ASSUMED = {"children": 4.0, "responses": 20.0}  # what the concentration at the start is worth
_WHO = "prompt selector 'hierarchical'"


def concentration(deviation: float, children: float, responses: float, start: float) -> float:
    """Return kappa, the weight of a parent's rate in a child's prior [responses], by matching moments.

    Children of a Beta(kappa m, kappa (1 - m)) with n responses each have rates r of variance
    m(1 - m)/n (1 + (n - 1)/(kappa + 1)), so the sum of n (r - m)^2 / (m(1 - m)) is expected to be children +
    (responses - children)/(kappa + 1). Solved for kappa, in LEAST..MOST, with the sums of `ASSUMED` made-up children of
    `start` beside those that were seen: without data it is `start`.

    Args:
        deviation: that sum over the children.
        children: their number (fewer by one where m was estimated from them).
        responses: the sum of n over them.
        start: kappa before there is data.
    """
    more = ASSUMED["responses"] - ASSUMED["children"]
    excess = deviation - children + more / (start + 1)
    overlap = excess / max(responses - children + more, 1.0)
    return float(np.clip(1 / overlap - 1, LEAST, MOST)) if overlap > 0 else MOST


def pooled(hit: FloatArray, miss: FloatArray, parent: FloatArray, start: float) -> FloatArray:
    """Return posterior means of the children, whose prior is worth kappa responses at the parent's rate."""
    tries = hit + miss
    some = tries > 0
    expected = np.clip(parent, 1e-3, 1 - 1e-3)
    square = (hit - tries * parent) ** 2 / np.where(some, tries, 1.0) / (expected * (1 - expected))
    kappa = concentration(float(square[some].sum()), max(float(some.sum()) - 1, 0.0), float(tries.sum()), start)
    mean: FloatArray = (kappa * parent + hit) / (kappa + tries)
    return mean


def bucket_rate_K(stats: PromptStats, start: float) -> FloatArray:
    """float64 [K]: rate of each bucket, pooled towards its domain's, which is pooled towards the run's."""
    hit_D, miss_D = stats.by_domain()
    run = (hit_D.sum() + 1) / (hit_D.sum() + miss_D.sum() + 2)
    rate_D = pooled(hit_D, miss_D, np.full(len(hit_D), run), start)
    return pooled(stats.hit_K, stats.miss_K, rate_D[stats.table.domain_K], start)


@register_prompt_selector("hierarchical")
@dataclass(frozen=True, kw_only=True)
class Hierarchical(PromptSelector):
    """Thompson or learnability on solve rates that a prompt shares with its bucket, its domain and the run.

    A prompt's prior is Beta(kappa r, kappa (1 - r)) with r its bucket's rate; kappa comes from how much the prompts of
    a bucket were seen to differ, likewise for buckets of a domain and domains of the run. So a prompt that was never
    drawn has a prediction, too. Buckets are the domains, divided by `dataflex.prompts.buckets`.
    """

    pick: Literal["thompson", "learnability"] = "thompson"
    target: float = 0.5
    candidates: int = 8
    tau: float = 1.0
    explore: float = 0.1
    decay: float = 0.5
    bucket_decay: float = 0.95
    start_kappa: float = 10.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        within(f"{_WHO}: target", self.target, "between 0 and 1", 0 <= self.target <= 1)
        check_windows(_WHO, self.candidates)
        within(f"{_WHO}: tau", self.tau, "above 0", 0 < self.tau < np.inf)
        within(f"{_WHO}: explore", self.explore, "above 0 and at most 1", 0 < self.explore <= 1)
        within(f"{_WHO}: start_kappa", self.start_kappa, f"in {LEAST:g}..{MOST:g}", LEAST <= self.start_kappa <= MOST)
        self.memory.check(_WHO)

    @property
    def memory(self) -> Memory:
        """Earlier visits of a prompt count `decay`, earlier steps of a bucket `bucket_decay`."""
        return Memory(decay=self.decay, bucket_decay=self.bucket_decay)

    def start(self, table: PromptTable) -> State:
        """Return the sums that the prompts' kappa comes from, all 0."""
        return {"deviation": 0.0, "children": 0.0, "responses": 0.0}

    def window(self, n: int) -> int:
        """Return candidates x n."""
        return self.candidates * n

    def choose(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Choice:
        """Take the n whose drawn rate is nearest to the target, or draw n by p(1 - p)."""
        alpha_C, beta_C = self._posterior_C(candidates)
        if self.pick == "learnability":
            weight_C = learnability_C(alpha_C / (alpha_C + beta_C), self.tau, self.explore)
            return ranked(weighted_order(candidates, weight_C, rng), n, candidates.size, "not_drawn")
        rate_C = candidates.drawn(lambda order: rng.beta(alpha_C[order], beta_C[order]))
        tie_C = candidates.drawn(lambda order: rng.random(len(order)))
        return ranked(nearest_order(rate_C, self.target, tie_C), n, candidates.size, "far_from_target")

    def observe(self, state: State, before: PromptStats, groups: Groups) -> State:
        """Add how far the groups were from what their buckets' rates said, earlier steps decayed."""
        some_G = groups.tries_G > 0
        tries, solved = groups.tries_G[some_G].astype(np.float64), groups.solved_G[some_G]
        rate_K = np.clip(bucket_rate_K(before, self.start_kappa), 1e-3, 1 - 1e-3)
        rate = rate_K[before.table.bucket_P[groups.prompt_G[some_G]]]
        new = {
            "deviation": float(((solved - tries * rate) ** 2 / tries / (rate * (1 - rate))).sum()),
            "children": float(len(tries)),
            "responses": float(tries.sum()),
        }
        return {name: self.bucket_decay * float(state[name]) + new[name] for name in new}

    def rate_C(self, candidates: Candidates) -> FloatArray:
        """float64 [C]: posterior mean."""
        alpha_C, beta_C = self._posterior_C(candidates)
        return alpha_C / (alpha_C + beta_C)

    def kappa(self, state: State) -> float:
        """Return what a bucket's rate is worth in the prior of its prompts [responses]."""
        return concentration(state["deviation"], state["children"], state["responses"], self.start_kappa)

    def _posterior_C(self, candidates: Candidates) -> tuple[FloatArray, FloatArray]:
        kappa = self.kappa(candidates.state)
        rate_K = bucket_rate_K(candidates.stats, self.start_kappa)
        prior_C = rate_K[candidates.table.bucket_P[candidates.prompt_C]]
        return kappa * prior_C + candidates.hit_C, kappa * (1 - prior_C) + candidates.miss_C
