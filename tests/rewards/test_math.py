"""The verifier of mathematics, by table."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dataflex_rl.rewards.math import as_number, compute_score, normalize

RIGHT = [
    # gold, response
    ("72", "So the answer is \\boxed{72}."),
    ("72", "\\boxed{ 72 }"),
    ("72", "\\boxed{72.}"),
    ("72", "\\boxed{72.0}"),
    ("72", "\\boxed{+72}"),
    ("72", "\\boxed{\\$72}"),
    ("72", "\\boxed{72\\%}"),
    ("72", "\\boxed{72\\text{ }}"),
    ("72", "\\boxed{144/2}"),
    ("72", "\\boxed{\\frac{144}{2}}"),
    ("72", "\\fbox{72}"),
    ("72", "\\boxed {72}"),
    ("7", "\\boxed 7"),
    ("7", "first \\boxed{8}, no: \\boxed{7}"),
    ("7", "\\boxed{\\boxed{7}}"),
    ("1000", "\\boxed{1,000}"),
    ("1000000", "\\boxed{1{,}000{,}000}"),
    ("0.5", "\\boxed{1/2}"),
    ("0.5", "\\boxed{.5}"),
    ("\\frac{1}{2}", "\\boxed{0.5}"),
    ("\\frac{1}{2}", "\\boxed{\\dfrac{1}{2}}"),
    ("\\frac{1}{2}", "\\boxed{\\frac12}"),
    ("\\frac{1}{2}", "\\boxed{\\tfrac{2}{4}}"),
    ("-\\frac{3}{4}", "\\boxed{-0.75}"),
    ("-\\frac{3}{4}", "\\boxed{\\frac{-3}{4}}"),
    ("90^\\circ", "\\boxed{90}"),
    ("90", "\\boxed{90^{\\circ}}"),
    ("\\text{Evelyn}", "\\boxed{Evelyn}"),
    ("Evelyn", "\\boxed{\\text{Evelyn}}"),
    ("x^2+2x+1", "\\boxed{(x+1)^2}"),
    ("x^2+2x+1", "\\boxed{1 + 2x + x^{2}}"),
    ("2\\sqrt{3}", "\\boxed{\\sqrt{12}}"),
    ("\\sqrt{2}/2", "\\boxed{\\frac{1}{\\sqrt{2}}}"),
    ("(3,4)", "\\boxed{(3, 4)}"),
    ("(3, \\frac{\\pi}{2})", "\\boxed{\\left( 3, \\frac{\\pi}{2} \\right)}"),
    ("[0,1)", "\\boxed{[0, 1)}"),
    ("\\{1,2,3\\}", "\\boxed{\\{3, 2, 1\\}}"),
    ("11\\sqrt2", "\\boxed{11\\sqrt{2}}"),
    ("3\\pi", "\\boxed{ 3 \\pi }"),
    ("p - q", "\\boxed{p-q}"),
    ("1+2i", "\\boxed{2i+1}"),
    ("2^{10}", "\\boxed{1024}"),
    ("204", "long $$x=3$$ working \\boxed{204}$ and more text afterwards"),
    ("5", "\\boxed{x=5}"),
    ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\boxed{\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}}"),
]

WRONG = [
    ("72", "\\boxed{73}", "73"),
    ("72", "\\boxed{-72}", "-72"),
    ("72", "\\boxed{7.2}", "7.2"),
    ("72", "\\boxed{72}, or rather \\boxed{27}", "27"),
    ("72", "\\boxed{72 or 73}", "72 or 73"),
    ("72", "\\boxed{seventy two}", "seventy two"),
    ("0.3333", "\\boxed{\\frac{1}{3}}", "\\frac{1}{3}"),
    ("x+1", "\\boxed{x-1}", "x-1"),
    ("(3,4)", "\\boxed{(4,3)}", "(4,3)"),
    ("[0,1)", "\\boxed{[0,1]}", "[0,1]"),
    ("1", "\\boxed{1/0}", "1/0"),
    ("1", "\\boxed{\\frac{1}{0}}", "\\frac{1}{0}"),
    ("72", "\\boxed{?}", "?"),
    ("72", "\\boxed{\\{72}", "\\{72"),
    ("72", "\\boxed{\\frac{}{}}", "\\frac{}{}"),
    ("72", "\\boxed{__import__('os').getpid()}", "__import__('os').getpid()"),
    ("72", "\\boxed{９^{９}}", "９^{９}"),
    ("72", "\\boxed{9^{9^{9^{9}}}}", "9^{9^{9^{9}}}"),
    ("72", "\\boxed{10^{99999999}}", "10^{99999999}"),
]

NO_ANSWER = [
    "", "72", "The answer is 72.", "#### 72", "boxed{72}", "\\boxed{}", "\\boxed{72", "\\boxed{7} then \\boxed{72",
    "\\boxed", "\\boxedx{72}", "$72$", "\\box{72}",
]  # fmt: skip


@pytest.mark.parametrize(("gold", "response"), RIGHT)
def test_an_answer_that_means_the_same_is_right(gold: str, response: str) -> None:
    result = compute_score("math500", response, gold)
    assert (result["score"], result["acc"]) == (1.0, 1.0)
    assert result["pred"] != ""


@pytest.mark.parametrize(("gold", "response", "pred"), WRONG)
def test_another_answer_is_wrong_and_kept(gold: str, response: str, pred: str) -> None:
    assert compute_score("math500", response, gold) == {"score": 0.0, "acc": 0.0, "pred": pred}


@pytest.mark.parametrize("response", NO_ANSWER)
def test_without_a_closed_box_there_is_no_answer(response: str) -> None:
    assert compute_score("math500", response, "72") == {"score": 0.0, "acc": 0.0, "pred": ""}


@pytest.mark.parametrize(
    "gold", ["72", "\\frac{3}{4}", "x^2", "(1,2)", "\\sqrt{5}", "\\text{blue}", "1,234", "10^{-3}"]
)
def test_a_gold_answer_in_a_box_is_right(gold: str) -> None:
    assert compute_score("math500", f"\\boxed{{{gold}}}", gold)["score"] == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", Fraction(12)), ("-1.25", Fraction(-5, 4)), (".5", Fraction(1, 2)), ("3/12", Fraction(1, 4)),
        ("\\frac{3}{12}", Fraction(1, 4)), ("-\\frac34", Fraction(-3, 4)), ("1/0", None), ("x", None), ("1e3", None),
        ("", None), ("1" * 61, None), ("٣", None),
    ],
)  # fmt: skip
def test_plain_numbers_are_read_exactly(text: str, number: Fraction | None) -> None:
    assert as_number(text) == number


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1,234", "1234"), ("12,34", "12,34"), ("\\text{Red}", "red"), ("\\dfrac{1}{2}", "\\frac{1}{2}"),
        ("\\left(1,\\,2\\right)", "(1,2)"), ("\\leftarrow", "\\leftarrow"), ("45^\\circ", "45"), ("5.", "5"),
    ],
)  # fmt: skip
def test_cosmetic_differences_vanish(text: str, plain: str) -> None:
    assert normalize(text) == plain
