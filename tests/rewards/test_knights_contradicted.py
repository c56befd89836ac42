"""Contradictions earn nothing, and persons may be called like a word of the answer, by table."""

from __future__ import annotations

import pytest

from dataflex_rl.rewards.knights import compute_score

GRADED = [  # (gold, final answer, score)
    ("Zoey is a knight", "Zoey is a knight. Zoey is a knave.", 0),
    ("Zoey is a knave", "Zoey is a knight. Zoey is a knave.", 0),
    ("Zoey is a knave", "Zoey is a knight. No, Zoey is a knave.", 1),
    ("Zoey is a knave", "Zoey is a knight. Wait, Zoey is a knave.", 1),
    ("Zoey is a knight, Ann is a knave", "Zoey: knight, Ann: knave, Zoey: knave", 0),
    ("Zoey is a knight, Ann is a knave", "Knights: Zoey; Knaves: Ann, Zoey", 0),
    ("Zoey is a knight", "Zoey is a knight. Zoey is a knight.", 1),
    ("A is a knight, B is a knave", "A is a knight, B is a knave", 1),
    ("A is a knight, B is a knave", "A is a knave, B is a knight", 0),
    ("A is a knight, B is a knave", "**A**: knight\n**B**: knave", 1),
    ("A is a knight, B is a knave", "a knight is B, and a knave", 0),
    ("A is a knave, B is a knave", "A and B are knaves", 1),
    ("A is a knight, B is a knave", "Knights: A; Knaves: B", 1),
    ("Knight is a knave, Ann is a knight", "Knight is a knave, Ann is a knight", 1),
    ("Knight is a knave, Ann is a knight", "Ann is a knight, Knight is a knave.", 1),
    ("Knight is a knave, Ann is a knight", "Knight: knave, Ann: knight", 1),
    ("Knight is a knave, Ann is a knight", "Knight is a knight, Ann is a knight", 0),
    ("Knight is a knave, Knave is a knight", "Knight is a knave, Knave is a knight", 1),
    ("Knight is a knave, Knave is a knight", "Knight is a knight, Knave is a knave", 0),
    ("May is a knight, Will is a knave", "May is a knight, Will is a knave", 1),
    ("May is a knight, Ann is a knave", "May is a knight and Ann may be a knave", 0),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave. Bob is not a knight.", 1),
    ("Ann is a knight", "Ann is a knight and not a knave", 1),
    ("Ann is a knight", "Ann is not a knight. Ann is a knight.", 0),
    *[
        ("Ann is a knight, Bob is a knave", f"Ann is a knight, Bob is a knave{rest}", 0)
        for rest in (
            ". Or the reverse.",
            "; or vice versa.",
            ", or the other way round.",
            ". The opposite holds.",
            ", and so is Ann.",
            ". Both are knaves.",
            ". They are both knights.",
            ". Everyone is a knave.",
            ". All of them are knights.",
            ", as is Ann.",
            " (60%).",
            " with probability 1/2.",
        )
    ],
    ("Ann is a knight, Bob is a knave", "Ann is a knight iff Bob is a knave", 0),
    ("Ann is a knight, Bob is a knave", "Ann is a knight-knave, Bob is a knave", 0),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, as is Bob. Bob is a knave", 0),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave, not the other way round", 1),
    ("Ann is a knight, Bob is a knave", "Ann is a knight (100% sure), Bob is a knave", 1),
    ("Ann is a knight, Bob is a knave", "Ann is a knight (not a knave), Bob is a knave (not a knight)", 1),
    ("Ann is a knight, Bob is a knave", "Ann is one of the knights, Bob is certainly a knave", 1),
    ("Ann is a knight, Bob is a knight", "Ann is a knight and so is Bob", 1),
    ("Ann is a knight, Bob is a knight", "Ann and Bob both are knights", 1),
    ("Ann is a knave, Bob is a knave", "Not everyone is a knave", 0),
    ("Ann is a knave, Bob is a knave", "Ann says that all are knaves", 0),
    ("Ann is a knave, Bob is a knave, Eve is a knight", "Ann and Bob: both are knaves. Eve is a knight.", 1),
    ("Ann is a knight, Bob is a knave", "Ann is a knight, Bob is a knave. Hence Ann (knight) tells the truth.", 1),
]


@pytest.mark.parametrize(("gold", "final", "score"), GRADED)
def test_every_person_needs_one_role_alone(gold: str, final: str, score: int) -> None:
    assert compute_score("kk_hard", f"Final answer: {final}", gold)["score"] == score


@pytest.mark.parametrize(
    "name", ["A", "B", "I", "Knight", "Knave", "An", "No", "May", "Will", "Both", "Liar", "Or", "True", "Zoë"]
)
@pytest.mark.parametrize("form", ["{} is a {}", "{}: {}", "**{}**: {}", "{} = {}", "{} must be a {}", "- {} is a {}\n"])
def test_any_name_is_read(name: str, form: str) -> None:
    final = ", ".join([form.format(name, "knave"), form.format("Eve", "knight")])
    assert compute_score("kk_hard", f"Final answer: {final}", f"{name} is a knave, Eve is a knight")["score"] == 1.0
    assert compute_score("kk_hard", f"Final answer: {final}", f"{name} is a knight, Eve is a knight")["score"] == 0.0
