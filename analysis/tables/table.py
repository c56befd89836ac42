"""What a table is: flat rows at full precision, views that people read, notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]

MISSING = "n/a"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a view: the row's key, its title, and how a value is written.

    styles: text, int, score (two decimals), delta (signed, two decimals), p (three decimals), ratio (two decimals),
    big (thousands separated), rank; of a pair of keys "low,high": interval ([low, high], signed), limits (unsigned),
    ranks (low to high).
    """

    key: str
    title: str
    style: str = "text"


@dataclass(frozen=True, kw_only=True)
class View:
    """One printed table: a title, columns, and rows that hold at least the columns' keys."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A named table. `rows` hold every number at full precision; `controls` the scores of the controls themselves."""

    name: str
    title: str
    rows: tuple[Row, ...]
    views: tuple[View, ...]
    notes: tuple[str, ...]
    controls: tuple[Row, ...] = ()

    def as_json(self) -> Row:
        """Give {"rows", "notes"} (and "controls" where there are any), with null for every number that does not
        exist.
        """
        result: Row = {"rows": [plain(r) for r in self.rows], "notes": list(self.notes)}
        if self.controls:
            result["controls"] = [plain(r) for r in self.controls]
        return result


def plain(row: Mapping[str, Any]) -> Row:
    """Give a row of plain JSON values: NaN and infinite numbers become None."""
    return {k: _plain(v) for k, v in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value == "" else value


def show(row: Mapping[str, Any], column: Column) -> str:
    """Write one cell; a number that does not exist is "n/a", never 0."""
    if column.style in _PAIRS:
        low, high = (_number(row.get(k)) for k in column.key.split(","))
        return MISSING if low is None or high is None else _PAIRS[column.style].format(low, high)
    value = row.get(column.key)
    if column.style == "text":
        return MISSING if value is None or value == "" else str(value)
    number = _number(value)
    if number is None:
        return MISSING
    if column.style == "p" and 0 <= number < 0.0005:
        return "<0.001"
    return _STYLES[column.style].format(number)


_STYLES = {
    "int": "{:.0f}",
    "score": "{:.2f}",
    "delta": "{:+.2f}",
    "p": "{:.3f}",
    "ratio": "{:.2f}",
    "big": "{:,.0f}",
    "rank": "{:g}",
}
_PAIRS = {"interval": "[{:+.2f}, {:+.2f}]", "limits": "[{:.2f}, {:.2f}]", "ranks": "{:g} to {:g}"}


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, (str, bool)):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def columns(*specs: str) -> tuple[Column, ...]:
    """Build columns from "key|title|style" (title and style optional)."""
    built = []
    for spec in specs:
        key, title, style = (*spec.split("|"), "", "")[:3]
        built.append(Column(key=key, title=title or key, style=style or "text"))
    return tuple(built)


def unique(notes: Iterable[str]) -> tuple[str, ...]:
    """Give the notes without repetitions or empty ones, in order."""
    return tuple(dict.fromkeys(n for n in notes if n))
