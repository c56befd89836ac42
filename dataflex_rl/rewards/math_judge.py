"""Whether two answers of mathematics are the same: as text, as exact numbers, as lists and tuples, symbolically."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from dataflex_rl.rewards.math_shape import (
    Shape,
    condition_of,
    exact_and_shown,
    has_relation,
    in_order,
    is_set_of_reals,
    links_of,
    shape_of,
    split_name,
)
from dataflex_rl.rewards.math_text import (
    as_number,
    as_scientific,
    is_percent,
    merge_thousands,
    normalize,
    split_unit,
    squeeze,
    without_sign,
)
from dataflex_rl.rewards.notation import marked, tidy
from dataflex_rl.rewards.symbolic import Budget, comparer, is_short

_MAX_ITEMS = 20  # of a list; a longer one is compared as text only
_TWO_NUMBERS = re.compile(r"\d \d")
_BASE = re.compile(r"\d_\{?\d")  # a number in another base
_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|mbox)\s*\{[^{}]*[A-Za-z]")
_WORD = re.compile(r"\A[A-Za-z]{3,}\Z")  # a word; its letters in another order are another one
_ALL_OF = re.compile(r"(?<![A-Za-z])and(?![A-Za-z])")
_ONE_OF = re.compile(r"(?<![A-Za-z])or(?![A-Za-z])")
_SHOWN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_DECIMAL = re.compile(r"\d*\.(\d*)")


def is_equal(gold: str, pred: str) -> bool:
    """Return whether two LaTeX answers are the same, within the budget of one grade."""
    return Judge().is_equal(gold, pred)


class Judge:
    """Compares answers within one budget."""

    def __init__(self, *, round_to_gold: bool = False) -> None:
        self._budget = Budget()
        self._round = round_to_gold

    def are_equal(self, gold: str, preds: Sequence[str]) -> bool:
        """Return whether a gold list has just these items."""
        shape = shape_of(gold) if is_short(gold) else Shape("", (gold,))
        items = tuple(item for pred in preds for item in _items(pred))
        return shape.brackets == "{}" and len(items) <= _MAX_ITEMS and self._same_shape(shape, Shape("{}", items))

    def is_equal(self, gold: str, pred: str) -> bool:
        """Return whether two LaTeX answers are the same; symmetric for numbers, texts, lists and tuples.

        `x = 5` is 5. Lists and sets match in any order, tuples and intervals item by item in theirs; another kind or
        number of brackets or items is another answer.
        """
        plain_gold, plain_pred = _bare(squeeze(gold)), _bare(squeeze(pred))
        if plain_gold == plain_pred or not plain_pred:
            return bool(plain_gold) and plain_gold == plain_pred
        if not (is_short(gold) and is_short(pred)):
            return False
        gold, pred = condition_of(tidy(gold)), condition_of(tidy(pred))
        for exact, shown in (exact_and_shown(gold), exact_and_shown(pred)):
            if shown and not self._shows(exact, shown):
                return False
        golds, preds = exact_and_shown(gold), exact_and_shown(pred)
        if has_relation(gold) != has_relation(pred):
            gold, pred = golds[0], preds[0]
        if golds[1] or preds[1]:
            return any(self.is_equal(one, other) for one in golds if one for other in preds if other)
        if has_relation(gold) != has_relation(pred):
            gold, pred = self._value(gold), self._value(pred)
        elif ("\\in " in gold) != ("\\in " in pred):
            gold, pred = (split_name(text)[1] if "\\in " in text else text for text in (gold, pred))
        return self._same_shape(shape_of(gold), shape_of(pred)) or self._same_reals(gold, pred)

    def _shows(self, exact: str, shown: str) -> bool:
        """Return whether a decimal stands for a value: it differs by less than one in the last digit shown."""
        number = as_number(normalize(shown)) if _SHOWN.fullmatch(normalize(shown)) else as_scientific(normalize(shown))
        if number is None:
            return False
        step = _step(shown) if "." in shown else Fraction(1, 2)
        return comparer().near(without_sign(self._value(exact)), _fraction(number), str(step), self._budget)

    def _value(self, text: str) -> str:
        """Return what an answer names or what a chain of equal sides is equal to; the text where there is neither."""
        name, value = split_name(text)
        if name:
            return value
        sides = links_of(text)
        if len(sides) < 2 or not all(self._same_value(one, other) for one, other in pairwise(sides)):
            return text
        return sides[-1]

    def _same_shape(self, ours: Shape, theirs: Shape) -> bool:
        if len(ours.items) != len(theirs.items) or len(ours.items) > _MAX_ITEMS:
            return False
        if ours.brackets != theirs.brackets:
            named = {ours.brackets, theirs.brackets} == {"()", "{}"} and in_order(ours.items, theirs.items)
            return named and all(map(self.is_equal, ours.items, theirs.items))
        if not ours.brackets:
            return self._same_value(ours.items[0], theirs.items[0])
        if ours.brackets == "{}" and not in_order(ours.items, theirs.items):
            return self._same_items(ours.items, theirs.items)
        return all(map(self.is_equal, ours.items, theirs.items))

    def _same_items(self, gold: Sequence[str], pred: Sequence[str]) -> bool:
        """Return whether two lists of equal length hold the same items, each as often."""
        left = list(pred)
        for item in gold:
            found = next((place for place, other in enumerate(left) if self.is_equal(item, other)), None)
            if found is None:
                return False
            del left[found]
        return True

    def _same_reals(self, gold: str, pred: str) -> bool:
        """Return whether one answer describes by relations or `\\mathbb{R}` what the other writes as intervals."""
        relations, named = [has_relation(text) for text in (gold, pred)], ["\\mathbb" in text for text in (gold, pred)]
        if all(relations) or (not any(relations) and named[0] == named[1]):
            return False
        if not (is_set_of_reals(gold) or is_set_of_reals(pred)):
            return False
        sides: list[list[str]] = []
        for text in (gold, pred):
            if not has_relation(text):
                sides.append([marked(text)])
                continue
            if _ALL_OF.search(text):
                return False
            sides.append([marked(item) for item in shape_of(text).items])
            if len(sides[-1]) > 1 and not _ONE_OF.search(text):
                return False
        return comparer().equal_union(sides[0], sides[1], self._budget)

    def _same_value(self, gold: str, pred: str) -> bool:
        """Return whether two single values are the same: as exact numbers with their units, or symbolically."""
        if has_relation(gold) or has_relation(pred):
            return self._same_relation(gold, pred)
        (gold_value, gold_unit), (pred_value, pred_unit) = split_unit(gold), split_unit(pred)
        percents = is_percent(gold), is_percent(pred)
        if gold_unit and pred_unit and gold_unit != pred_unit:
            return False
        if (percents[0] and pred_unit and not percents[1]) or (percents[1] and gold_unit and not percents[0]):
            return False
        numbers = _number(gold_value), _number(pred_value)
        if numbers[0] is not None and numbers[1] is not None:
            if _same_number(numbers[0], numbers[1], *percents):
                return True
            return self._rounds(gold_value, pred_value)
        plain_gold, plain_pred = _bare(normalize(gold_value)), _bare(normalize(pred_value))
        if plain_gold == plain_pred:
            return bool(plain_gold)
        if any(pattern.search(text) for pattern in (_TWO_NUMBERS, _BASE, _WORD) for text in (plain_gold, plain_pred)):
            return False
        if _WORDS.search(gold_value) or _WORDS.search(pred_value):
            return False
        gold_value, pred_value = (without_sign(merge_thousands(value)) for value in (gold_value, pred_value))
        return comparer().equal(gold_value, pred_value, self._budget) or self._rounds(gold_value, pred_value)

    def _rounds(self, gold: str, pred: str) -> bool:
        """Return whether a constant rounds to a decimal gold answer, where that is asked for."""
        number = _number(gold) if self._round else None
        if number is None or "." not in gold:
            return False
        return comparer().near(_fraction(number), without_sign(pred), str(_step(gold) / 2), self._budget)

    def _same_relation(self, gold: str, pred: str) -> bool:
        """Return whether two equations or inequalities are the same."""
        if not (has_relation(gold) and has_relation(pred)):
            return False
        return comparer().equal(marked(self._link(gold)), marked(self._link(pred)), self._budget)

    def _link(self, text: str) -> str:
        """Return `x = b` for a chain `x = a = b` whose values are equal."""
        value = self._value(text)
        return text if value == text or text.count("=") < 2 else f"{text[: text.index('=')]}={value}"


def _items(text: str) -> tuple[str, ...]:
    """Return the items of a list, or an answer that is none."""
    shape = shape_of(text) if is_short(text) else Shape("", (text,))
    return shape.items if shape.brackets in ("", "{}") else (text,)


def _bare(text: str) -> str:
    """Return a squeezed answer without the brackets around its only letter."""
    return text[1].casefold() if re.fullmatch(r"\([A-Za-z]\)", text) else text


def _step(number: str) -> Fraction:
    """Return one in the last digit that a decimal shows."""
    number = normalize(number)
    found = _DECIMAL.search(number)
    digits, end = (len(found[1]), found.end()) if found else (0, len(number))
    return Fraction(1, 10**digits) * (as_scientific("1" + number[end:]) or 1)


def _fraction(number: Fraction) -> str:
    return f"\\frac{{{number.numerator}}}{{{number.denominator}}}"


def _same_number(gold: Fraction, pred: Fraction, gold_percent: bool, pred_percent: bool) -> bool:
    """Return whether two numbers are equal; beside a number above 1 a percent sign on one side does not count."""
    if gold_percent == pred_percent:
        return gold == pred
    plain, percent = (pred, gold) if gold_percent else (gold, pred)
    return plain * 100 == percent or (abs(plain) > 1 and plain == percent)


def _number(text: str) -> Fraction | None:
    plain = normalize(text)
    number = as_number(plain)
    return as_scientific(plain) if number is None else number
