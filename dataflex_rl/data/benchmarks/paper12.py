"""Preparing the study's benchmarks: one parquet file each, from the hub or from local files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dataflex_rl.data.benchmarks.specs import BENCHMARKS, LIMITS, Benchmark
from dataflex_rl.data.tasks.card import FILE as CARD
from dataflex_rl.data.tasks.card import source_entry, write_card
from dataflex_rl.data.tasks.folder import replaced
from dataflex_rl.data.tasks.items import Item, check_items, write_items
from dataflex_rl.data.tasks.source import Loaded, load, seeded_order
from dataflex_rl.errors import ConfigError, unknown

FILE = "test.parquet"
SET = "paper12"


def names(benchmark: str) -> tuple[str, ...]:
    """Return the benchmarks a name stands for: `paper12` for all twelve.

    Raises:
        ConfigError: an unknown name.
    """
    if benchmark == SET:
        return tuple(BENCHMARKS)
    if benchmark not in BENCHMARKS:
        raise unknown("benchmark", benchmark, (SET, *BENCHMARKS))
    return (benchmark,)


def prepare(folder: Path, benchmark: str, *, source: str, seed: int = 0, any_size: bool = False) -> dict[str, int]:
    """Write test.parquet and card.json of one benchmark or of all twelve; return {benchmark: items}.

    The folder is replaced as a whole.

    Raises:
        ConfigError: as `items_of`, `check_items` and `replaced`.
    """
    with replaced(folder, (FILE, CARD)) as new:
        return _write(new, benchmark, source, seed, any_size)


def _write(folder: Path, benchmark: str, source: str, seed: int, any_size: bool) -> dict[str, int]:
    items: list[Item] = []
    entries: list[dict[str, Any]] = []
    for name in names(benchmark):
        found, loaded = items_of(BENCHMARKS[name], source=source, seed=seed, any_size=any_size)
        entries.append(source_entry(BENCHMARKS[name], source, loaded) | {"rows_out": len(found)})
        items += found
    check_items(items)
    file = write_items(items, folder / FILE, split="test")
    totals = {name: sum(item.source == name for item in items) for name in names(benchmark)}
    write_card(folder, benchmark, {"test": file}, entries, seed=seed, items=totals, limits=LIMITS)
    return totals


def items_of(benchmark: Benchmark, *, source: str, seed: int, any_size: bool) -> tuple[list[Item], Loaded]:
    """Return the items of a benchmark with their token limits, and what was read.

    Where the public source has more than the study measured on, a subset is taken, in an order that depends on the ids
    alone; what is not in it is counted as dropped.

    Raises:
        ConfigError: as `load`; another number of items than the study had, unless `any_size`.
    """
    loaded = load(benchmark, source, seed=seed)
    items: Sequence[Item] = loaded.items
    if benchmark.subset and len(items) > benchmark.total:
        loaded.dropped["outside the study's subset"] += len(items) - benchmark.total
        kept = {item.item_id for item in seeded_order(items, seed)[: benchmark.total]}
        items = [item for item in items if item.item_id in kept]
    if len(items) != benchmark.total and not any_size:
        dropped = ", ".join(f"{count} {reason}" for reason, count in loaded.dropped.items()) or "none"
        raise ConfigError(
            f"{benchmark.name}: {source} gives {len(items)} items, the study has {benchmark.total} "
            f"(dropped: {dropped}); any_size=true prepares what there is, under the same name"
        )
    return [replace(item, max_new_tokens=LIMITS[benchmark.domain]) for item in items], loaded
