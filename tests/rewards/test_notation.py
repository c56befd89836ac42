"""One value in many notations."""

from __future__ import annotations

import pytest

from dataflex_rl.rewards import dispatch
from dataflex_rl.rewards.math import compute_score
from dataflex_rl.rewards.notation import tidy

SAME = [  # gold, boxed
    # thousands separators
    ("11,\\! 111,\\! 111,\\! 100", "11111111100"), ("11111111100", "11,111,111,100"), ("1000", "1\\,000"),
    ("1000", "1{,}000"), ("1000", "1~000"),
    ("12345", "12 345"), ("1000", "1\u202f000"), ("1000", "1\u00a0000"), ("1000", "1\u2009000"),
    ("1234567", "1,\\!234,\\!567"), ("32,\\! 349", "32349"),
    # Unicode
    ("x^2+1", "x²+1"), ("x^{12}", "x¹²"), ("x^{-1}", "x⁻¹"), ("x^n", "xⁿ"), ("x_1", "x₁"), ("x_{12}", "x₁₂"),
    ("\\sqrt{2}", "√2"),
    ("\\sqrt{x+1}", "√(x+1)"), ("2\\sqrt{3}", "2√3"), ("\\sqrt[3]{5}", "∛5"), ("\\sqrt{17}", "√17"),
    ("\\sqrt{2}x", "√2x"), ("x\\le 3", "x ≤ 3"),
    ("x\\ge 3", "x ≥ 3"), ("x\\ne 3", "x ≠ 3"), ("x\\in[0,1]", "x ∈ [0,1]"), ("[0,1]\\cup[2,3]", "[0,1]∪[2,3]"),
    ("2\\cdot 3", "2·3"), ("6", "2×3"),
    ("\\frac12", "1÷2"), ("\\pm 2", "±2"), ("\\alpha+\\beta", "α+β"), ("2\\pi", "2π"), ("\\theta=30", "θ=30"),
    ("\\infty", "∞"), ("-3", "−3"),
    ("90^\\circ", "90°"), ("\\emptyset", "∅"), ("\\frac34", "¾"), ("\\frac{1}{3}", "⅓"), ("x'", "x′"),
    ("\\lfloor 2.5\\rfloor", "⌊2.5⌋"),
    ("(-\\infty,1)", "(−∞, 1)"), ("\\mathbb{R}", "ℝ"), ("\\Delta", "Δ"), ("5", "5\u200b"),
    # spellings
    ("x\\le 3", "x\\leq 3"), ("x\\le 3", "x\\leqslant 3"), ("x\\le 3", "x <= 3"), ("x\\ge 3", "x >= 3"),
    ("x\\ne 3", "x\\neq 3"), ("x\\ne 3", "x != 3"),
    ("x<3", "x \\lt 3"), ("\\emptyset", "\\varnothing"), ("\\emptyset", "\\{\\}"), ("\\frac{1}{2}", "\\frac 1 2"),
    ("\\frac{1}{2}", "\\frac12"),
    ("\\frac{1}{2}", "\\frac1{2}"), ("\\frac{1}{2}", "\\frac{1}2"), ("\\frac{\\pi}{4}", "\\frac\\pi4"),
    ("\\frac{a}{b}", "\\frac ab"), ("\\frac{1}{2}", "\\cfrac{1}{2}"),
    ("\\frac{x}{2}", "\\dfrac x2"), ("\\sqrt{2}", "\\sqrt 2"), ("\\sqrt{2}", "\\sqrt2"), ("\\sqrt{x}", "\\sqrt x"),
    ("\\binom{5}{2}", "\\dbinom52"),
    ("5", "\\left(5\\right)"), ("(1,2)", "\\bigl(1,2\\bigr)"), ("\\sin x", "\\operatorname{sin} x"),
    ("5", "\\(5\\)"), ("x+1", "\\mathrm{x}+1"), ("C", "\\text{(C)}"),
    ("\\text{(C)}", "C"), ("C", "(C)"), ("\\text{C}", "\\textbf{(C)}"), ("|x|", "\\lvert x\\rvert"),
    ("\\{1,2\\}", "\\lbrace 1,2\\rbrace"),
    # repeating decimals
    ("\\frac13", "0.\\overline{3}"), ("0.\\overline{3}", "\\frac13"), ("\\frac16", "0.1\\overline{6}"),
    ("\\frac{1}{7}", "0.\\overline{142857}"), ("\\frac13", "0.\\bar3"),
    ("\\frac13", "0.\\dot{3}"), ("\\frac43", "1.\\overline{3}"), ("\\frac13", "0.(3)"),
    ("-\\frac13", "-0.\\overline{3}"), ("1", "0.\\overline{9}"), ("\\frac13", ".\\overline{3}"),
    # lists, signs, intervals
    ("3+2\\sqrt{2}, 3-2\\sqrt{2}", "3 \\pm 2\\sqrt{2}"), ("3 \\pm 2\\sqrt{2}", "3-2\\sqrt{2}, 3+2\\sqrt{2}"),
    ("\\pm2", "2,-2"), ("2,-2", "\\pm 2"), ("\\pm2", "\\{-2,2\\}"),
    ("x=\\pm 2", "2, -2"), ("\\{1\\pm\\sqrt5,-2\\}", "-2, 1+\\sqrt5, 1-\\sqrt5"), ("1\\mp\\sqrt2", "1\\pm\\sqrt2"),
    ("x=2, x=-2", "x=\\pm2"),
    ("-2<x<3", "(-2,3)"), ("(-2,3)", "-2<x<3"), ("[-2,3)", "-2\\le x<3"), ("(5,\\infty)", "x>5"),
    ("x<5", "(-\\infty,5)"), ("x\\le 5", "(-\\infty,5]"), ("(-2,3)", "3>x>-2"),
    ("(-\\infty,1)\\cup(3,\\infty)", "x<1\\text{ or }x>3"), ("x\\in(-2,3)", "-2<x<3"), ("0<f(x)<1", "(0,1)"),
    ("(-\\infty,3)\\cup(3,\\infty)", "x\\ne 3"), ("(-2,2)", "x^2<4"),
    ("4,5", "AB=4, CD=5"), ("AB=4, CD=5", "4,5"), ("AB=4, CD=5", "CD=5, AB=4"), ("x=1, y=2", "(1,2)"),
    ("-5, \\frac{14}{3}", "x = -5,\\ p = \\frac{14}{3}"),
    ("4,-8,-10", "a=4,\\,-8,\\,-10"), ("(5,2),(7,2)", "p=5,q=2;p=7,q=2"), ("1;2;3", "1,2,3"), ("(0;1)", "(0,1)"),
    ("7,11", "7\\text{ and }11"), ("7,11", "7 \\quad \\text{or} \\quad 11"),
    ("(11,7)or(7,11)", "(7,11),(11,7)"), ("1,2,3", "{1,2,3}"),
    ("\\frac{NO}{BO}=\\frac{1}{\\sqrt6}", "\\frac{1}{\\sqrt6}"), ("7:32", "S_{MBCN}:S=7:32"), ("|AB|=1", "1"),
    # a space of any width before a unit, and units that need none
    ("12", "12\\,\\text{cm}"), ("12", "12\\,\\mathrm{cm}"), ("12", "12\\;\\text{cm}^2"),
    ("12\\text{ cm}^2", "12\\,\\text{cm}^2"),
    ("12", "12\\text{\\,cm}"), ("12", "12^\\circ C"), ("12", "12^{\\circ}\\mathrm{C}"), ("12", "12¢"),
    ("6", "6\\text{ one-dollar bills}"), ("3", "3\\text{ quarters}"), ("7", "7\\text{ seconds}"), ("5", "5\\text{ N}"),
    # size, colour and weight of type
    ("5", "\\bf{5}"), ("5", "{\\bf 5}"), ("5", "\\color{red}{5}"), ("5", "\\textcolor{blue}{5}"),
    ("5", "\\underline{5}"),
    ("5", "\\large 5"), ("5", "\\Large{5}"), ("\\frac12", "{\\large \\frac12}"),
    # logarithms to a base of one digit, binomials, ratios, number bases
    ("10", "\\log_2 1024"), ("10", "\\log_2 1024 = 10"), ("\\log_2 3", "\\log_2(3)"),
    ("\\log_2 3", "\\frac{\\ln 3}{\\ln 2}"),
    ("3+\\log_2 5", "\\log_2 40"), ("\\binom52", "{5\\choose 2}"), ("{5 \\choose 2}", "10"), ("3:20", "3{:}20"),
    ("2516_8", "(2516)_8"),
    # what names a value
    ("5", "\\text{Area}=5"), ("10", "\\text{Total cost} = 10"), ("10", "f(2)=10"), ("10", "x_{\\max}=10"),
    ("10", "x_{\\text{max}}=10"), ("10", "m\\angle ABC = 10"), ("10", "N(5) = 10"),
    ("1, 2, 3", "1,2,\\text{ and }3"), ("1, 2, 3", "1, 2, \\text{ or } 3"),
    ("(-\\infty,\\infty)", "\\mathbb{R}"), ("\\mathbb{R}", "(-\\infty,+\\infty)"),
    # a decimal shown for an exact value
    ("\\frac{\\sqrt3}{3}", "\\frac{\\sqrt3}{3} \\approx 0.577"), ("\\frac{\\sqrt3}{3}", "\\frac{\\sqrt3}{3}≈0.577"),
    ("0.577", "\\frac{\\sqrt3}{3} \\approx 0.577"),
    ("\\frac13", "x=\\frac13\\approx 0.333"), ("2\\pi", "2\\pi \\approx 6.28"), ("\\sqrt2", "\\sqrt2\\approx 1.414"),
    ("\\frac{2}{3}", "\\frac23\\simeq 0.67"),
    # percent
    ("28\\%", "28 pct"), ("28\\%", "28 percentage"), ("11", "x\\approx 11"),
    ("2", "200\\%"), ("200\\%", "2"), ("0.5", "50\\%"), ("50\\%", "\\frac12"), ("28\\%", "28"),
    ("28\\%", "28\\text{ percent}"), ("1.5", "150\\%"), ("28\\%", "28 \\%"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "boxed"), SAME)
def test_another_notation_is_right(gold: str, boxed: str) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 1.0


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("x²+y³", "x^{2}+y^{3}"), ("\\frac\\pi 4", "\\frac{\\pi}{4}"), ("\\frac12 3", "\\frac{1}{2} 3"),
        ("\\sqrt[3]2", "\\sqrt[3]{2}"), ("√(a+b)c", "\\sqrt{a+b}c"),
        ("\\frac{\\frac12}{3}", "\\frac{\\frac{1}{2}}{3}"), ("\\frac{1}", "\\frac{1}"), ("\\fractal", "\\fractal"),
        ("0.1\\overline{6}", "\\frac{1}{6}"), ("1, 234", "1, 234"), ("1 23", "1 23"),
    ],
)  # fmt: skip
def test_a_text_is_written_in_plain_latex(text: str, plain: str) -> None:
    assert tidy(text) == plain


BOXES = [  # gold, response, score
    ("-2,1", "The roots are \\boxed{1} and \\boxed{-2}.", 1), ("1,2", "\\boxed{1}, \\boxed{2}", 1),
    ("1,2,3", "\\boxed{1} and \\boxed{2} and \\boxed{3}", 1),
    ("1,2", "$\\boxed{1}$ papers and $\\boxed{2}$ bins", 1),
    ("(2,2),(6,2)", "\\[\\boxed{(2,2)} \\quad \\text{and} \\quad \\boxed{(6,2)}\\]", 1),
    ("1,2", "\\boxed{1} or \\boxed{2}", 1), ("k=45, n=2", "\\boxed{k = 45} and \\boxed{n = 2}", 1),
    ("1,2", "\\boxed{1}. No, wait: \\boxed{2}", 0),
    ("1,2", "\\boxed{1} no no no no no \\boxed{2}", 0), ("2", "\\boxed{1} or \\boxed{2}", 0),
    ("2", "\\boxed{1}, so that in the end \\boxed{2}", 1), ("1,2", "\\boxed{1}, \\boxed{2}, \\boxed{3}", 0),
    ("1,1", "\\boxed{1} and \\boxed{1}", 0), ("7", "\\boxed{7} and again \\boxed{7}", 1),
    ("1,2", "\\boxed{1}\n\nNow something else.\n\n\\boxed{2}", 0), ("1,2", "\\boxed{2}", 0),
    ("1,2", "\\boxed{3} and later \\boxed{1,2}", 1),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "response", "score"), BOXES)
def test_several_boxes_are_a_list_if_the_answer_is_one(gold: str, response: str, score: int) -> None:
    assert compute_score("math500", response, gold)["score"] == score


@pytest.mark.parametrize(
    ("gold", "boxed", "rounds"),
    [
        ("0.33", "\\frac13", True), ("0.33", "0.3333", True), ("0.34", "\\frac13", False),
        ("1.414", "\\sqrt2", True), ("1.41", "1.416", False), ("3.14", "\\pi", True),
        ("3", "\\pi", False), ("0.5", "0.55", True), ("0.5", "0.551", False), ("x+0.5", "x+0.51", False),
    ],
)  # fmt: skip
def test_rounding_to_the_gold_answer_is_an_option(gold: str, boxed: str, rounds: bool) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 0.0
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold, round_to_gold=True)["score"] == float(rounds)


def test_the_option_of_a_verifier_passes_through_the_dispatcher() -> None:
    given = {"data_source": "math500", "solution_str": "\\boxed{0.333}", "ground_truth": "0.33"}
    assert dispatch.compute_score(**given)["score"] == 0.0
    assert dispatch.compute_score(**given, round_to_gold=True)["score"] == 1.0
    sciq = {"data_source": "sciq", "solution_str": "The answer is B", "ground_truth": "B"}
    assert dispatch.compute_score(**sciq, round_to_gold=True)["score"] == 1.0
