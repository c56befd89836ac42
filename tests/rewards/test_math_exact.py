"""Answers of mathematics that a policy could pass off as right: equations without content, near numbers, units."""

from __future__ import annotations

import pytest

from dataflex_rl.rewards.math import compute_score, is_equal

NOT_EQUAL = [  # gold, boxed
    # an equation that is always or never true has no content
    ("e=\\frac12", "a=a+5"), ("e=\\frac12", "0=1"), ("e=\\frac12", "e=\\frac13"), ("e=\\frac{1}{2}", "1=1"),
    ("x^2+1=0", "x^2+2=0"), ("x^2+1=0", "a=a+5"), ("x^2+1=0", "y^2+1=0"), ("x=x", "y=5"), ("0=1", "0=2"),
    ("y=2x+1", "y=y"), ("x=5", "x=x"), ("x=5", "0=0"), ("k=k+1", "m=m+1"), ("x^2=-4", "x^4=-7"),
    ("\\sin x=2", "\\cos x=3"),
    ("x>1", "1>0"), ("x>1", "x>x"), ("x\\ne 2", "0\\ne 1"), ("x=2", "x^2=4"), ("x=2", "x^2-3x+2=0"), ("xy=1", "x=1"),
    # integers and rationals are compared exactly, others until a digit tells
    ("2^{1009}", "2^{1009}+1"), ("3^{100}-1", "3^{100}-2"), ("10^{60}", "10^{60}+1"),
    ("\\frac{1}{3^{99}}", "\\frac{1}{3^{98}}"),
    ("100!", "100!+1"), ("\\frac{2^{200}}{3}", "\\frac{2^{200}+1}{3}"), ("2^{1009}", "\\sqrt{2^{2018}+1}"),
    ("\\sqrt{2}\\cdot 10^{50}", "\\sqrt{2}\\cdot 10^{50}+1"), ("x+2^{300}", "x+2^{300}+1"),
    ("\\pi", "\\frac{355}{113}"),
    ("\\pi", "3.14159265358979323846264338327950288419716939937510"), ("e^{\\pi\\sqrt{163}}", "262537412640768744"),
    ("0", "e^{-300}"), ("0.1", "0.1000000001"), ("\\sqrt2", "1.4142135623730950488"),
    ("10^{100}", "10^{100}-10^{20}"),
    # a letter is an unknown, not a unit
    ("3", "3m"), ("3m", "3"), ("2n+3", "2n+3m"), ("2n+3m", "2n+3"), ("5 m", "5 km"), ("5 km", "5 m"), ("5", "5g"),
    ("7", "7h"),
    ("4", "4s"), ("3", "3L"), ("x+1", "x+1 t"), ("5\\text{ km}", "5\\text{ m}"), ("5\\text{ m}", "5\\text{ m}^2"),
    ("5\\text{ cm}^2", "5\\text{ cm}^3"), ("2a", "2"), ("2", "2 d"), ("\\frac{h}{2}", "\\frac{1}{2}"),
    ("5\\text{ m/s}", "5\\text{ km/h}"),
    # nothing is accepted that was not read as a whole
    ("\\frac13", "\\frac12\\vee\\frac13"), ("\\frac13", "\\frac12\\lor\\frac13"), ("\\frac13", "\\frac12;\\frac13"),
    ("3", "2 ? 3"),
    ("\\frac13", "\\frac12 \\& \\frac13"), ("\\frac13", "\\frac12 \\to \\frac13"),
    ("\\frac13", "\\frac12 \\| \\frac13"),
    ("5", "4 \\Rightarrow 5"), ("5", "= 5 = 6"), ("x+1", "x+2 \\neg x+1"), ("5", "4 @ 5"), ("x=5", "x=4\\lor x=5"),
    ("5", "2 3"),
    # derivatives and primes
    ("m\\frac{dv}{dt}+bv=f", "bv=f"), ("y''+4y=0", "y+4y=0"), ("y''+4y=0", "y'+4y=0"), ("y''+4y=0", "4y=0"),
    ("f'(x)", "f(x)"),
    ("\\frac{dy}{dx}", "0"), ("\\frac{\\partial u}{\\partial t}+u", "u"), ("\\dot{x}+x=0", "x=0"), ("y'=y", "y''=y"),
    ("\\frac{d^2x}{dt^2}=-x", "0=-x"), ("x^{\\prime}", "x"), ("\\ddot{x}=1", "\\dot{x}=1"),
    ("x^4", "x^{(4)}"), ("f^{-1}(x)", "\\frac{1}{f(x)}"), ("\\frac{d^2y}{dx^2}+y=0", "y=0"), ("v'+v=1", "v=1"),
    # signs that a grammar would drop
    ("5", "5_x"), ("5", "5^{1}_{2}"), ("0", "0x1f"), ("0", "0q"), ("5^\\circ", "5'"), ("5\\%", "5^\\circ"),
    ("(-\\infty,7)", "[-\\infty,7)"), ("x^2<0", "x^2<-1"), ("\\frac13", "\\frac13\\approx\\frac12"),
    ("0.5", "0.5\\approx\\frac13"), ("\\sqrt2", "\\sqrt2\\approx 2"), ("x=3", "x=3=4"), ("3", "3=4"), ("2", "\\ge 2"),
    # a second answer, in a text or not
    ("12", "12\\text{ or 15}"), ("12", "12\\text{ (or 15)}"), ("12", "12\\text{ and 15}"),
    ("12", "12\\text{ maybe 15}"), ("12", "12\\text{, 15}"),
    ("12", "12\\text{ to 15}"), ("12", "12 \\mathrm{or} 15"), ("12", "12\\text{ or }15"), ("12", "\\text{12 or 15}"),
    ("12", "12 / 15"),
    ("12", "12\\text{ but not 15}"), ("12", "12\\text{ or fifteen}"), ("12", "12 \\text{if} x>0"),
    # a word after a number that changes it is no unit
    ("12", "12\\text{ thousands}"), ("12", "12\\text{ dozens}"), ("12", "12 millions"), ("12", "12\\text{ tenths}"),
    ("12", "12\\text{ halves}"), ("12", "12\\text{ third}"), ("12", "12\\text{ thirteen}"),
    ("12", "12\\text{ point five}"),
    ("12", "12\\text{k}"), ("12", "12\\text{x}"), ("12", "12\\text{ lambda}"), ("12", "12\\text{ ln x}"),
    ("12", "12\\text{ roughly}"), ("12", "12\\text{ approximately}"), ("12", "12\\text{ through fifteen}"),
    ("12", "12\\text{ alternatively more}"), ("12", "12\\text{ inverse}"), ("12", "12\\,\\text{k}"),
    ("12", "12\\text{, 15}"),
    # what a text denies names nothing, nor does a logarithm's base end elsewhere
    ("5", "\\text{not} = 5"), ("5", "\\text{less than} = 5"), ("f(2)=10", "f(3)=10"), ("\\log_2 3", "\\log_3 2"),
    ("\\log_{10} 3", "\\log_1 03"), ("\\log_2 8", "\\log 28"), ("(-\\infty,5)", "\\mathbb{R}"), ("1,2", "\\mathbb{R}"),
    # sides, directions, order
    ("AB=4, CD=5", "5,4"), ("4,5", "AB=5, CD=4"), ("(-2,3)", "-2\\le x<3"), ("(-2,3)", "-2<x\\text{ or }x<3"),
    ("x<1", "x\\le 1"),
    ("(1,2)", "x=2, y=1"), ("\\frac{\\sqrt3}{3}", "\\frac{\\sqrt3}{3}\\approx 0.677"), ("2", "\\pm 2"),
    ("\\pm 2", "2"), ("0.3", "\\frac13"),
    ("0.\\overline{3}", "0.3"), ("0.1\\overline{6}", "0.\\overline{16}"), ("\\emptyset", "0"), ("2", "2000\\%"),
    ("12", "1\\,2"), ("dog", "god"),
    ("x_1+x_2", "x_1+x_3"), ("x^2", "x_2"), ("|x|", "x"), ("a+A", "2a"), ("(a,b)", "(b,a)"), ("3:4", "4:3"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "boxed"), NOT_EQUAL)
def test_another_answer_is_wrong(gold: str, boxed: str) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 0.0


LIKE = [  # what the same kinds of answers are equal to
    ("e=\\frac12", "e=0.5"), ("e=\\frac12", "\\frac12=e"), ("a=a+5", "a=5+a"), ("0=1", "1=0"), ("x^2+1=0", "x^2=-1"),
    ("x^2+1=0", "2x^2+2=0"),
    ("2^{1009}", "2\\cdot 2^{1008}"), ("3^{100}-1", "(3^{50}-1)(3^{50}+1)"), ("3m", "3\\cdot m"), ("2n+3m", "3m+2n"),
    ("5 km", "5\\text{ km}"),
    ("5\\text{ m}", "5\\text{ m}"), ("15\\text{ cm}^2", "15 cm^2"), ("m\\frac{dv}{dt}+bv=f", "f=bv+m\\frac{dv}{dt}"),
    ("y''+4y=0", "y''=-4y"),
    ("\\frac{d}{dx}(x^2)", "2x"), ("y=2x+1", "2x-y+1=0"), ("x=2", "2x=4"), ("xy=1", "y=\\frac1x"),
    ("x^2=4", "(x-2)(x+2)=0"), ("x^2=4", "x^2-4=0"),
    ("\\frac{x^2}{4}+\\frac{y^2}{9}=1", "9x^2+4y^2=36"), ("(x-1)^2=0", "x=1"), ("x\\ne 3", "3\\ne x"),
    ("x\\le 5", "5\\ge x"), ("x<1", "-x>-1"),
    ("\\sqrt{3+2\\sqrt2}", "1+\\sqrt2"), ("\\frac{1}{2-\\sqrt3}", "2+\\sqrt3"),
    ("\\cos\\frac{\\pi}{5}", "\\frac{1+\\sqrt5}{4}"), ("\\ln 6", "\\ln 2+\\ln 3"),
    ("\\tan^2 y+1", "\\sec^2 y"), ("a=b=c", "c=b=a"), ("f(2)<f(1)", "f(1)>f(2)"), ("x = 11", "x = 5+6 = 11"),
    ("x+1", "X+1"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "boxed"), LIKE)
def test_the_same_answer_is_right(gold: str, boxed: str) -> None:
    assert compute_score("math500", f"\\boxed{{{boxed}}}", gold)["score"] == 1.0


def test_an_equation_without_content_equals_no_gold_answer_that_has_some() -> None:
    empty = ["a=a+5", "0=1", "1=1", "x=x", "x^2+1=x^2", "0\\cdot x=0", "k=k-1", "2=3", "x-x=5"]
    golds = ["e=\\frac12", "x=5", "y=2x+1", "x^2+y^2=1", "\\pi=C", "i=5", "x^2+3=0", "a=1", "x=k", "y=0", "f=ma"]
    assert [(gold, pred) for gold in golds for pred in empty if is_equal(gold, pred)] == []
