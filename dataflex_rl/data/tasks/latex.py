"""Gold answers in LaTeX: can they stand in a box and be graded?"""

from __future__ import annotations

import re

from dataflex_rl.rewards.boxed import closing_brace
from dataflex_rl.rewards.symbolic import MAX_FORMULA

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_DOLLAR = re.compile(r"(?<!\\)\$")
_SEES = re.compile(r"\s*(?:see|refer to)\b", re.I)  # an answer that is somewhere else
_FONT = re.compile(r"\\(?:text|mathrm|textrm|textbf|mathbf)\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dtc]?frac(?![A-Za-z])")
_ARGUMENT = re.compile(r"\s*(?:\\[A-Za-z]+|[^\s{}\\])")
# Commands that say nothing by themselves: they take arguments, join, space or enclose.
_EMPTY = re.compile(
    r"\\(?:[dtc]?frac|sqrt|d?binom|text\w*|math[a-z]+|operatorname|left|right|big[lr]?|begin|end|cdot|times|div|pm|mp"
    r"|circ|degree|q?quad|displaystyle)(?![A-Za-z])|\\[^A-Za-z]"
)
_SAYS = re.compile(r"[^\W_]|\\[A-Za-z]|[∞∅]")


def without_dollars(gold: str) -> str:
    """Return an answer without the signs that open and close a formula; an amount's `\\$` stays."""
    return _DOLLAR.sub("", gold).strip()


def fits_box(gold: str) -> bool:
    """Return whether an answer can stand in a box: every brace closed, no control character, no box, not too long."""
    plain = len(gold) <= MAX_FORMULA and not _CONTROL.search(gold)
    return plain and _balanced(gold) and "\\boxed" not in gold


def says_something(gold: str) -> bool:
    """Return whether an answer has a number, a name or a symbol, points nowhere else, and its fractions are whole."""
    if _SEES.match(_FONT.sub(r"\1", gold)) or not _SAYS.search(_EMPTY.sub("", gold)):
        return False
    return all(_has_two(gold, found.end()) for found in _FRACTION.finditer(gold))


def _has_two(latex: str, place: int) -> bool:
    """Return whether two arguments begin at a place: groups that are not empty, commands or single characters."""
    for _ in range(2):
        if (group := re.compile(r"\s*\{").match(latex, place)) is not None:
            end = closing_brace(latex, group.end() - 1)
            if end is None or not latex[group.end() : end].strip():
                return False
            place = end + 1
        elif (single := _ARGUMENT.match(latex, place)) is not None:
            place = single.end()
        else:
            return False
    return True


def _balanced(latex: str) -> bool:
    """Return whether every brace is closed; escaped ones are text."""
    depth = 0
    for brace in re.findall(r"\\.|[{}]", latex, re.S):
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0
