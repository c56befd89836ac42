"""The shape of an answer of mathematics: one value, a list, or a tuple or interval with its brackets."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from dataflex_rl.rewards.math_text import merge_thousands, tidy

_SIZE = re.compile(r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?)(?![A-Za-z])\s*")
_WORD = re.compile(r",?\s*(?:\\text\{\s*(?:or|and)\s*\}|(?<=[\s\d])(?:or|and)(?=\s))\s*")
_PART = re.compile(r"\\[{}]|\\.|[()\[\]{},]", re.DOTALL)
_SYMBOL = r"(?:[A-Za-z]|\\(?:alpha|beta|gamma|delta|theta|lambda|mu|phi|omega|rho|sigma|tau))(?:_(?:\w|\{\w+\}))?"
_NAME = re.compile(
    rf"\s*(?:{_SYMBOL}(?:\([A-Za-z]\))?|\(\s*{_SYMBOL}(?:\s*,\s*{_SYMBOL})+\s*\))\s*(?:=|\\in(?![A-Za-z]))\s*"
)
_RELATION = re.compile(r"[=<>]|\\(?:leq?|geq?|neq?|lt|gt|in|equiv|approx|sim)(?![A-Za-z])")
_SUBSCRIPT = re.compile(r"_\{[^{}]*\}")


class Shape(NamedTuple):
    """Brackets, "" for one value and "{}" for a list or set; and the items within them."""

    brackets: str
    items: tuple[str, ...]


def shape_of(text: str) -> Shape:
    """Return the shape of an answer of modest length; brackets around one value are part of that value.

    A list without brackets is read as a set in braces is: its order does not count, how often an item occurs does.
    """
    text = merge_thousands(_WORD.sub(",", _SIZE.sub("", tidy(text))).strip("$ \n\t"))
    commas, closing = _commas(text)
    opening = 2 if text.startswith("\\{") else 1
    if (text[:1] in ("(", "[") or opening == 2) and closing == len(text):
        brackets = text[opening - 1] + text[-1]
        inner = text[opening : -2 if text.endswith("\\}") else -1]
        items = _split(inner, _commas(inner)[0])
        return Shape("", (text,)) if len(items) == 1 and brackets == "()" else Shape(brackets, items)
    items = _split(text, commas)
    return Shape("{}" if len(items) > 1 else "", items)


def has_relation(text: str) -> bool:
    """Return whether an answer is an equation, an inequality or another relation."""
    return _RELATION.search(_SUBSCRIPT.sub("", text)) is not None


def without_name(text: str) -> str:
    """Return what `x =`, `f(x) =`, `(x, y) =` or `x \\in` names; a text that is anything else unchanged."""
    found = _NAME.match(text)
    return text[found.end() :] if found and not has_relation(text[found.end() :]) else text


def _commas(text: str) -> tuple[list[int], int]:
    """Return the commas outside of all brackets, and where the first bracket is closed (0 if it is not)."""
    commas, depth, closing = [], 0, 0
    for part in _PART.finditer(text):
        if part[0] in ("(", "[", "{", "\\{"):
            depth += 1
        elif part[0] in (")", "]", "}", "\\}"):
            depth -= 1
            closing = closing or (part.end() if depth == 0 else 0)
        elif part[0] == "," and depth == 0:
            commas.append(part.start())
    return commas, closing


def _split(text: str, commas: list[int]) -> tuple[str, ...]:
    edges = [-1, *commas, len(text)]
    return tuple(text[start + 1 : end].strip() for start, end in pairwise(edges))
