"""The verifier of multiple choice, by table."""

from __future__ import annotations

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.choice import compute_score, read_choice

STATED = [
    ("C", "The answer is C"), ("C", "The answer is C."), ("C", "The answer is (C)"), ("C", "the answer is **C**"),
    ("C", "The answer is 'C'"), ("C", "The answer is: C"), ("C", "The answer is:\n\nC"), ("C", "Answer: C"),
    ("C", "**Answer:** C"), ("C", "Answer: (C) Mercury"), ("C", "The correct option is C"),
    ("C", "The final answer is C"),
    ("C", "The best choice would be C"), ("C", "The answer is option C"), ("C", "The answer is the letter C"),
    ("C", "The answer is $C$"), ("C", "The answer is $\\mathbf{C}$"), ("C", "The answer is C: Mercury"),
    ("C", "The answer is C because A is wrong"), ("C", "The answer is \\boxed{C}"), ("C", "\\boxed{C}"),
    ("C", "\\boxed{(C)}"), ("C", "\\boxed{C.}"), ("C", "\\boxed{\\text{C}}"), ("C", "\\boxed{\\textbf{(C)}}"),
    ("C", "\\boxed{C) Mercury}"), ("C", "\\boxed{C: Mercury}"), ("C", "\\boxed{c}"), ("C", "<answer>C</answer>"),
    ("C", "<answer> (C) Mercury </answer>"), ("C", "C"), ("C", "C."), ("C", "(C)"), ("C", "C)"), ("C", "**C**"),
    ("C", "C. Mercury"), ("C", "C) Mercury"), ("C", "(C) Mercury"), ("C", "Some reasoning.\n\nC. Mercury"),
    ("C", "So it must be (C)."), ("C", "Option (C) fits, the others do not."), ("C", "> C"),
    ("A", "The answer is A"), ("A", "The answer is A."), ("A", "The answer is A because it is lightest"), ("A", "A"),
    ("I", "The answer is I"), ("I", "\\boxed{I}"), ("I", "The answer is (I)."), ("J", "The answer is (J)"),
    # the last statement decides, a statement outranks a letter in the text
    ("C", "The answer is A. Wait: the answer is C."), ("C", "\\boxed{A} no \\boxed{C}"),
    ("C", "\\boxed{A}. The answer is C"),
    ("C", "The answer is A, no, \\boxed{C}"), ("C", "(A) is false, (B) too. The answer is (C), not (D)."),
    ("C", "A. lead\nB. iron\nC. mercury\nThe answer is C."), ("C", "The answer is C. (A) is wrong."),
]  # fmt: skip

NOT_STATED = [
    "", "I think so", "I", "I believe A is likely", "A cat is a mammal", "A", "The answer is a gas",
    "The answer is A gas",
    "The answer is I think unclear", "The answer is K", "The answer is 3", "The answer is Carbon", "The answer is c",
    "The answer is A or C", "The answer is A and C.", "Answer: A, C", "\\boxed{A or C}", "\\boxed{A, B}", "\\boxed{AB}",
    "A. lead\nB. iron\nC. mercury", "(A) lead (B) iron", "The answer is F = ma", "The answer is C-14",
    "The answer is D'Alembert",
    "answers vary", "Answer:", "The answer is", "\\boxed{}", "\\boxed{carbon}", "vitamin C", "Plan B works",
    "In C we trust",
    "The answer is B12", "the answer lies in C",
]  # fmt: skip


@pytest.mark.parametrize(("letter", "response"), STATED)
def test_a_stated_letter_is_read(letter: str, response: str) -> None:
    assert compute_score("sciq", response, letter) == {"score": 1.0, "acc": 1.0, "pred": letter}


@pytest.mark.parametrize("response", [text for text in NOT_STATED if text not in ("I", "A")])
def test_a_letter_that_is_no_answer_is_not_read(response: str) -> None:
    assert compute_score("sciq", response, "A") == {"score": 0.0, "acc": 0.0, "pred": ""}


@pytest.mark.parametrize("letter", list("ABCDEFGHIJ"))
def test_another_letter_is_wrong(letter: str) -> None:
    other = "B" if letter == "A" else "A"
    assert compute_score("sciq", f"The answer is ({letter})", other) == {"score": 0.0, "acc": 0.0, "pred": letter}
    assert read_choice(f"The answer is ({letter})") == letter


@pytest.mark.parametrize("gold", ["", "K", "a", "AB", "(A)"])
def test_a_gold_answer_that_is_no_letter_is_an_error(gold: str) -> None:
    with pytest.raises(ConfigError, match="wanted one letter A to J"):
        compute_score("sciq", "The answer is A", gold)
