"""The study's training task: 5,000 prompts each of math, logic and science, and each domain alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.data.tasks.card import FILE as CARD
from dataflex_rl.data.tasks.card import counts, source_entry, write_card
from dataflex_rl.data.tasks.folder import replaced
from dataflex_rl.data.tasks.items import Item, check_items, write_items
from dataflex_rl.data.tasks.overlap import Index, Overlap, keys, remove_overlap
from dataflex_rl.data.tasks.public import SOURCES
from dataflex_rl.data.tasks.source import interleave, load, seeded_order
from dataflex_rl.errors import ConfigError

DOMAINS = {
    "math": ("gsm8k", "deepscaler", "dapo_math_17k"),
    "logic": ("knights_and_knaves",),
    "science": ("sciq",),
}
TASKS = {
    "multidomain3": tuple(DOMAINS),
    "multidomain_math": ("math",),
    "multidomain_logic": ("logic",),
    "multidomain_science": ("science",),
}
TRAIN_FILE, VAL_FILE = "train.parquet", "val.parquet"
PROMPTS, HELD_OUT = 5000, 100  # per domain


def prepare(
    folder: Path,
    task: str,
    *,
    source: str,
    benchmarks: Sequence[Item],
    seed: int = 0,
    prompts: int = PROMPTS,
    held_out: int = HELD_OUT,
) -> dict[str, Any]:
    """Write train.parquet, val.parquet and card.json of one of TASKS; return what overlapped, per domain.

    A domain takes its sources in turn, each in a seeded order, after removing what overlaps with the benchmarks. The
    first `held_out` prompts are the validation split, the next `prompts` the training split. The folder is replaced as
    a whole.

    Raises:
        ConfigError: as `load`, `check_items` and `replaced`; a size below 1; a domain has too few prompts left.
    """
    for name, size in (("prompts", prompts), ("held_out", held_out)):
        if size < 1:
            raise ConfigError(f"{task} {name}: got {size}, expected at least 1")
    with replaced(folder, (TRAIN_FILE, VAL_FILE, CARD)) as new:
        return _write(new, task, source, benchmarks, seed, (prompts, held_out))


def _write(
    folder: Path, task: str, source: str, benchmarks: Sequence[Item], seed: int, sizes: tuple[int, int]
) -> dict[str, Any]:
    prompts, held_out = sizes
    train: list[Item] = []
    val: list[Item] = []
    entries: list[dict[str, Any]] = []
    overlaps = {}
    index = Index.of(benchmarks)
    for domain in TASKS[task]:
        overlap = _domain(domain, source, seed, index, entries)
        overlaps[domain] = {"exact": overlap.exact, "ngram": overlap.ngram}
        if len(overlap.kept) < prompts + held_out:
            raise ConfigError(
                f"{task}: {domain} has {len(overlap.kept)} prompts left, expected {prompts} + {held_out} held out; "
                "pass a smaller prompts= or held_out="
            )
        val += overlap.kept[:held_out]
        train += overlap.kept[held_out : held_out + prompts]
    train, val = seeded_order(train, seed + 1), seeded_order(val, seed + 1)
    check_items([*train, *val])
    files = {
        "train": write_items(train, folder / TRAIN_FILE, split="train"),
        "val": write_items(val, folder / VAL_FILE, split="val", first_index=len(train)),
    }
    against = counts(benchmarks)
    facts = {"seed": seed, "train": counts(train), "val": counts(val), "overlap": overlaps, "against": against}
    write_card(folder, task, files, entries, **facts)
    return overlaps


def _domain(domain: str, source: str, seed: int, index: Index, entries: list[dict[str, Any]]) -> Overlap:
    """Return the prompts of a domain in the order they are taken, without overlap; its sources go into `entries`."""
    parts = []
    for name in DOMAINS[domain]:
        loaded = load(SOURCES[name], source, seed=seed)
        entries.append(source_entry(SOURCES[name], source, loaded))
        parts.append(seeded_order(loaded.items, seed))
    return remove_overlap(_once(interleave(parts)), index)


def _once(items: Sequence[Item]) -> list[Item]:
    """Keep the first of equal questions: the sources of a domain share some."""
    kept: list[Item] = []
    seen: set[str] = set()
    for item in items:
        same = keys(item)
        if seen.isdisjoint(same):
            kept.append(item)
            seen |= same
    return kept
