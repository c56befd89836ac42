"""A letter that is denied, listed or hedged is no answer, and one that is stated in other words is, by table."""

from __future__ import annotations

import pytest

from dataflex_rl.rewards.choice import compute_score, read_choice

READ = [  # (letter, response)
    ("", "Let us consider each choice: (A) means growth, (B) means decay."),
    ("", "The answer is (B), which is wrong."),
    ("", "The answer is A (or C)"),
    ("", "A (or C)"),
    ("", "The answer is (A) or maybe (C)."),
    ("", "The answer is: (a) .148 (b) .147 (c) .146"),
    ("", "(a) .148 (b) .147"),
    ("", "Answer choices: (A) 1 (B) 2"),
    ("", "The answer is (a) .148 (b) .147"),
    ("B", "Option B is correct."),
    ("C", "Therefore, C."),
    ("B", "It's B."),
    ("B", "It is B."),
    ("", "It's not B."),
    ("", "Option B is not correct."),
    ("", "Option B is correct?"),
    ("B", "The correct option: B"),
    ("", "For each option: (A) is heavy"),
    ("", "The answer is B, but that is wrong."),
    ("", "The answer is B. That is incorrect."),
    ("C", "The answer is B, which is wrong. The answer is C."),
    ("", "The answer is A, possibly C"),
    ("", "The answer is A, alternatively C."),
    ("", "The answer is A; it could also be C."),
    ("", "The answer is A, perhaps (C)"),
    ("", "I believe Option A is correct, or maybe C."),
    ("D", "I choose D."),
    ("D", "I'll go with D."),
    ("", "If it's B."),
    ("", "Perhaps it's B."),
    ("B", "Thus, (B)."),
    ("B", "Hence B"),
    ("", "So I."),
    ("", "Therefore, I."),
    ("A", "The answer is A and I am sure"),
    ("C", "(A) is false, (B) too. The answer is (C), not (D)."),
    ("A", "The answer is (A) lead, not (B)."),
    ("C", "The answer is (C) Mercury"),
    ("C", "Choice: C"),
    ("", "The best choice: (A) or (B)"),
    ("B", "Option B is the correct one."),
    ("", "The answer is A/C"),
    ("", "The answer is A, B"),
    ("", "The answer might be A"),
    ("", "The answer is either (A) or (B), I cannot tell."),
    ("", "The answer is A, although it may be C."),
    ("B", "Options A and C are wrong. Option B is correct."),
    ("", "Options A and B are correct."),
    ("A", "The answer is A because C is impossible"),
    ("A", "The answer is A, since (B) is too heavy"),
    ("", "Is it C? It's unclear."),
    ("B", "it's B"),
    ("", "The answer isn't B."),
    ("", "Each choice is plausible: (A) is the sun."),
    ("", "Which option is it? (A) Sun (B) Moon"),
    ("E", "So the answer is (E)."),
    ("", "Neither (A) nor (B). "),
    ("", "The answer is (A), though (B) is also possible."),
    ("", "The answer is A, or B if the gas is ideal."),
    ("B", "Answer: B. 5 m"),
    ("C", "Final answer: C"),
    ("", "A or B"),
    ("", "Therefore, A or C."),
    ("", "Therefore, A?"),
    ("", "not B. It isn't C."),
    ("B", "The answer is B) 12"),
    *[
        ("", f"The answer is A{rest}")
        for rest in (
            " as well as B.",
            " along with B.",
            " together with B.",
            " plus B.",
            ", then B.",
            " (B is also fine).",
            ". B works too.",
            "; B is equally correct.",
            ". (B) fits as well.",
            ". B would be just as good.",
            ". No.",
            ". Not really.",
            ". Just kidding, that is nonsense.",
            ". Wrong!",
        )
    ],
    ("", "It is false that the answer is A."),
    ("", "Some students say the answer is A."),
    ("", "<answer>A\nB</answer>"),
    ("C", "The answer is (C). B is also wrong."),
    ("C", "The answer is C, and B is also incorrect."),
    ("C", "The answer is C. No other option works."),
    ("C", "The answer is C. A could be right in a vacuum alone."),
    ("C", "I would say the answer is C."),
    ("C", "The answer is B. No, C."),
    ("C", "<answer>C\n</answer>"),
    *[("C", f"The answer {sign}") for sign in ("is （C）.", "is Ｃ.", "→ C", "：C", "is C…", "is （Ｃ）")],
    ("C", "Ans: C"),
    ("C", "It's (C), not (B)."),
    ("", "It's C, not that it matters? "),
]


@pytest.mark.parametrize(("letter", "response"), READ)
def test_a_letter_is_read_only_where_it_is_the_answer(letter: str, response: str) -> None:
    assert read_choice(response) == letter


HEDGES = ["or {}", "(or {})", "and {}", "/ {}", ", maybe {}", "or perhaps {}", ", possibly ({})", "; alternatively {}"]
STATEMENTS = [
    "The answer is {}.",
    "Answer: {}",
    "\\boxed<>",
    "<answer>{}</answer>",
    "Therefore, {}.",
    "Final answer: **{}**",
]


@pytest.mark.parametrize("hedge", HEDGES)
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("pair", ["AB", "BA", "CD", "DC"])
def test_two_letters_earn_nothing(pair: str, statement: str, hedge: str) -> None:
    both = f"{pair[0]} {hedge.format(pair[1])}"
    response = statement.replace("{}", both).replace("<>", "{" + both + "}")
    assert [compute_score("sciq", response, gold)["score"] for gold in pair] == [0.0, 0.0]
