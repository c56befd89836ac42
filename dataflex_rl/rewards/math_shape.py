"""The shape of an answer of mathematics: one value, a list, or a tuple or interval with its brackets; its relations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dataflex_rl.rewards.boxed import closing_brace
from dataflex_rl.rewards.math_text import merge_thousands
from dataflex_rl.rewards.notation import tidy

_GAP = r"(?:[\s~]|\\q?quad(?![A-Za-z])|\\[,;: ])*"
_COUNTED = re.compile(r"\\text\s*\{(?=[^{}]*\d)([^{}]*)\}")  # text with a number in it is no word
_JOINED = re.compile(r"\\text\s*\{\s*,?\s*(or|and)\b\s*([^{}\s][^{}]*)\}")
_WORD = re.compile(
    rf"{_GAP},?{_GAP}(?:\\text\s*\{{\s*,?\s*(?:or|and)\s*,?\s*\}}|(?<=[\s\d)\]}}])(?:or|and)(?=[\s\d(\[\\]))\s*,?{_GAP}"
)
_OUTER = re.compile(rf"\A{_GAP}|(?<![\\\s~]){_GAP}\Z")
_PART = re.compile(r"\\[{}]|\\.|[()\[\]{},;]", re.DOTALL)
_LETTER = (
    r"(?:[A-Za-z]|\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|phi|omega|rho|sigma|tau|xi|ell))"
    r"(?:_(?:\w|\{\w+\}|\\m(?:ax|in)\s?|\{\\m(?:ax|in)\s?\}|\{\\(?:text|mathrm)\s*\{\w+\}\}))?'*"
)
_SEGMENT = (
    r"(?:m?\s*\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar)\s*\{?\s*)?"
    r"(?:[A-Z](?:_(?:\w|\{\w+\}))?\s*){1,6}\}?"
)
_WORDS = (  # `\\text{Area} = 5`, not `\\text{not} = 5`
    r"\\(?:text|mathrm)\s*\{(?![^{}]*\b(?:not|no|never|wrong|or|if|than|less|more|except)\b)[A-Za-z][A-Za-z\s]{0,40}\}"
)
_SYMBOL = rf"(?:{_WORDS}|{_LETTER}(?:\(\s*(?:[A-Za-z]|-?\d{{1,4}})\s*\))?|\|?\s*{_SEGMENT}\|?)"
_RATIO = rf"(?:{_SYMBOL}(?:\s*[:/]\s*{_SYMBOL})?|\\frac\{{{_SYMBOL}\}}\{{{_SYMBOL}\}})"
_NAME = re.compile(rf"\s*(?P<name>{_RATIO}|\(\s*{_LETTER}(?:\s*,\s*{_LETTER})+\s*\))\s*(?:=|\\in(?![A-Za-z]))\s*")
_BUILDER = re.compile(rf"\\?\{{\s*{_LETTER}\s*(?:\\in\s*\\mathbb\s*\{{?R\}}?\s*)?[|:](?P<condition>[^|:{{}}]*)\\?\}}")
_TUPLE = re.compile(rf"\(\s*(?P<names>{_LETTER}(?:\s*,\s*{_LETTER})+)\s*\)\s*=\s*\((?P<values>[^=<>]*)\)")
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|in|notin|equiv|approx|sim)(?![A-Za-z])")
_SUBSCRIPT = re.compile(r"_\{[^{}]*\}")
_APPROX = re.compile(r"\\approx(?![A-Za-z])")
_SIGNS = re.compile(r"\\(pm|mp)(?![A-Za-z])")
_REALS = re.compile(r"\s*(?:[(\[].*,.*[)\]]|\\mathbb\{?R)|\\(?:cup|cap|setminus)(?![A-Za-z])", re.DOTALL)


class Shape(NamedTuple):
    """Brackets, "" for one value and "{}" for a list or set; and the items within them."""

    brackets: str
    items: tuple[str, ...]


def shape_of(text: str) -> Shape:
    """Return the shape of an answer of modest length; brackets around one value are part of that value.

    A list without brackets is read as a set in braces is: its order does not count, how often an item occurs does.
    A sign `\\pm` is a list of two.
    """
    text = merge_thousands(_WORD.sub(",", _JOINED.sub(r", \2", _COUNTED.sub(r"\1", tidy(text)))).strip())
    if text.startswith("{") and closing_brace(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    commas, closing = _commas(text)
    opening = 2 if text.startswith("\\{") else 1
    if (text[:1] in ("(", "[") or opening == 2) and closing == len(text):
        brackets = text[opening - 1] + text[-1]
        inner = text[opening : -2 if text.endswith("\\}") else -1]
        items = _split(inner, _commas(inner)[0])
        if brackets == "{}":
            return Shape("{}", _both_signs(items))
        return Shape("", (text,)) if len(items) == 1 and brackets == "()" else Shape(brackets, items)
    items = _both_signs(_split(text, commas))
    return Shape("{}" if len(items) > 1 else "", items)


def has_relation(text: str) -> bool:
    """Return whether a tidy answer is an equation, an inequality or another relation."""
    return _RELATION.search(_SUBSCRIPT.sub("", text)) is not None


def split_name(text: str) -> tuple[str, str]:
    """Return what `x =`, `f(x) =`, `AB =`, `(x, y) =` or `x \\in` names, as (name, value); ("", text) for others."""
    found = _NAME.match(text)
    if found is None or has_relation(text[found.end() :]):
        return "", text
    return re.sub(r"\s", "", found["name"]), text[found.end() :]


def condition_of(text: str) -> str:
    """Return the condition of a set `{x | x > 3}`, and `x = 1, y = 2` for `(x, y) = (1, 2)`; other texts unchanged."""
    if (found := _BUILDER.fullmatch(text)) is not None and has_relation(found["condition"]):
        return found["condition"].strip()
    if (found := _TUPLE.fullmatch(text)) is not None:
        names, values = (_split(found[side], _commas(found[side])[0]) for side in ("names", "values"))
        if len(names) == len(values):
            return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    return text


def links_of(text: str) -> list[str]:
    """Return the sides of a chain of equalities `a = b = c`, without what names them; [text] for anything else."""
    sides = [side.strip() for side in text.split("=")]
    if len(sides) < 2 or not all(sides) or any(map(has_relation, sides)):
        return [text]
    if len(sides) > 2 and split_name(f"{sides[0]}={sides[1]}")[0]:
        return sides[1:]
    return sides


def exact_and_shown(text: str) -> tuple[str, str]:
    """Return `A` and `B` of `A \\approx B`, B being the decimal shown for A; (text, "") for anything else."""
    sides = [side.strip() for side in _APPROX.split(text)]
    if len(sides) == 2 and split_name(f"{sides[0]}=1")[0]:  # `x \\approx 11` names what is approximate
        return sides[1], ""
    return (sides[0], sides[1]) if len(sides) == 2 and all(sides) else (text, "")


def is_set_of_reals(text: str) -> bool:
    """Return whether a tidy answer is written as an interval, or as a union of some."""
    return _REALS.search(text) is not None


def in_order(gold: Sequence[str], pred: Sequence[str]) -> bool:
    """Return whether the order of two lists counts: one names its items apart, the other gives them without names."""
    ours, theirs = ([split_name(item)[0] for item in items] for items in (gold, pred))
    named, bare = (ours, theirs) if any(ours) else (theirs, ours)
    return all(named) and len(set(named)) == len(named) > 1 and not any(bare)


def _both_signs(items: tuple[str, ...]) -> tuple[str, ...]:
    """Return items with `\\pm` twice: with the upper signs, and with the lower ones."""
    signed: list[str] = []
    for item in items:
        if not _SIGNS.search(item):
            signed.append(item)
            continue
        for signs in ({"pm": "+", "mp": "-"}, {"pm": "-", "mp": "+"}):
            written = "".join(signs.get(part, part) for part in _SIGNS.split(item))
            signed.append(written.removeprefix("+").strip())
    return tuple(signed)


def _commas(text: str) -> tuple[list[int], int]:
    """Return the commas outside of all brackets, and where the first bracket is closed (0 if it is not)."""
    commas, depth, closing = [], 0, 0
    for part in _PART.finditer(text):
        if part[0] in ("(", "[", "{", "\\{"):
            depth += 1
        elif part[0] in (")", "]", "}", "\\}"):
            depth -= 1
            closing = closing or (part.end() if depth == 0 else 0)
        elif part[0] in (",", ";") and depth == 0:
            commas.append(part.start())
    groups = [place for place in commas if text[place] == ";"]
    return (groups if groups and len(groups) < len(commas) else commas), closing


def _split(text: str, commas: list[int]) -> tuple[str, ...]:
    edges = [-1, *commas, len(text)]
    parts = tuple(_OUTER.sub("", text[start + 1 : end]) for start, end in pairwise(edges))
    grouped = bool(commas) and text[commas[0]] == ";" and any(_commas(part)[0] for part in parts)
    return tuple(f"({part})" for part in parts) if grouped else parts
