"""The verifier of mathematics: the last boxed answer against the gold one.

Equal as text after cosmetic normalising, or as exact numbers, or symbolically (math-verify, in a bounded process).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dataflex_rl.rewards.answer import Result, grade, need_text
from dataflex_rl.rewards.boxed import last_box
from dataflex_rl.rewards.math_shape import has_relation, shape_of, without_name
from dataflex_rl.rewards.math_text import (
    as_number,
    as_scientific,
    is_percent,
    normalize,
    split_unit,
    squeeze,
    tidy,
    without_sign,
)
from dataflex_rl.rewards.symbolic import comparer, is_short

INSTRUCTION = "Reason step by step and put the final answer within \\boxed{}."
BRIEF = "Reply with the final answer only, within \\boxed{}."
EXAMPLE = ("What is 4 + 3?", "\\boxed{7}")  # a question and its brief answer
_MAX_ITEMS = 20  # of a list; a longer one is compared as text only
_TWO_NUMBERS = re.compile(r"\d \d")
_BASE = re.compile(r"\d_\{?\d")  # a number in another base
_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|mbox)\{[^{}]*[A-Za-z]")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> Result:
    """Grade one response by its last box; without one, or with one that is never closed, it states no answer.

    The gold answer is LaTeX without a box. A unit or a percent sign that only one
    side has does not count (_same_number says where a percent sign does). A comparison that
    exceeds its limit of CPU time is wrong.

    Raises:
        ConfigError: the response or the gold answer is no text.
    """
    need_text("math", solution_str, ground_truth)
    box = last_box(solution_str)
    if box is None or not box.content:
        return grade(False, "")
    return grade(is_equal(ground_truth, box.content), box.content)


def is_equal(gold: str, pred: str) -> bool:
    """Return whether two LaTeX answers are the same; symmetric for numbers, texts, lists and tuples.

    `x = 5` is 5. Lists and sets match in any order, tuples and intervals item by item in theirs; another kind or number
    of brackets or items is another answer.
    """
    plain_gold, plain_pred = squeeze(gold), squeeze(pred)
    if plain_gold == plain_pred or not plain_pred:
        return bool(plain_gold) and plain_gold == plain_pred
    if not (is_short(gold) and is_short(pred)):
        return False
    if has_relation(gold) != has_relation(pred):
        gold, pred = without_name(gold), without_name(pred)
    ours, theirs = shape_of(gold), shape_of(pred)
    if ours.brackets != theirs.brackets or len(ours.items) != len(theirs.items) or len(ours.items) > _MAX_ITEMS:
        return False
    if not ours.brackets:
        return _same_value(ours.items[0], theirs.items[0])
    if ours.brackets == "{}":
        return _same_items(ours.items, theirs.items)
    return all(is_equal(one, other) for one, other in zip(ours.items, theirs.items, strict=True))


def _same_items(gold: Sequence[str], pred: Sequence[str]) -> bool:
    """Return whether two lists of equal length hold the same items, each as often."""
    left = list(pred)
    for item in gold:
        found = next((place for place, other in enumerate(left) if is_equal(item, other)), None)
        if found is None:
            return False
        del left[found]
    return True


def _same_value(gold: str, pred: str) -> bool:
    """Return whether two single values are the same: as exact numbers with their units, or symbolically."""
    if has_relation(gold) or has_relation(pred):
        return _same_relation(gold, pred)
    (gold_value, gold_unit), (pred_value, pred_unit) = split_unit(gold), split_unit(pred)
    if gold_unit and pred_unit and gold_unit != pred_unit:
        return False
    numbers = _number(gold_value), _number(pred_value)
    if numbers[0] is not None and numbers[1] is not None:
        return _same_number(numbers[0], numbers[1], is_percent(gold), is_percent(pred))
    plain_gold, plain_pred = normalize(gold_value), normalize(pred_value)
    if plain_gold == plain_pred:
        return True
    if any(pattern.search(text) for pattern in (_TWO_NUMBERS, _BASE) for text in (plain_gold, plain_pred)):
        return False
    if _WORDS.search(gold_value) or _WORDS.search(pred_value):
        return False
    return comparer().equal(without_sign(gold_value), without_sign(pred_value))


def _same_relation(gold: str, pred: str) -> bool:
    """Return whether two equations or inequalities in some unknown are the same."""
    both = has_relation(gold) and has_relation(pred)
    unknown = re.search(r"(?<![\\A-Za-z])[A-Za-z]", gold) and re.search(r"(?<![\\A-Za-z])[A-Za-z]", pred)
    return bool(both and unknown) and comparer().equal(tidy(gold), tidy(pred))


def _same_number(gold: Fraction, pred: Fraction, gold_percent: bool, pred_percent: bool) -> bool:
    """Return whether two numbers are equal; beside a number above 1 a percent sign on one side does not count."""
    if gold_percent == pred_percent:
        return gold == pred
    plain, percent = (pred, gold) if gold_percent else (gold, pred)
    return plain == percent if abs(plain) > 1 else plain * 100 == percent


def _number(text: str) -> Fraction | None:
    plain = normalize(text)
    number = as_number(plain)
    return as_scientific(plain) if number is None else number


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"So the final answer is \\boxed{{{gold}}}."


def wrong(gold: str) -> str:
    """Return an answer that is none."""
    return "271828" if gold.strip() != "271828" else "314159"
