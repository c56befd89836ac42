"""Pools of prompts with known solve rates, and feeds over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from dataflex_rl.components.registry import lookup, names
from dataflex_rl.feed.config import parse_mixer
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import resolve_domains
from dataflex_rl.feed.interface import Outcomes
from dataflex_rl.feed.prompt_config import parse_prompts
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.streams import shuffled
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.policy.split import MIXER_DEFAULTS
from dataflex_rl.prompts import Candidates, Groups, PromptSelector, PromptStats, PromptTable

OURS = tuple(
    name for name in names("prompt selector")
    if lookup("prompt selector", name).cls.__module__.startswith("dataflex_rl.")
)  # fmt: skip
ACT = tuple(name for name in OURS if name not in ("none", "order"))
COLUMN = "extra_info.difficulty"


def table(size: int, *, domains: Sequence[str] | None = None, difficulty: Sequence[float] | None = None) -> PromptTable:
    """Prompts whose keys are in the order of their rows, so that a prompt's number is its row."""
    columns = {COLUMN: list(difficulty) if difficulty is not None else [1] * size}
    return PromptTable.of([f"{row:016x}" for row in range(size)], domains or ["all"] * size, columns)


def seen(
    pool: PromptTable, visits: Sequence[tuple[int, int, int]], selector: PromptSelector
) -> tuple[PromptStats, Any]:
    """Statistics and state after one step per visit (row, solved, tries)."""
    stats, state = PromptStats(pool, selector.memory), selector.start(pool)
    for step, (row, solved, tries) in enumerate(visits, start=1):
        groups = Groups(
            step=step, prompt_G=pool.prompt_R[[row]], tries_G=np.array([tries]), solved_G=np.array([solved]),
            reward_G=np.array([solved / tries]),
        )  # fmt: skip
        state = selector.observe(state, stats, groups)
        stats.add(groups)
    return stats, state


def candidates(stats: PromptStats, rows: Sequence[int], state: Mapping[str, Any], **more: Any) -> Candidates:
    return Candidates(prompt_C=stats.table.prompt_R[list(rows)], stats=stats, state=state, **more)


def feed(
    name: str, pool: PromptTable, batch: int, *, seed: int = 0, steps: int | None = 100, **more: Any
) -> PromptFeed:
    """A feed over a pool, one row per prompt, in a shuffled order."""
    block = {"name": name, "params": more.pop("params", {}), "buckets": more.pop("buckets", [])}
    domain_R = [pool.domains[d] for d in pool.domain_P[pool.prompt_R]]
    order = more.pop("order", shuffled(seed, len(domain_R)))
    return PromptFeed(parse_prompts(block), pool, domain_R, order, seed=seed, batch=batch, steps=steps, **more)


def outcomes(step: int, rows: Sequence[int], rate_R: Any, rng: np.random.Generator, tries: int = 5) -> Outcomes:
    """Outcomes of drawn rows whose responses are solved at their rates."""
    solved_G = rng.binomial(tries, np.asarray(rate_R)[list(rows)])
    return Outcomes(
        step=step, row_G=np.array(rows, np.int64), tries_G=np.full(len(rows), tries), solved_G=solved_G,
        reward_G=solved_G / tries,
    )  # fmt: skip


def mixing(**block: Any) -> dict[str, Any]:
    """A mixer over domains a and b, as keywords of a feed."""
    config = parse_mixer({**MIXER_DEFAULTS, **block})
    assert config is not None
    return {"mixer": DomainMixer(config, ("a", "b")), "domains": resolve_domains(None, ["a", "b"])}


def tally(reward_D: list[float]) -> Tally:
    one_D = torch.ones(2, dtype=torch.int64)
    return Tally(sum_D=torch.tensor(reward_D, dtype=torch.float64), count_D=one_D, seen_D=one_D)
