"""The verifier of knights and knaves, by table."""

from __future__ import annotations

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.knights import compute_score, gold_text, parse_gold

GOLD = "Ann is a knight, Bob is a knave, Zoë is a knight"

RIGHT = [
    "Final answer: Ann is a knight, Bob is a knave, Zoë is a knight.",
    "FINAL ANSWER: ann IS A KNIGHT, BOB is a KNAVE and zoë is a Knight",
    "Final answer: Zoë is a knight, Bob is a knave, Ann is a knight",
    "**Final Answer:** Ann: knight, Bob: knave, Zoë: knight",
    "Final answer:\n- Ann is a knight\n- Bob is a knave\n- Zoë is a knight\n",
    "Final answer:\n1. Ann is a knight.\n2. Bob is a knave.\n3. Zoë is a knight.",
    "Final answer: Ann is a truth-teller, Bob is a liar, Zoë is a truth teller.",
    "Final answer: Ann and Zoë are knights, and Bob is a knave.",
    "Final answer: Both Ann and Zoë are knights; Bob is a knave.",
    "Final answer: Knights: Ann, Zoë; Knaves: Bob",
    "Final answer:\n**Knights:**\n- Ann\n- Zoë\n**Knaves:**\n- Bob",
    "Final answer: the knights are Ann and Zoë. The only knave is Bob.",
    "Final answer: Ann (knight), Bob (knave), Zoë (knight)",
    "Final answer: Ann = knight, Bob = knave, Zoë = knight",
    "Final answer: Ann is not a knave, Bob is not a knight, Zoë isn't a knave.",
    "Final answer:\n| Ann | knight |\n| Bob | knave |\n| Zoë | knight |",
    "\\boxed{Ann is a knight, Bob is a knave, Zoë is a knight}",
    "<answer>Ann is a knight, Bob is a knave, Zoë is a knight</answer>",
    "CONCLUSION: (1) Ann is a knight (2) Bob is a knave (3) Zoë is a knight",
    "Answer: Ann is a knight, Bob is a knave, Zoë is a knight",
    "Final answer: Ann is a knave, Bob is a knave, Zoë is a knight. No: Ann is a knight.",
    "Final answer: all wrong. Final answer: Ann is a knight, Bob is a knave, Zoë is a knight",
    "If Ann is a knave then Bob lies, a contradiction.\nFinal answer: Ann is a knight, Bob is a knave, Zoë is a knight",
    "Final answer: Ann is a knight, Bob is a knave, Zoë is a knight, Carl is a knave",
    "Final answer: Ann is a knight, Bob is a knave, Zoë is a knight\n\nFinal answer:",
]

WRONG = [
    (
        "Final answer: Ann is a knight, Bob is a knight, Zoë is a knight",
        "Ann is a knight, Bob is a knight, Zoë is a knight",
    ),
    ("Final answer: Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave"),
    ("Final answer: Annabel is a knight, Bob is a knave, Zoë is a knight", "Bob is a knave, Zoë is a knight"),
    ("Final answer: Ann is a knight/knave, Bob is a knave, Zoë is a knight", "Bob is a knave, Zoë is a knight"),
    ("Final answer: Ann is a knight or a knave, Bob is a knave, Zoë is a knight", "Bob is a knave, Zoë is a knight"),
    ("Final answer: Ann, Bob and Zoë are knights", "Ann is a knight, Bob is a knight, Zoë is a knight"),
    (
        "Final answer: neither Ann nor Bob is a knight, Zoë is a knight",
        "Ann is a knave, Bob is a knave, Zoë is a knight",
    ),
    (
        "Ann is a knight, Bob is a knave, Zoë is a knight. Final answer: Ann is a knave",
        "Ann is a knave",
    ),
    ("Final answer: NAME is a knight, NAME is a knave", ""),
    ("Final answer: a knight, a knave, a knight", ""),
    ("Final answer: Ann, Bob. Zoë is a knight", "Zoë is a knight"),
]

NO_ANSWER = [
    "",
    "Ann is a knight, Bob is a knave, Zoë is a knight",
    "Ann says that Bob is a knave. Zoë says that Ann is a knight.",
    "Final answer: I do not know.",
    "Final answer",
    "Knights always tell the truth, and knaves always lie.",
]


@pytest.mark.parametrize("response", RIGHT)
def test_every_person_in_its_role_is_right(response: str) -> None:
    assert compute_score("kk_hard", response, GOLD) == {"score": 1.0, "acc": 1.0, "pred": GOLD}


@pytest.mark.parametrize(("response", "pred"), WRONG)
def test_anything_else_is_wrong(response: str, pred: str) -> None:
    assert compute_score("kk_hard", response, GOLD) == {"score": 0.0, "acc": 0.0, "pred": pred}


@pytest.mark.parametrize("response", NO_ANSWER)
def test_outside_a_final_answer_nothing_counts(response: str) -> None:
    assert compute_score("kk_hard", response, GOLD) == {"score": 0.0, "acc": 0.0, "pred": ""}


def test_the_puzzle_repeated_word_for_word_earns_nothing() -> None:
    puzzle = "Knights tell the truth, knaves lie. Ann said: Bob is a knave. So who is a knight and who is a knave?"
    assert compute_score("kk_hard", puzzle, "Ann is a knight, Bob is a knave")["score"] == 0.0


def test_names_of_several_words_and_names_within_names() -> None:
    gold = "Mary Ann is a knave, Ann is a knight"
    assert compute_score("kk_hard", "Final answer: Ann is a knight, Mary  Ann is a knave", gold)["score"] == 1.0
    assert compute_score("kk_hard", "Final answer: Mary Ann is a knave", gold)["pred"] == "Mary Ann is a knave"


def test_gold_answers_round_trip() -> None:
    text = gold_text({"Ann": True, "Bob": False})
    assert text == "Ann is a knight, Bob is a knave"
    assert parse_gold(text) == {"Ann": "knight", "Bob": "knave"}


@pytest.mark.parametrize("gold", ["", "Ann", "Ann is a pirate", "Ann is a knight, Ann is a knave", "Ann is a knight;"])
def test_a_broken_gold_answer_is_an_error_that_shows_it(gold: str) -> None:
    with pytest.raises(ConfigError, match=r"gold answer .* expected 'Ann is a knight, Bob is a knave', each"):
        compute_score("kk_hard", "Final answer: Ann is a knight", gold)


TWO = "Ann is a knight, Bob is a knave"
WITH_CARE = [  # (what is read, final answer): denials, suppositions, both roles at once, words after the answer
    ("Ann is a knave, Bob is a knave", "Ann cannot be a knight, Bob is a knave"),
    ("Ann is a knave, Bob is a knave", "Ann is no knight, Bob is a knave"),
    ("Ann is a knave, Bob is a knave", "Ann is never a knight, Bob is a knave"),
    ("Ann is a knave, Bob is a knave", "Ann is a non-knight, Bob is a knave"),
    ("Ann is a knave, Bob is a knave", "Ann isnt a knight, Bob is a knave"),
    ("Bob is a knave", "Ann is the opposite of a knight. Bob is a knave"),
    ("Bob is a knave", "Ann is unlikely to be a knight. Bob is a knave"),
    ("", "Ann: knight = False, Bob is a knave"),
    ("Bob is a knave", "Ann is a knight: false; Bob is a knave: true"),
    ("", "If Ann is a knight, then Bob is a knave"),
    ("", "Suppose Ann is a knight and Bob is a knave. Contradiction."),
    (
        "Ann is a knight, Bob is a knave",
        "Ann is a knight, Bob is a knave. If Ann were a knave, her statement would be false.",
    ),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave\nConclusion: knights always tell the truth"),
    ("Ann is a knight, Bob is a knave", "There is one knight and one knave: Ann is a knight, Bob is a knave"),
    ("Ann is a knight, Bob is a knave", "Among Ann and Bob, the knight is Ann and the knave is Bob"),
    ("Ann is a knave, Bob is a knave", "none of Ann, Bob is a knight"),
    ("Ann is a knave, Bob is a knave", "neither Ann nor Bob is a knight"),
    ("", "It is not the case that Ann is a knight and Bob is a knave"),
    ("", "not both: Ann is a knight and Bob is a knave"),
    ("", "Ann is a knight or Bob is a knave"),
    ("Bob is a knave", "Ann is a knight and a knave, Bob is a knave"),
    ("Bob is a knave", "Ann might be a knight. Bob is a knave"),
    ("Bob is a knave", "Ann is a knight? Bob is a knave."),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, not a knave; Bob is a knave, not a knight."),
    ("Ann is a knight, Bob is a knave", "Ann is a knight rather than a knave, Bob is a knave"),
    ("Ann is a knight, Bob is a knave", "Ann is a knight and Bob isn't a knight"),
    ("Ann is a knight, Bob is a knave", "Ann = knight, Bob = knave\n\nHope this helps!"),
    (
        "Ann is a knight, Bob is a knave",
        "Ann is a knight, Bob is a knave. This is consistent because Ann says that Bob is a knave, which is true.",
    ),
    ("Ann is a knight, Bob is a knave", "**Ann** is a **knight**, **Bob** is a **knave**"),
    ("Ann is a knight, Bob is a knave", "Ann → knight, Bob → knave"),
    ("Ann is a knight, Bob is a knave", "Ann must be a knight and Bob must be a knave"),
    ("Ann is a knight, Bob is a knave", "Ann's role: knight\nBob's role: knave"),
    ("Ann is a knight, Bob is a knave", "\\boxed{\\text{Ann is a knight, Bob is a knave}}"),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave, since knights tell the truth."),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave (no contradiction)."),
    ("Ann is a knight, Bob is a knave", "- **Ann**: Knight (tells the truth)\n- **Bob**: Knave (lies)"),
    (
        "Ann is a knight, Bob is a knave",
        "Ann is a knight, Bob is a knave. So exactly one is a knight and the other is a knave.",
    ),
    ("Ann is a knight", "Ann is a knight; Bob is not not a knight"),
    ("Ann is a knight, Bob is a knight", "Ann is a knight, Bob is not a knave."),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, while Bob is a knave"),
    ("", "Ann says Bob is a knave"),
    ("Ann is a knight, Bob is a knave", "(1) Ann is a knight (2) Bob is a knave"),
    ("", "Ann, Bob = knight, knave"),
    ("Ann is a knight, Bob is a knave", "the knight is Ann, the knave is Bob"),
    ("Ann is a knight, Bob is a knave", "Ann is the knight, Bob is the knave"),
    ("Ann is a knight, Bob is a knave", "ANN IS A KNIGHT. BOB IS A LIAR."),
    (
        "Ann is a knight, Bob is a knave",
        "Ann is a knight and tells the truth; Bob does not tell the truth, so Bob is a knave",
    ),
    ("Bob is a knave", "Ann is not not a knight. Bob is a knave"),
]


@pytest.mark.parametrize(("pred", "final"), WITH_CARE)
def test_a_role_is_read_as_a_careful_reader_would(pred: str, final: str) -> None:
    result = compute_score("kk_hard", f"Final answer: {final}", TWO)
    assert result == {"score": float(pred == TWO), "acc": float(pred == TWO), "pred": pred}


@pytest.mark.parametrize(
    ("gold", "written"),
    [("Oliver", "Ol\u0131ver"), ("Oliver", "OL\u0130VER"), ("\u0130pek", "\u0130pek"), ("K", "\u212a")],
)
def test_letters_that_only_a_pattern_takes_for_the_same_are_read(gold: str, written: str) -> None:
    result = compute_score("kk_hard", f"Final answer: {written} is a knight", f"{gold} is a knight")
    assert result == {"score": 1.0, "acc": 1.0, "pred": f"{gold} is a knight"}


@pytest.mark.parametrize("response", [None, 3, b"Final answer: Ann is a knight"])
def test_a_response_that_is_no_text_is_an_error(response: object) -> None:
    with pytest.raises(ConfigError, match=r"knights and knaves: response .* expected a text"):
        compute_score("kk_hard", response, TWO)  # type: ignore[arg-type]
