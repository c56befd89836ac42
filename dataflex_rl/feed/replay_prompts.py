"""What a prompt selector would do on a recorded or made-up history, in one call and without a host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.interface import Outcomes, grouped
from dataflex_rl.feed.prompt_config import PromptConfig, parse_prompts
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.streams import shuffled
from dataflex_rl.prompts.table import PromptTable
from dataflex_rl.seeding import parse_seed


def replay_prompts(
    config: Mapping[str, Any],
    history: Sequence[Mapping[str, Sequence[float]]],
    *,
    prompts: Mapping[str, Mapping[str, Any]] | Sequence[str] | None = None,
    n: int | None = None,
    seed: int = 0,
    steps: int | None = None,
) -> list[dict[str, Any]]:
    """Return what the selector would do after each step of a history.

    Args:
        config: the prompts block, {"name": "beta_thompson", "params": {...}, "buckets": [...], ...}.
        history: one {prompt: rewards of its responses} per step; a reward above `success_threshold` is solved. Prompts
            need not be those that the selector would have drawn.
        prompts: all prompts, as names or as {prompt: {"domain": ..., column: value, ...}}; None: those of the history.
        n: prompts of the next batch; None: as many as the step had.
        seed: of the run. steps: of the whole run, where the selector asks for it; None: those of the history.

    Returns:
        per step {"next": the prompts of the next batch, in order, "rates": {prompt: predicted solve rate} (empty where
        the selector predicts none), "skipped": {reason: candidates}, "fallback": prompts taken against the rule,
        "metrics": as logged in a run}.

    Raises:
        ConfigError: the block does not fit, a prompt is unknown, a reward no number, or a batch larger than the pool.
    """
    parsed, seed = parse_prompts(config), parse_seed(seed)
    if isinstance(history, Mapping | str) or not isinstance(history, Sequence):
        raise ConfigError(f"history must be a list of steps, got {type(history).__name__}")
    if not history:
        return []
    row_of, table, domain_R = _pool(parsed, history, prompts)
    sizes = [_size(number, step, n) for number, step in enumerate(history, start=1)]
    feed = PromptFeed(
        parsed, table, domain_R, shuffled(seed, len(row_of)), seed=seed, batch=max(sizes), steps=steps or len(history)
    )
    names, found = list(row_of), []
    for number, (step, size) in enumerate(zip(history, sizes, strict=True), start=1):
        outcomes = _outcomes(number, step, row_of, parsed)
        feed.expect(outcomes.row_G.tolist())
        metrics = feed.observe(outcomes)
        drawn = feed.draw(size)
        feed.release(drawn.rows)
        found.append(
            {
                "next": [names[row] for row in drawn.rows],
                "rates": _rates(feed, names),
                "skipped": dict(drawn.skipped),
                "fallback": drawn.fallback,
                "metrics": metrics,
            }
        )
    return found


def _rates(feed: PromptFeed, names: Sequence[str]) -> dict[str, float]:
    rate_R = feed.predict(range(len(names)))
    return {} if rate_R is None else dict(zip(names, rate_R, strict=True))


def _pool(
    parsed: PromptConfig,
    history: Sequence[Mapping[str, Any]],
    prompts: Mapping[str, Mapping[str, Any]] | Sequence[str] | None,
) -> tuple[dict[str, int], PromptTable, list[str]]:
    """Return (row of each prompt, the table, the domain of each row)."""
    if prompts is None:
        prompts = [name for number, step in enumerate(history, start=1) for name in _mapping(number, step)]
    if isinstance(prompts, str):
        raise ConfigError(f"prompts must be a list of names or a mapping, got {prompts!r}")
    facts = dict(prompts) if isinstance(prompts, Mapping) else {str(name): {} for name in prompts}
    for name, fact in facts.items():
        if not isinstance(fact, Mapping):
            raise ConfigError(f"prompt {name!r} must be a mapping like {{'domain': ...}}, got {fact!r}")
    columns = {}
    for column in parsed.columns:
        if missing := [name for name, fact in facts.items() if column not in fact]:
            known = ", ".join(sorted({key for fact in facts.values() for key in fact})) or "none"
            raise ConfigError(
                f"prompt {missing[0]!r} has no column {column!r}, which the selector reads; given: {known}"
            )
        columns[column] = [fact[column] for fact in facts.values()]
    domain_R = [str(fact.get("domain", "all")) for fact in facts.values()]
    table = PromptTable.of([str(name) for name in facts], domain_R, columns, parsed.buckets)
    return {str(name): row for row, name in enumerate(facts)}, table, domain_R


def _size(number: int, step: Mapping[str, Any], n: int | None) -> int:
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ConfigError(f"n must be an integer of at least 1 [prompts], got {n!r}")
    size = len(_mapping(number, step)) if n is None else n
    if size == 0:
        raise ConfigError(f"history step {number} has no prompt; set n, the prompts of a batch")
    return size


def _outcomes(number: int, step: Mapping[str, Any], row_of: Mapping[str, int], parsed: PromptConfig) -> Outcomes:
    rows: list[int] = []
    rewards: list[float] = []
    for name, values in step.items():
        where = f"history step {number}, prompt {name!r}"
        if name not in row_of:
            raise ConfigError(f"{where} is unknown; known: {', '.join(list(row_of)[:10])}")
        if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
            raise ConfigError(f"{where} must be a list of rewards, got {values!r}")
        given = list(values)
        if bad := [value for value in given if not _is_number(value)]:
            raise ConfigError(f"{where}: expected finite rewards, got {bad[0]!r}")
        rows += [row_of[name]] * len(given)
        rewards += [float(value) for value in given]
    return grouped(number, np.array(rows, np.int64), rewards, success_threshold=parsed.success_threshold)


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _mapping(number: int, step: Any) -> Mapping[str, Any]:
    if not isinstance(step, Mapping):
        raise ConfigError(f"history step {number} must be a mapping {{prompt: rewards}}, got {type(step).__name__}")
    return step
