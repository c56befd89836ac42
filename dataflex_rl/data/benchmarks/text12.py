"""Twelve small benchmarks in the same three domains, generated offline from the questions kept for evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dataflex_rl.data.tasks import text_logic, text_math, text_science
from dataflex_rl.data.tasks.card import FILE as CARD
from dataflex_rl.data.tasks.card import write_card
from dataflex_rl.data.tasks.folder import replaced
from dataflex_rl.data.tasks.generated import Problem, distinct
from dataflex_rl.data.tasks.items import Item, check_items, write_items
from dataflex_rl.data.tasks.text3 import to_item, versions

FILE = "test.parquet"
SET = "text12"
ITEMS = 30  # per benchmark
SEED = 20_000  # of the problems; no run's seed
LIMITS = {"math": 512, "logic": 256, "science": 256}  # [tokens]

Streams = list[Iterator[Problem]]


def _math(kind: str) -> Callable[[], Streams]:
    return lambda: [text_math.problems(kind, level, seed=SEED) for level in text_math.LEVELS]


def _science(*levels: int) -> Callable[[], Streams]:
    return lambda: [text_science.problems(level, seed=SEED) for level in levels]


BENCHMARKS: dict[str, tuple[str, Callable[[], Streams]]] = {
    "text_arithmetic": ("math", _math("arithmetic")),
    "text_equations": ("math", _math("equations")),
    "text_legs": ("math", _math("legs")),
    "text_products": ("math", _math("products")),
    "text_word_problems": ("math", _math("word_problems")),
    "text_knights2": ("logic", lambda: [text_logic.knights(2, seed=SEED)]),
    "text_knights3": ("logic", lambda: [text_logic.knights(3, seed=SEED)]),
    "text_knights5": ("logic", lambda: [text_logic.knights(5, seed=SEED)]),
    "text_order": ("logic", lambda: [text_logic.order(people, seed=SEED) for people in (3, 4)]),
    "text_elements": ("science", _science(1, 2)),
    "text_isotopes": ("science", _science(3)),
    "text_molar_mass": ("science", _science(4, 5)),
}


def items() -> list[Item]:
    """Return the items of all twelve, the same ones at every call."""
    made: list[Item] = []
    for name, (domain, streams) in BENCHMARKS.items():
        parts = streams()
        seen: set[str] = set()
        for stream in parts:
            found = distinct(stream, ITEMS // len(parts), held_out=True, seen=seen)
            made += [to_item(problem, name, domain, LIMITS[domain]) for problem in found]
    return made


def prepare(folder: Path) -> dict[str, int]:
    """Write test.parquet and card.json, replacing the folder as a whole; return {benchmark: items}.

    Raises:
        ConfigError: as `replaced`.
    """
    with replaced(folder, (FILE, CARD)) as new:
        return write(new)


def write(folder: Path) -> dict[str, int]:
    """Write the same files into a folder that is nobody else's yet."""
    made = items()
    check_items(made)
    file = write_items(made, folder / FILE, split="test")
    totals = {name: sum(item.source == name for item in made) for name in BENCHMARKS}
    write_card(folder, SET, {"test": file}, [versions()], seed=SEED, items=totals, limits=LIMITS)
    return totals
