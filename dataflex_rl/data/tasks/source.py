"""A public dataset as items: what its columns are, how a row becomes an item, and what was dropped on the way."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dataflex_rl.data.tasks.items import Item
from dataflex_rl.data.tasks.layout import Remote, kind_of
from dataflex_rl.data.tasks.read import Raw, read_rows
from dataflex_rl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Source:
    """One public dataset.

    convert: (raw row, seed) -> an item, or in a few words why the row is no use. Raises KeyError, TypeError, ValueError
    or AttributeError where a value is not what the schema says.
    repeats: rows may repeat a question (dropped and counted); otherwise a repeated id is an error.
    """

    name: str
    domain: str
    remote: Remote
    columns: tuple[str, ...]
    convert: Callable[[Raw, int], Item | str]
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """Items in the order of the rows, how many rows were read, and why how many were dropped."""

    items: list[Item]
    rows: int
    dropped: Counter[str]


def load(source: Source, where: str, *, seed: int) -> Loaded:
    """Read a source from `hub` or a path and convert its rows.

    Raises:
        ConfigError: as `read_rows`; a value that is not what the schema says (source, row number); a repeated id; rows
            of several splits where the source declares none to choose.
    """
    rows = read_rows(source.name, source.remote, source.columns, where)
    others = _other_splits(source, rows)
    items: list[Item] = []
    dropped: Counter[str] = Counter()
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        item = f"split {row['split']}" if row.get("split") in others else _convert(source, row, number, seed)
        if isinstance(item, str):
            dropped[item] += 1
        elif item.item_id not in seen:
            seen[item.item_id] = number
            items.append(item)
        elif source.repeats:
            dropped["repeated question"] += 1
        else:
            first = seen[item.item_id]
            raise ConfigError(f"{source.name}: rows {first} and {number} have the same id {item.item_id!r}")
    return Loaded(items=items, rows=len(rows), dropped=dropped)


def _other_splits(source: Source, rows: Sequence[Raw]) -> set[Any]:
    """Return the values of a column `split` that name another split than the declared one."""
    if "split" in source.columns:
        return set()
    kinds = {value: kind for row in rows if isinstance(value := row.get("split"), str) and (kind := kind_of(value))}
    expected = source.remote.kinds()
    if source.remote.sole and len(set(kinds.values())) > 1:
        raise ConfigError(
            f"{source.name}: column 'split' holds {', '.join(sorted(kinds))}; expected the rows of one split alone"
        )
    return (
        set() if source.remote.sole else {value for value, kind in kinds.items() if expected and kind not in expected}
    )


def _convert(source: Source, row: Raw, number: int, seed: int) -> Item | str:
    try:
        return source.convert(row, seed)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = str(error) or type(error).__name__
        raise ConfigError(f"{source.name}: row {number} is not in the public schema: {reason}") from error


def seeded_order(items: Iterable[Item], seed: int) -> list[Item]:
    """Return items in an order that depends on the seed and their ids alone, not on the order of the rows."""

    def place(item: Item) -> str:
        return hashlib.sha256(f"{seed}:{item.source}:{item.item_id}".encode()).hexdigest()

    return sorted(items, key=place)


def interleave(parts: Sequence[Sequence[Item]]) -> list[Item]:
    """Return the items of several lists in turn: first of each, second of each, ..., until all are used."""
    longest = max((len(part) for part in parts), default=0)
    return [part[i] for i in range(longest) for part in parts if i < len(part)]


def ident(row: Raw, column: str) -> str:
    """Return a column that must hold an id: text that is not blank, or an integer.

    Raises:
        TypeError: it holds something else.
    """
    value = row[column]
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise TypeError(f"column {column!r} holds {type(value).__name__} {str(value)[:40]!r}, expected an id")
    return str(value)


def texts(row: Raw, column: str) -> list[str]:
    """Return a column that must hold a list of texts.

    Raises:
        TypeError: it holds something else, or something else is in the list.
    """
    values = row[column]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"column {column!r} holds {str(values)[:40]!r}, expected a list of texts")
    return list(values)


def text(row: Raw, column: str) -> str:
    """Return a column that must hold text.

    Raises:
        TypeError: it holds something else.
    """
    value = row[column]
    if not isinstance(value, str):
        raise TypeError(f"column {column!r} holds {type(value).__name__} {str(value)[:40]!r}, expected text")
    return value
