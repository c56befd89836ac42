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
    with pytest.raises(ConfigError, match="expected one letter A to J"):
        compute_score("sciq", "The answer is A", gold)


WITH_CARE = [  # what is denied, supposed, asked or taken back; two letters; words and formulas; markup
    ("", "The answer is not (A)."),
    ("", "The answer isn't (A)."),
    ("", "I don't think the answer is (A)."),
    ("", "The wrong answer is (A)."),
    ("", "The incorrect option is C."),
    ("", "If the answer is (A), we get a contradiction."),
    ("", "(A) is wrong."),
    ("", "Not (A)"),
    ("", "Eliminate (A)"),
    ("", "The answer is A and/or B"),
    ("", "The answer is A; B"),
    ("", "The answer is (A)(B)"),
    ("", "<answer>A and B</answer>"),
    ("", "<answer>A, B</answer>"),
    ("", "\\boxed{A} or \\boxed{B}"),
    ("", "\\boxed{\\text{A} , \\text{B}}"),
    ("", "Hydrogen (H) is light"),
    ("", "P(A) = 0.5"),
    ("", "f(B)=3"),
    ("", "Q: x\nA: mercury"),
    ("", "I: yes"),
    ("", "I. Introduction"),
    ("", "The answer is E > 0"),
    ("", "The answer is H bond"),
    ("", "The answer is A × B"),
    ("", "The answer is G/2"),
    ("B", "The answer is (A) ... no, (B)"),
    ("B", "The answer is A? No, B."),
    ("B", "The answer is (b)"),
    ("B", "\\boxed{(b)}"),
    ("B", "\\boxed{\\text{b}}"),
    ("B", "The answer is \\(B\\)"),
    ("B", "The answer is “B”."),
    ("B", "The answer is _B_"),
    ("B", "\\boxed{Option B}"),
    ("B", "The answer should be B"),
    ("B", "B is the correct answer."),
    ("A", "The answer is A rather than B"),
    ("B", "The answer is not (A), it is (B)."),
    ("B", "The answer isn't A but B."),
    ("", "The answer cannot be (A)."),
    ("", "The answer is A. Actually, the answer is not A."),
    ("B", "The answer is B. The answer is not A."),
    ("", "Vitamin C is the correct answer"),
    ("", "I doubt that B is the correct answer."),
    ("B", "The correct answer to this question is (B)."),
    ("B", "Option B is the right choice"),
    ("B", "<answer>b</answer>"),
    ("B", "<answer>\\boxed{B}</answer>"),
    ("", "The answer is not \\boxed{A}"),
    ("B", "(A) is wrong. So it must be (B)."),
    ("C", "The answer is C — mercury"),
    ("C", "The answer is C - mercury"),
    ("C", "The answer is C (mercury)"),
    ("C", "The answer is **C. mercury**"),
    ("C", "The answer is C\nA is wrong."),
    ("C", "Final line: The answer is (C).\nHope this helps! I am glad."),
    ("C", "The answer is $\\boxed{\\textbf{(C) } 5}$"),
    ("C", "\\boxed{\\textbf{(C)}\\ 5}"),
    ("", "The answer is A or maybe B"),
    ("", "The answer is either A or B"),
    ("", "Is the answer (A)?"),
    ("B", 'Answer: "B"'),
    ("", "The answer is (A) (B)"),
    ("A", "The answer is A and I am sure"),
    ("A", "(A) is correct."),
    ("", "Suppose the answer is A."),
    ("B", "A is impossible, so the answer is B"),
    ("", "The answer is A or B, maybe (A)."),
    ("", "The answer is (A), (B)"),
    ("", "The answer is F(x)"),
    ("C", "The answer is (C) Mercury"),
    ("C", "The answer is:\n\n**(C)** Mercury"),
    ("C", "### Answer\n\nC"),
    ("C", "The best answer is 'C'"),
    ("C", "The correct choice is therefore C."),
    ("", "It is not true that the answer is C"),
    ("", "The answer is ________"),
    ("C", "The answer is (C), (A) is wrong"),
    ("", "C is wrong"),
    ("C", "Correct answer: C"),
    ("C", "**Correct Answer: C) mercury**"),
]


@pytest.mark.parametrize(("letter", "response"), WITH_CARE)
def test_a_letter_is_read_as_a_careful_reader_would(letter: str, response: str) -> None:
    assert read_choice(response) == letter


@pytest.mark.parametrize("response", [None, 3, b"The answer is A", ["A"]])
def test_a_response_that_is_no_text_is_an_error(response: object) -> None:
    with pytest.raises(ConfigError, match=r"multiple choice: response .* expected a text"):
        compute_score("sciq", response, "A")  # type: ignore[arg-type]
