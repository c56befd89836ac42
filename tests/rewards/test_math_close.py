"""Answers of mathematics that are close to another one, by table: lists, brackets, units, equations, tiny numbers."""

from __future__ import annotations

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.math import compute_score

SAME = [  # gold, boxed
    ("4.5e33", "4.5\\times 10^{33}"),
    ("9.6e-8", "9.6 \\times 10^{-8}"),
    ("5", "5 dollars"),
    ("10", "10 m/s"),
    ("10", "10\\text{ m/s}"),
    ("90", "90°"),
    ("1/2", "½"),
    ("7/2", "3½"),
    ("-3", "–3"),
    ("-3", "−3"),
    ("e^{i\\pi}", "-1"),
    ("7/2", "3 1/2"),
    ("7/2", "3\\frac{1}{2}"),
    ("100, 200", "200, 100"),
    ("0.5", "50\\%"),
    ("\\frac12", "50\\%"),
    ("1,2", "2, 1"),
    ("1,2", "\\{2,1\\}"),
    ("5", "5\\text{ hours}"),
    ("(1,2)", "(x,y)=(1,2)"),
    ("1,2", "x=1, x=2"),
    ("1,2", "x=1 \\text{ or } x=2"),
    ("x^2+1", "f(x)=x^2+1"),
    ("[0,1]", "x\\in[0,1]"),
    ("2x-y+1=0", "y=2x+1"),
    ("(1,2),(3,4)", "(3,4),(1,2)"),
    ("1000", "1\\,000"),
    ("1000", "1,\\!000"),
    ("1,000, 2,000", "2000, 1000"),
    ("5", "5 apples"),
    ("5", "5\\text{ apples}"),
    ("3\\sqrt{2}", "\\sqrt{18}\\text{ cm}"),
    ("12", "12\\text{ cm}^2"),
    ("12", "12 \\mathrm{~cm}^2"),
    ("x<5", "5>x"),
    ("x=5", "5=x"),
    ("(-\\infty,1)\\cup(2,3)", "(2,3)\\cup(-\\infty,1)"),
    ("1000\\pi", "1,000\\pi"),
    ("72", "\\$72"),
    ("50", "50\\%"),
    ("50", "50 percent"),
    ("50\\%", "50"),
    ("1011_2", "1011_{2}"),
    ("72", "72\\text{ }"),
    ("\\text{Even}", "even"),
    ("5", "\\text{5}"),
    ("\\frac{1}{1000000007}", "1/1000000007"),
    ("i^2", "-1"),
    ("∞", "\\infty"),
    ("3π", "3\\pi"),
    ("(3,\\frac{\\pi}{2})", "\\left(3,\\frac{\\pi}{2}\\right)"),
    ("y=2x+1", "2x+1"),
    ("2x+1", "y=2x+1"),
    ("6.02e23", "6.02\\times10^{23}"),
    ("10^{-9}", "1e-9"),
    ("\\frac{-3}{4}", "-0.75"),
    ("5", "(5)"),
    ("5", "\\theta = 5"),
    ("x^2+2x+1", "(x+1)^2"),
    ("0", "\\sin(\\pi)"),
    ("0", "\\sqrt{2}\\cdot\\sqrt{8}-4"),
    ("90^\\circ\\text{C}", "90"),
    ("-½", "-\\frac{1}{2}"),
    ("\\frac{1}{3}+\\frac{1}{6}", "0.5"),
    ("(2^3)^2", "64"),
    ("10!", "3628800"),
    ("\\binom{10}{3}", "120"),
    ("2^{10}-1", "1023"),
    ("(n+1)!", "(n+1)\\cdot n!"),
]

OTHER = [
    ("(10,100)", "(10100)"),
    ("100, 200", "100200"),
    ("5125", "5, 125"),
    ("\\{1,200\\}", "\\{1200\\}"),
    ("12", "1 2"),
    ("31/2", "3 1/2"),
    ("510", "5 \\quad 10"),
    ("x+y=5", "5"),
    ("5", "x+y=5"),
    ("5", "4=5"),
    ("5", "5=4"),
    ("4", "5=4"),
    ("5", "a=4=5"),
    ("1,1,2", "1,2,2"),
    ("3", "3,3,3"),
    ("(1,2)", "\\{1,2\\}"),
    ("2,1", "(1,2)"),
    ("5", "[5]"),
    ("11", "11_2"),
    ("1011_2", "1011_3"),
    ("5\\text{ hours}", "5\\text{ minutes}"),
    ("3", "3\\text{ is wrong}"),
    ("6.626\\times10^{-34}", "9\\times 10^{-31}"),
    ("10^{-9}", "0.0"),
    ("\\frac{\\pi}{4}", "0.785398"),
    ("0.5", "0.5\\%"),
    ("3/2", "3\\frac{1}{2}"),
    ("5", "x>5"),
    ("x=5", "y=5"),
    ("5", "5 x"),
    ("5", "5 million"),
    ("5", "5\\text{ million}"),
    ("0", "10^{-20}"),
    ("\\sqrt{2}", "1.41421356"),
    ("1", "1\\%"),
    ("x<5", "x>5"),
    ("(1,2),(3,4)", "(1,3),(2,4)"),
    ("3", "3\\mathrm{i}"),
    ("1,2", "1,2,3"),
    ("5", "5 is not the answer"),
    ("5", "5 or 6"),
    ("0", "\\frac{1}{10^{12}}"),
    ("7", "7_8"),
    ("[1,2]", "(1,2)"),
    ("x+1", "x+1.0000001"),
    ("6", "x=5, x=6"),
    ("5", "not 5"),
    ("5", "\\neq 5"),
    ("5", "\\text{not } 5"),
    ("5", "\\approx 5"),
    ("2", "\\pm 2"),
    ("[0,1]", "0,1"),
    ("5", "5/"),
    ("x", "xx"),
]


@pytest.mark.parametrize(("gold", "boxed"), SAME)
def test_the_same_answer_written_otherwise_is_right(gold: str, boxed: str) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 1.0


@pytest.mark.parametrize(("gold", "boxed"), OTHER)
def test_an_answer_that_only_looks_the_same_is_wrong(gold: str, boxed: str) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 0.0


@pytest.mark.parametrize(("response", "gold"), [(None, "5"), (5, "5"), (b"\\boxed{5}", "5"), ("\\boxed{5}", 5)])
def test_what_is_no_text_is_an_error(response: object, gold: object) -> None:
    with pytest.raises(ConfigError, match=r"math: (response|gold answer) .* expected a text"):
        compute_score("math500", response, gold)  # type: ignore[arg-type]
