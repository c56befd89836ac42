"""The verifier of mathematics: the last boxed answer against the gold one.

Equal as text after cosmetic normalising, or as exact numbers, or symbolically (math-verify, in a bounded process).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dataflex_rl.rewards.answer import Result, grade
from dataflex_rl.rewards.boxed import last_box
from dataflex_rl.rewards.symbolic import comparer

INSTRUCTION = "Reason step by step and put the final answer within \\boxed{}."
BRIEF = "Reply with the final answer only, within \\boxed{}."
EXAMPLE = ("What is 4 + 3?", "\\boxed{7}")  # a question and its brief answer
_MAX_DIGITS = 60  # of a number that is compared exactly here
_SPACING = re.compile(r"\\[,;:! ]|\\(?:q?quad|thinspace|left|right)(?![A-Za-z])|[\s~$]")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf|textrm|operatorname)\{([^{}]*)\}")
_THOUSANDS = re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?:\D|$))")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_FRACTION = re.compile(
    r"(?P<sign>[+-]?)(?:\\frac(?:\{(?P<top>\d+)\}|(?P<t>\d))(?:\{(?P<bottom>\d+)\}|(?P<b>\d))|(?P<a>\d+)/(?P<c>\d+))"
)
_UNIT = re.compile(r"(?<=[\d}])(?:\\?%|\\circ|\^\\circ|\^\{\\circ\}|\\degree|\\?\$)$")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> Result:
    """Grade one response by its last box; without one, or with one that is never closed, it states no answer.

    The gold answer is LaTeX without a box. Units and percent signs after a number do not count. A comparison that
    exceeds its limit of CPU time is wrong.
    """
    box = last_box(solution_str)
    if box is None or not box.content:
        return grade(False, "")
    return grade(is_equal(ground_truth, box.content), box.content)


def is_equal(gold: str, pred: str) -> bool:
    """Return whether two LaTeX answers are the same; symmetric for numbers and texts."""
    plain_gold, plain_pred = normalize(gold), normalize(pred)
    if plain_gold == plain_pred:
        return bool(plain_gold)
    numbers = as_number(plain_gold), as_number(plain_pred)
    if numbers[0] is not None and numbers[1] is not None and "%" not in gold + pred:
        return numbers[0] == numbers[1]
    return bool(plain_pred) and comparer().equal(gold, pred)


def normalize(text: str) -> str:
    """Return an answer without spacing, fonts, thousands separators, trailing unit sign and full stop."""
    if len(text) > 2000:
        return text
    text = _TEXT.sub(r"\1", text)
    text = _SPACING.sub("", text).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").rstrip(".")
    text = _UNIT.sub("", text)
    return _THOUSANDS.sub("", text).casefold() if text.isalpha() else _THOUSANDS.sub("", text)


def as_number(text: str) -> Fraction | None:
    """Return the exact value of a normalised integer, decimal or plain fraction, None for anything else."""
    if len(text) > _MAX_DIGITS or not text.isascii():
        return None
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    found = _FRACTION.fullmatch(text)
    if found is None:
        return None
    top = found["top"] or found["t"] or found["a"]
    bottom = int(found["bottom"] or found["b"] or found["c"])
    return Fraction(int(f"{found['sign']}{top}"), bottom) if bottom else None


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"So the final answer is \\boxed{{{gold}}}."


def wrong(gold: str) -> str:
    """Return an answer that is none."""
    return "271828" if gold.strip() != "271828" else "314159"
