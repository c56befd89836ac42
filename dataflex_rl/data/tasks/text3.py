"""The task `text3`: natural-language mathematics, logic and science, generated offline at five levels of difficulty."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.data.tasks import text_logic, text_math, text_science
from dataflex_rl.data.tasks.card import FILE as CARD
from dataflex_rl.data.tasks.card import counts, level_counts, write_card
from dataflex_rl.data.tasks.folder import replaced
from dataflex_rl.data.tasks.generated import Problem, drawn
from dataflex_rl.data.tasks.items import Item, check_items, content_id, write_items
from dataflex_rl.data.tasks.overlap import Index, Overlap, remove_overlap
from dataflex_rl.data.tasks.shares import Tap, share_out
from dataflex_rl.errors import ConfigError

TRAIN_FILE, VAL_FILE = "train.parquet", "val.parquet"
DOMAINS = ("math", "logic", "science")


@dataclass(frozen=True, kw_only=True)
class Text3Options:
    """Seed of the problems, and prompts per split: any multiple of the three domains."""

    seed: int = 0
    train_size: int = 2400
    val_size: int = 45


def prepare(folder: Path, options: Text3Options, benchmarks: Sequence[Item]) -> dict[str, int]:
    """Write train.parquet, val.parquet and card.json; return how many training prompts overlapped with the benchmarks.

    Every domain has a third of each split, every level a fifth of a domain, every kind an equal part of a level (of
    what does not divide, lower levels have one more). A kind that runs dry leaves its part to the others of its
    level, a level to the next ones; the card counts the levels. No question is in both splits. Overlapping prompts
    are removed and made up for. The folder is replaced as a whole.

    Raises:
        ConfigError: a size is no positive multiple of 3, the generators have too few different questions, or as
            `replaced`.
    """
    _check_sizes(options)
    with replaced(folder, (TRAIN_FILE, VAL_FILE, CARD)) as new:
        return write(new, options, benchmarks)


def _check_sizes(options: Text3Options) -> None:
    for name, size in (("train_size", options.train_size), ("val_size", options.val_size)):
        if size <= 0 or size % len(DOMAINS):
            raise ConfigError(f"text3 {name}: got {size}, expected a positive multiple of {len(DOMAINS)}")


def write(folder: Path, options: Text3Options, benchmarks: Sequence[Item]) -> dict[str, int]:
    """Write the same files into a folder that is nobody else's yet."""
    index = Index.of(benchmarks)
    removed = {"exact": 0, "ngram": 0}
    train: list[Item] = []
    val: list[Item] = []
    for domain in DOMAINS:
        part = domain_items(domain, options.train_size // 3, options.seed, held_out=False, index=index)
        removed = {"exact": removed["exact"] + part.exact, "ngram": removed["ngram"] + part.ngram}
        train += part.kept
        val += domain_items(domain, options.val_size // 3, options.seed + 1, held_out=True, index=Index.of(())).kept
    rng = random.Random(options.seed)
    rng.shuffle(train)
    rng.shuffle(val)
    check_items([*train, *val])
    files = {
        "train": write_items(train, folder / TRAIN_FILE, split="train"),
        "val": write_items(val, folder / VAL_FILE, split="val", first_index=len(train)),
    }
    facts = {"seed": options.seed, "train": counts(train), "val": counts(val), "overlap": removed}
    facts |= {"levels": {"train": level_counts(train), "val": level_counts(val)}}
    write_card(folder, "text3", files, [versions()], against=counts(benchmarks), **facts)
    return removed


def versions() -> dict[str, Any]:
    """Return the generators and their versions: the problems depend on them."""
    from importlib import metadata

    return {"generators": {name: metadata.version(name) for name in ("reasoning-gym", "periodictable")}}


def domain_items(domain: str, count: int, seed: int, *, held_out: bool, index: Index) -> Overlap:
    """Return `count` items of a domain, an equal share from each of its streams, and what of them overlapped.

    Raises:
        ConfigError: all streams together have fewer.
    """
    seen: set[str] = set()
    removed: list[Overlap] = []

    def taker(stream: Iterator[Problem]) -> Callable[[int], list[Item]]:
        def take(expected: int) -> list[Item]:
            kept: list[Item] = []
            while len(kept) < expected:
                found = drawn(stream, expected - len(kept), held_out=held_out, seen=seen)
                if not found:
                    break
                removed.append(remove_overlap([to_item(one, f"text_{domain}", domain) for one in found], index))
                kept += removed[-1].kept
            return kept

        return take

    taps = [Tap(level=level, take=taker(stream)) for level, stream in streams_of(domain, seed)]
    kept = share_out(count, taps)
    if len(kept) < count:
        raise ConfigError(
            f"text3: {domain} has {len(kept)} different questions for {'validation' if held_out else 'training'}, "
            f"expected {count}; ask for fewer"
        )
    exact, ngram = (sum(getattr(part, kind) for part in removed) for kind in ("exact", "ngram"))
    return Overlap(kept=kept, exact=exact, ngram=ngram)


def streams_of(domain: str, seed: int) -> list[tuple[int, Iterator[Problem]]]:
    """Return (level, endless stream) of each kind of problem of a domain, level by level."""
    if domain == "math":
        each = [(level, kind) for level in text_math.LEVELS for kind in text_math.KINDS]
        return [(level, text_math.problems(kind, level, seed=seed)) for level, kind in each]
    if domain == "logic":
        return [(level, text_logic.knights(level + 1, seed=seed)) for level in text_logic.LEVELS]
    return [(level, text_science.problems(level, seed=seed)) for level in text_science.LEVELS]


def to_item(problem: Problem, source: str, domain: str, max_new_tokens: int | None = None) -> Item:
    """Return a generated problem as an item of a source."""
    return Item(
        source=source,
        domain=domain,
        item_id=content_id(problem.question),
        question=problem.question,
        gold=problem.gold,
        difficulty=problem.level,
        max_new_tokens=max_new_tokens,
        brief=True,
    )
