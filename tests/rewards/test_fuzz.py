"""No text of a model raises, and none takes long."""

from __future__ import annotations

import string
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.rewards import choice, knights, math, symbolic
from dataflex_rl.rewards.symbolic import Comparer, is_modest

GOLD = {math: "x+1", knights: "Ann is a knight, Bob is a knave", choice: "C"}
WORDS = st.sampled_from(
    [
        "Ann", "Bob", " is ", " a ", "knight", "knave", "liar", "not ", "neither ", " and ", " or ", "/",
        "Final answer:", "\n",
        "The answer is ", "(", ")", "C", "A", "I", ".", ":", "**", "$", "\\boxed{", "}", "{", "\\text{",
        "\\frac", "^", "_",
        "9", "x", "<answer>", "Answer:", "\\", "=", ",", "\x00", "é", "💡", "Knights:", "'",
    ]
)  # fmt: skip
TEXT = st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map("".join))
UNITS = [
    "\\boxed{", "\\boxed knave ", "answer is ", "answer: ", "answer", "(", "A ", "*", " ", "is ", "{", "\\", "$", "\n",
    "$\n", "(A", "final answer knight ", "Ann knight or ", "truth ", "not ", "> ", "answer * : \n", "Ann ",
    "\\text{", "\\frac",
    "Final answer: Ann, ", "<answer>", "A or ", "0", "1,", "knight/", "\x00", "é", "n't ", "\\boxed{}", "}",
    "{}", ". ", "I\n", "answer is" + " " * 60, "Answer: " + "_" * 64 + "\n", "**Answer:** " + "*" * 60 + "\n",
    "(A) ", "is (A) ", "answer to ", "answer is (A) no ", "not ", "so A is ", "Ann is a knight, ", "Ann knight \n\n\n",
]  # fmt: skip


@pytest.mark.parametrize("verifier", GOLD, ids=lambda module: module.__name__.rsplit(".", 1)[1])
@given(text=TEXT)
@settings(max_examples=300, deadline=None)
def test_any_text_gets_a_grade(verifier: Callable[..., object], text: str) -> None:
    result = verifier.compute_score("any", text, GOLD[verifier], {"index": 1}, reward_router_address=None)
    assert list(result) == ["score", "acc", "pred"]
    assert result["score"] == result["acc"]
    assert result["score"] in (0.0, 1.0)
    assert isinstance(result["pred"], str)
    assert len(result["pred"]) <= 300
    assert result["score"] == 0.0 or result["pred"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("verifier", GOLD, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def test_garbage_costs_in_proportion_to_its_length(verifier: Callable[..., object], unit: str) -> None:
    """100 kB cost ten times what 10 kB cost; a pattern that looks again from every place would make it a hundred."""
    short, long = (unit * (size // len(unit)) for size in (10_000, 100_000))
    verifier.compute_score("any", "\\boxed{x - 1}", GOLD[verifier])  # starts the worker, whose start is not grading
    times: dict[str, list[float]] = {short: [], long: []}
    for _ in range(3):  # in turn, and the best of three: a busy machine is not what is measured
        for text, found in times.items():
            start = time.process_time()
            result = verifier.compute_score("any", text, GOLD[verifier])
            found.append(time.process_time() - start)
            assert result["score"] == 0.0
    assert min(times[long]) < 30 * max(min(times[short]), 0.001)


@given(st.text(alphabet="x+-*/^_{}()[]\\,.=<>| 0123456789" + string.ascii_lowercase, min_size=1, max_size=40))
@settings(max_examples=150, deadline=None)
def test_any_boxed_formula_is_compared(formula: str) -> None:
    result = math.compute_score("any", f"\\boxed{{{formula}}}", "x+1")
    assert result["score"] in (0.0, 1.0)


@pytest.mark.parametrize(
    "formula",
    [
        "9^{9^{9}}", "10^{123456}", "2^ 9 ^9", "(" * 30 + "1" + ")" * 30, "x" * 401, "1" * 101, "99999999!",
        "((9!)!)!", "2^{(2^{(2^{(2^{(9)})})})}", "((9^9)^{9999})^{9999}", "\\binom{9999999}{4999999}",
        "(x+1)^{9999}", "\\frac{1}{1+" * 18 + "1" + "}" * 18, "(9^{9})^{9^{9}}",
    ],
)  # fmt: skip
def test_what_is_too_big_is_not_compared(formula: str) -> None:
    assert not is_modest(formula)
    assert math.compute_score("any", f"\\boxed{{{formula}}}", "x+1")["score"] == 0.0


def test_a_comparison_that_does_not_end_is_ended_and_the_next_one_works() -> None:
    comparer = Comparer(cpu_seconds=1)
    start = time.process_time()
    assert not comparer.equal("5", "(a+b+c+d)^{99}")
    assert time.process_time() - start < 1.0  # the other process worked, not this one
    assert comparer.equal("x+x", "2x")
    comparer.close()


@pytest.mark.parametrize(
    "formula", ["(2^3)^2", "e^{x^2}", "2^{10}-1", "(n+1)!", "\\binom{10}{3}", "\\frac{9^{2}}{3^{2}}"]
)
def test_what_is_modest_is_compared(formula: str) -> None:
    assert is_modest(formula)


def test_a_comparison_that_wants_too_much_memory_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "is_modest", lambda formula: True)  # the next line of defence alone
    comparer = Comparer(cpu_seconds=5, memory=700 << 20)
    assert not comparer.equal("x", "((7!)!)!")
    assert comparer.equal("2", "\\sqrt{4}")
    comparer.close()
