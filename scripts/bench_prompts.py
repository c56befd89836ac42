"""CPU time and memory of every prompt selector on a large pool, against what a step may cost. Part of `make bench`.

A pool of a million prompts (3 domains x 8 levels), 30 % of them visited before, and steps of 256 draws with their
outcomes. Time is the CPU time of `draw` and `observe` together, mean and worst of the steps; the first step shuffles
the pass. Memory is what stays allocated for table and feed (tracemalloc), and the size of the state in a checkpoint.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.table import Table

from dataflex_rl.components.registry import lookup, names
from dataflex_rl.feed.interface import Outcomes
from dataflex_rl.feed.prompt_config import parse_prompts
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.streams import shuffled
from dataflex_rl.prompts.table import PromptTable

MOST_MS, MOST_BYTES = 50.0, 200.0
LEVEL = "extra_info.difficulty"
_TRIES = 5


def prompt_rows(prompts: int, draws: int, steps: int, seed: int = 0) -> list[dict[str, Any]]:
    """Measure each selector of ours on a pool of `prompts`."""
    rng = np.random.default_rng(seed)
    keys = [f"{key:016x}" for key in rng.integers(0, 2**63, prompts).tolist()]
    domain_R = rng.choice(["logic", "math", "science"], prompts).tolist()
    level_R = rng.integers(1, 9, prompts)
    tracemalloc.start()
    table = PromptTable.of(keys, domain_R, {LEVEL: level_R}, [LEVEL])
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    ours = [
        name for name in names("prompt selector")
        if lookup("prompt selector", name).cls.__module__.startswith("dataflex_rl.")
    ]  # fmt: skip
    return [_measured(name, table, held, domain_R, level_R, draws, steps, seed) for name in ours]


def _measured(
    name: str, table: PromptTable, held: int, domain_R: Sequence[str], level_R: Any, draws: int, steps: int, seed: int
) -> dict[str, Any]:
    rng, prompts = np.random.default_rng(seed), len(domain_R)
    tracemalloc.start()
    feed = PromptFeed(
        parse_prompts({"name": name}), table, domain_R, shuffled(seed, prompts), seed=seed, batch=draws, steps=steps + 1
    )
    feed.observe(_outcomes(1, rng.choice(prompts, prompts * 3 // 10, replace=False), level_R, rng))
    feed.release(feed.draw(draws).rows)
    held += tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    feed.load_state_dict({**feed.state_dict(), "streams": {"all": [1, 0]}})  # so that the first step shuffles a pass
    spent = []
    for step in range(2, steps + 2):
        began = time.process_time()
        rows = np.array(feed.draw(draws).rows)
        drawn = time.process_time()
        outcomes = _outcomes(step, rows, level_R, rng)
        again = time.process_time()
        feed.observe(outcomes)
        spent.append((drawn - began + time.process_time() - again) * 1e3)
    state = feed.state_dict()["stats"]
    saved = sum(part.numel() * part.element_size() for part in state.values() if hasattr(part, "numel"))
    return {
        "selector": name, "prompts": prompts, "draws": draws, "mean_ms": sum(spent) / steps, "worst_ms": max(spent),
        "bytes_per_prompt": held / prompts, "saved_bytes_per_prompt": saved / prompts,
    }  # fmt: skip


def _outcomes(step: int, row_G: Any, level_R: Any, rng: np.random.Generator) -> Outcomes:
    solved_G = rng.binomial(_TRIES, 1.0 - (level_R[row_G] - 1) / 7)
    return Outcomes(
        step=step, row_G=row_G, tries_G=np.full(len(row_G), _TRIES), solved_G=solved_G, reward_G=solved_G / _TRIES
    )


def prompt_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Show the rows with their shares of what is allowed."""
    table = Table(
        title=f"prompt selectors: {rows[0]['prompts']:,} prompts, {rows[0]['draws']} draws a step; "
        f"of {MOST_MS:g} ms and {MOST_BYTES:g} bytes"
    )
    for column in (
        "selector",
        "mean ms",
        "of limit",
        "worst ms",
        "of limit",
        "bytes/prompt",
        "of limit",
        "in checkpoint",
    ):
        table.add_column(column, justify="left" if column == "selector" else "right")
    for row in rows:
        table.add_row(
            row["selector"], f"{row['mean_ms']:.1f}", f"{row['mean_ms'] / MOST_MS:.2f}", f"{row['worst_ms']:.1f}",
            f"{row['worst_ms'] / MOST_MS:.2f}", f"{row['bytes_per_prompt']:.0f}",
            f"{row['bytes_per_prompt'] / MOST_BYTES:.2f}", f"{row['saved_bytes_per_prompt']:.0f}",
        )  # fmt: skip
    return table
