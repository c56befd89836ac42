"""The verifier of multiple choice: one option letter A to J, where it is stated as the answer.

A letter counts as an answer only in one of these forms, the strongest that occurs:

1. a statement, the last one in the text: `\\boxed{C}`, `<answer>C</answer>`, `The answer is C`, `Answer: (C)`;
2. at the start of a line (`C`, `(C)`, `C.`, `**C**`, `C) Mercury`) or as `(C)` within the text, if no other letter
   stands so anywhere.

So neither the pronoun "I" nor the article "A" is an answer, and two letters at once ("A or C") are none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.answer import Result, grade
from dataflex_rl.rewards.boxed import last_box

INSTRUCTION = "Think step by step and end with 'The answer is (X)', where X is the letter of the correct option."
BRIEF = "Reply with one line: 'The answer is (X)', where X is the letter of the correct option."
EXAMPLE = ("Which element has the symbol H?\n(A) helium\n(B) hydrogen\n(C) carbon\n(D) iron", "The answer is (B)")
LETTERS = "ABCDEFGHIJ"

_WRAP = r"[\s*_$\"'`]{0,12}"  # emphasis and quotes around an answer; bounded, so that matching stays linear
_LETTER = rf"(?:\\(?:text|textbf|mathrm|mathbf|boxed)\s?\{{)?{_WRAP}\(?\[?{_WRAP}(?P<letter>[A-J])(?!\w|['’]\w)"
_VERB = r"(?i:is|was|:|=|would\s+be|must\s+be)"
_STATEMENT = re.compile(
    rf"(?:\b(?i:answer|option|choice)\b{_WRAP}{_VERB}{_WRAP}:?{_WRAP}(?i:(?:the\s|option\s|choice\s|letter\s){{0,3}})"
    rf"|<answer>){_WRAP}{_LETTER}"
)
_MORE = re.compile(r"[\s*)\]]{0,9}(?:,|/|&|\bor\b|\band\b)[\s*]{0,9}\(?[A-J]\)?(?=[\s*]{0,9}(?:[.,;)}\n*]|$))")
_PAIR = re.compile(r"\s*\(?[A-J]\)?\s*(?:,|/|&|or|and)\s*\(?[A-J]\b")
_PROSE = re.compile(r"\s+(?!because|since|as\b|and\b|for\b|due|based|which|with|where)[a-z]+")
_FORMULA = re.compile(r"\s*[=^+]|-\w")
_MARK = r"[ \t*_$>-]{0,12}"  # what may precede an answer on its line
_LINE = re.compile(rf"^{_MARK}(?:\((?P<a>[A-J])\)|(?P<b>[A-J])(?:\*\*)?[.):](?!\w)|(?P<c>[A-J])(?={_MARK}$))", re.M)
_INLINE = re.compile(r"\(([A-J])\)")
_IN_BOX = re.compile(rf"{_LETTER}(?:[).:\]}}]|{_WRAP}$)")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> Result:
    """Grade one response against the gold letter.

    Raises:
        ConfigError: the gold answer is no letter A to J.
    """
    if len(ground_truth) != 1 or ground_truth not in LETTERS:
        raise ConfigError(f"multiple choice: gold answer {ground_truth!r}, wanted one letter A to J")
    pred = read_choice(solution_str)
    return grade(pred == ground_truth, pred)


def read_choice(text: str) -> str:
    """Return the letter a response states as its answer, "" if none."""
    stated = _last_statement(text)
    if stated is not None:
        return stated
    lines = {found["a"] or found["b"] or found["c"] for found in _LINE.finditer(text)}
    letters = lines | set(_INLINE.findall(text))
    return letters.pop() if len(letters) == 1 else ""


def _last_statement(text: str) -> str | None:
    """Return the letter of the last statement of an answer, "" where that one names two; None without a statement."""
    place, letter = -1, None
    for found in _STATEMENT.finditer(text):
        if not _is_word(found, text):
            place, letter = found.start(), "" if _MORE.match(text, found.end()) else found["letter"]
    box = last_box(text)
    if box is not None and box.start > place and (boxed := _boxed_letter(box.content)) is not None:
        return boxed
    return letter


def _boxed_letter(content: str) -> str | None:
    """Return the letter of a box, "" if it names several, None if it names none."""
    if len(content) == 1 and content.upper() in LETTERS:
        return content.upper()
    found = _IN_BOX.match(content)
    if found is None:
        return "" if _PAIR.match(content) else None
    return "" if _MORE.match(content, found.end("letter")) else found["letter"]


def _is_word(found: re.Match[str], text: str) -> bool:
    """Return whether what looks like a letter begins a phrase ("A gas", "I think") or a formula ("F = ma")."""
    bare = "(" not in found[0][-3:] and "{" not in found[0][-3:]
    prose = found["letter"] in "AI" and _PROSE.match(text, found.end()) is not None
    return bare and (prose or _FORMULA.match(text, found.end()) is not None)


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"The answer is ({gold})."


def wrong(gold: str) -> str:
    """Return another letter."""
    return "B" if gold == "A" else "A"
