"""The verifier of multiple choice: one option letter A to J, where it is stated as the answer.

A letter counts as an answer only in one of these forms, the strongest that occurs:

1. a statement, the last one in the text: `\\boxed{C}`, `<answer>C</answer>`, `The answer is C`, `Answer: (C)`,
   `C is the correct answer`, `Option C is correct.`; a correction directly after it counts (`A? No, C`, `not (A), it is
   (C)`);
2. the end of a sentence like `Therefore, C.`, `It's C.`, `I choose C.`, the last one;
3. at the start of a line (`C`, `(C)`, `C.`, `**C**`, `C) mercury`) or chosen within the text (`it must be (C)`), if no
   other letter stands so, or in brackets, anywhere.

What is denied or only supposed is no statement (`The answer is not (A)`, `If the answer is (A)`, `(A), which is
wrong`), and a statement of two letters states none ("A or C", "A (or C)", "(a) one (b) two"). Neither the pronoun "I"
nor the article "A" is an answer, nor a letter that begins a formula ("E > 0"). A small letter counts in brackets, in a
box or in a tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.answer import Result, grade, need_text
from dataflex_rl.rewards.boxed import last_box
from dataflex_rl.rewards.choice_reading import blank, boxed, denies, shown, statements, weak_statements

INSTRUCTION = "Think step by step and end with 'The answer is (X)', where X is the letter of the correct option."
BRIEF = "Reply with one line: 'The answer is (X)', where X is the letter of the correct option."
EXAMPLE = ("Which element has the symbol H?\n(A) helium\n(B) hydrogen\n(C) carbon\n(D) iron", "The answer is (B)")
LETTERS = "ABCDEFGHIJ"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> Result:
    """Grade one response against the gold letter.

    Raises:
        ConfigError: the gold answer is no letter A to J, or the response is no text.
    """
    need_text("multiple choice", solution_str, ground_truth)
    if len(ground_truth) != 1 or ground_truth not in LETTERS:
        raise ConfigError(f"multiple choice: gold answer {ground_truth!r}, expected one letter A to J")
    pred = read_choice(solution_str)
    return grade(pred == ground_truth, pred)


def read_choice(text: str) -> str:
    """Return the letter a response states as its answer, "" if none."""
    plain = blank(text)
    place, letter, denied = -1, None, set[str]()
    for stated in statements(plain):
        if not stated.denied:
            place, letter = stated.start, stated.letter
            continue
        denied.add(stated.letter)
        letter = "" if stated.letter == letter else letter
    box = last_box(text)
    if box is not None and box.start > place and not denies(plain, box.start):
        in_box = boxed(text, box.start, box.content)
        letter = letter if in_box is None else in_box
    if letter is not None:
        return letter
    weak = weak_statements(plain)
    letter = weak[-1].letter if weak else shown(plain)
    return "" if letter in denied else letter


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"The answer is ({gold})."


def wrong(gold: str) -> str:
    """Return another letter."""
    return "B" if gold == "A" else "A"
