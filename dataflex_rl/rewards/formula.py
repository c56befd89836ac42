"""A formula in LaTeX as a sympy object, read as a whole and exactly, or not at all.

The grammar is latex2sympy2_extended's, the one math-verify reads with. Around it stands what it would get wrong: it
reads decimals as floats (here: as rationals), drops primes, takes `2 3` for 5, drops `\\circ`, takes small and capital
letters for the same, and a derivative of a letter for 0 once it is evaluated. What math-verify does before (dropping
units and text, falling back to the last fraction or the last equation that it can read) is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from latex2sympy2_extended import latex2sympy2
from sympy import (
    Basic,
    Derivative,
    I,
    MatrixBase,
    MatrixExpr,
    Rational,
    Symbol,
    Tuple,
    UnevaluatedExpr,
)
from sympy.core.function import AppliedUndef

_CONFIG = latex2sympy2.ConversionConfig(lowercase_symbols=False)
_UNREADABLE = re.compile(
    r"\d[\s~]+\d|\d\\(?:[,;: ]|q?quad)\s*\d|\.\d+\."  # numbers side by side
    r"|\\vec\s*\{?\w\}?\s*\\times"  # the grammar takes this product for the usual one
    r"|\\(?:text|mathrm|mbox|operatorname)\s*\{[^{}]*\d"
    r"|(?:^|[(,={])\s*[+-]?\s*0+(?:\.0*)?\s*[A-Za-z]"  # `0x1f` and `q0` are not 0
    r"|(?<![A-Za-z\\])[A-Za-z]+\s*0+(?:\.0*)?(?![\d.])"
    r"|(?<![A-Za-z\\])(?:not|no|is|isn|or|and|but|if|than|maybe|never|wrong)(?![A-Za-z])"
    r"|\[\s*-\s*\\infty|\\infty\s*\]"  # no interval has an infinite end
    r"|[\d)}\]]\s*_"  # the grammar drops a number's subscript
    r"|(?<![A-Za-z\\])[A-DF-Za-df-z]\s*\^\s*\{\s*\(\s*(?:\d+|[a-z]+)\s*\)\s*\}"  # `y^{(4)}` is no power
    r"|(?<![A-Za-z\\])[fghFGH]\s*\^\s*(?:\{\s*-1\s*\}|-1)\s*\("  # nor is an inverse function
    r"|[?']"
)
_PERCENT = re.compile(r"\\?%")
_TRANSPOSE = re.compile(r"\^\s*(?:\{\s*(?:T|\\top)\s*\}|T(?![A-Za-z])|\\top)")
_COMMA = re.compile(r"\s*,\s*")
_INFINITE = re.compile(r"\+\s*\\infty")


class _Exact(latex2sympy2._Latex2Sympy):  # type: ignore[misc]
    """The grammar's converter, with decimals as the rationals that they are."""

    def parse_number(self, text: str) -> Rational:
        return Rational(text.replace(",", ""))


@lru_cache(maxsize=4096)
def read(text: str) -> Basic | MatrixBase | None:
    """Return the formula, None if the text is not one from beginning to end."""
    if _UNREADABLE.search(text):
        return None
    text = _PERCENT.sub(r"\\cdot\\frac{1}{100}", _INFINITE.sub(r"\\infty", text))
    text = _COMMA.sub(" , ", _TRANSPOSE.sub("_{transposed}", text))  # else `(1,234)` is one number
    try:
        made = _Exact(None, False, False, config=_CONFIG).parse(text)
        return _plain(made)
    except Exception:  # noqa: BLE001 - the grammar and its conversion raise bare Exceptions, and every other kind
        return None


def _plain(made: Any) -> Basic | MatrixBase | None:
    """Return a formula whose unknowns are all symbols and in which nothing is left to be evaluated."""
    if isinstance(made, MatrixExpr):
        made = made.doit()
    if isinstance(made, MatrixBase):
        return made.applyfunc(_plain)
    if not isinstance(made, Basic):
        return None
    made = made.replace(lambda part: isinstance(part, UnevaluatedExpr), lambda part: part.args[0])
    made = made.replace(lambda part: isinstance(part, Derivative), _derivative)
    made = made.replace(lambda part: isinstance(part, AppliedUndef), lambda part: Symbol(str(part)))
    return made.xreplace({sign: I for sign in made.free_symbols if str(sign) == "i" and not _is_index(made, sign)})


def _derivative(part: Derivative) -> Basic:
    """Return an explicit derivative's value; one of an unknown function is an unknown itself."""
    inner, variables = part.expr, part.variables
    known = not inner.atoms(AppliedUndef) and inner.free_symbols <= set(variables)
    return part.doit() if known and inner.free_symbols else Symbol(str(part))


def _is_index(made: Basic, sign: Symbol) -> bool:
    """Return whether a symbol counts the terms of a sum or product."""
    return any(isinstance(part, Tuple) and part.args[:1] == (sign,) for part in made.atoms(Tuple))
