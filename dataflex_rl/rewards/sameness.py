"""Whether two formulas are the same: values exactly, relations as solution sets or as sides, sets part by part.

- values: their difference is 0 (see values)
- equations: the same zero set over the complex numbers (for polynomials: the same squarefree part). An equation that is
  always or never true has no content to compare and equals only the one with the same sides.
- inequalities: the same sides, turned or scaled by a positive constant, or the same set of reals in one unknown;
  such a set may also be written as intervals.

Departs: math-verify takes numbers within 1e-15 (relative) or 6 decimals for equal, and an equation without content or
without real solutions for equal to any other such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from latex2sympy2_extended.logic import And
from sympy import (
    QQ,
    CoercionFailed,
    Complement,
    Eq,
    Expr,
    FiniteSet,
    Ge,
    Gt,
    Intersection,
    Interval,
    Le,
    Lt,
    MatrixBase,
    Ne,
    Poly,
    PolynomialError,
    Rational,
    S,
    Set,
    Symbol,
    Tuple,
    Union,
    fraction,
    oo,
    together,
)
from sympy.core.relational import Relational

from dataflex_rl.rewards.formula import read
from dataflex_rl.rewards.values import is_zero, points

_TURNED = {Gt: Lt, Ge: Le}


def same(gold: str, pred: str) -> bool:
    """Return whether two formulas mean the same; False if one is none."""
    one, other = read(gold), read(pred)
    return one is not None and other is not None and _same(*_in_one_case(one, other))


def _in_one_case(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two formulas with small letters, where neither has the same letter in both cases."""
    symbols = one.free_symbols, other.free_symbols
    if symbols[0] == symbols[1] or any(len({str(sign).casefold() for sign in side}) < len(side) for side in symbols):
        return one, other
    small = {sign: Symbol(str(sign).casefold()) for side in symbols for sign in side}
    return one.xreplace(small), other.xreplace(small)


def near(exact: str, shown: str, tolerance: Rational) -> bool:
    """Return whether two constants differ by no more than a tolerance."""
    one, other = read(exact), read(shown)
    if not (isinstance(one, Expr) and isinstance(other, Expr)) or one.free_symbols or other.free_symbols:
        return False
    distance = abs((one - other).doit())
    return is_zero(distance) or bool(distance.is_finite and (distance - tolerance).evalf(30) <= 0)


def same_union(gold: Sequence[str], pred: Sequence[str]) -> bool:
    """Return whether the sets that two lists of relations or sets make together are the same."""
    sides = []
    for texts in (gold, pred):
        sets = [_as_set(read(text)) for text in texts]
        if any(one is None for one in sets):
            return False
        sides.append(Union(*sets))
    return _same_set(sides[0], sides[1])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, MatrixBase) or isinstance(other, MatrixBase):
        return (
            isinstance(one, MatrixBase)
            and isinstance(other, MatrixBase)
            and one.shape == other.shape
            and all(map(_same, one.flat(), other.flat()))
        )
    if isinstance(one, Set) or isinstance(other, Set):
        left, right = _as_set(one), _as_set(other)
        return left is not None and right is not None and _same_set(left, right)
    links, others = _links(one), _links(other)
    if links and others:
        return _same_relation(links, others)
    if isinstance(one, Expr) and isinstance(other, Expr):
        return is_zero(one - other)
    return bool(isinstance(one, Tuple) and one == other)


class _Link(NamedTuple):
    left: Any
    kind: type
    right: Any


def _links(made: Any) -> list[_Link]:
    """Return the relations of a chain, with > and >= turned into < and <=; [] for anything else."""
    parts = made._unsorted_args if isinstance(made, And) else (made,)
    if not all(isinstance(part, Relational) for part in parts):
        return []
    return [
        _Link(part.rhs, _TURNED[part.func], part.lhs) if part.func in _TURNED else _Link(part.lhs, part.func, part.rhs)
        for part in parts
    ]


def _same_relation(one: list[_Link], other: list[_Link]) -> bool:
    kinds = {link.kind for link in (*one, *other)}
    if kinds == {Eq} and max(len(one), len(other)) > 1:
        return _same_items(_sides(one), _sides(other))
    if len(one) == len(other) and _same_items(one, other, _same_link):
        return True
    if kinds == {Eq} or _unknowns(one) != _unknowns(other):
        return False
    left, right = _solved(one), _solved(other)
    return left is not None and right is not None and _same_set(left, right)


def _same_link(one: _Link, other: _Link) -> bool:
    if one.kind is not other.kind:
        return False
    if _same(one.left, other.left) and _same(one.right, other.right):
        return True
    if not all(isinstance(side, Expr) for side in (one.left, one.right, other.left, other.right)):
        return False
    if one.kind in (Eq, Ne):
        if _same(one.left, other.right) and _same(one.right, other.left):
            return True
        return _same_zeros(one.left - one.right, other.left - other.right)
    return _proportional(one.left - one.right, other.left - other.right, positive=True)


def _same_zeros(one: Expr, other: Expr) -> bool:
    """Return whether two expressions have the same zeros, and not all or no values at all."""
    one, other = (fraction(together(side.doit()))[0] for side in (one, other))
    if one.free_symbols != other.free_symbols:
        return False
    return _proportional(_squarefree(one), _squarefree(other))


def _squarefree(numerator: Expr) -> Expr:
    symbols = sorted(numerator.free_symbols, key=str)
    try:
        return Poly(numerator, *symbols, domain=QQ).sqf_part().as_expr() if symbols else numerator
    except (PolynomialError, CoercionFailed):  # no polynomial over the rationals
        return numerator


def _proportional(one: Expr, other: Expr, *, positive: bool = False) -> bool:
    """Return whether one expression is a constant times the other, neither of them being a constant."""
    symbols = one.free_symbols
    if symbols != other.free_symbols or not symbols:
        return False
    again = {sign: Symbol(f"{sign} again") for sign in symbols}
    moved, moved_other = one.xreplace(again), other.xreplace(again)
    if is_zero(one - moved) or is_zero(other - moved_other) or not is_zero(one * moved_other - moved * other):
        return False
    return not positive or _same_sign(one, other)


def _same_sign(one: Expr, other: Expr) -> bool:
    for point in points(one.free_symbols):
        ratio = (one.xreplace(point) / other.xreplace(point)).doit()
        if ratio.is_positive or ratio.is_negative:
            return bool(ratio.is_positive)
    return False


def _sides(links: list[_Link]) -> list[Any]:
    return [links[0].left, *(link.right for link in links)]


def _unknowns(links: list[_Link]) -> set[Symbol]:
    return {sign for side in _sides(links) for sign in getattr(side, "free_symbols", ())}


def _as_set(made: Any) -> Set | None:
    """Return a set, or the set of reals that relations in one unknown describe; None where there is none."""
    if isinstance(made, FiniteSet):
        return FiniteSet(*made.args)
    if isinstance(made, Union | Intersection | Complement):
        return made.func(*map(_as_set, made.args))
    if isinstance(made, Set):
        return Interval(-oo, oo) if made == S.Reals else made
    return _solved(_links(made))


def _solved(links: list[_Link]) -> Set | None:
    symbols = _unknowns(links) if links else set()
    if len(symbols) != 1:
        return None
    unknown = Symbol("unknown", real=True)
    found: Set = S.Reals
    for link in links:
        left, right = (side.xreplace(dict.fromkeys(symbols, unknown)) for side in (link.left, link.right))
        try:
            found = Intersection(found, link.kind(left, right).as_set())
        except (NotImplementedError, AttributeError):  # no method to solve it, or a statement without its unknown
            return None
    return None if found in (S.Reals, S.EmptySet) else found  # always or never true: no content


def _same_set(one: Set, other: Set) -> bool:
    if one == other:
        return True
    ours, theirs = (list(side.args) if isinstance(side, Union) else [side] for side in (one, other))
    return _same_items(ours, theirs, _same_piece)


def _same_piece(one: Set, other: Set) -> bool:
    if isinstance(one, Interval) and isinstance(other, Interval):
        ends = (one.left_open, one.right_open) == (other.left_open, other.right_open)
        return ends and _same_end(one.start, other.start) and _same_end(one.end, other.end)
    if isinstance(one, FiniteSet) and isinstance(other, FiniteSet):
        return _same_items(list(one.args), list(other.args))
    return bool(one == other)


def _same_end(one: Expr, other: Expr) -> bool:
    return bool(one == other) or is_zero(one - other)


def _same_items(one: Sequence[Any], other: Sequence[Any], equal: Callable[[Any, Any], bool] = _same) -> bool:
    """Return whether two lists have the same items in some order."""
    left = list(other)
    for item in one:
        found = next((place for place, candidate in enumerate(left) if equal(item, candidate)), None)
        if found is None:
            return False
        del left[found]
    return not left
