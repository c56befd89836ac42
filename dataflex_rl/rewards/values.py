"""Whether the value of a formula is 0: exactly where it is exact, else to as many digits as its own numbers ask for.

A formula with unknowns is 0 if it is at points drawn for the purpose, of either sign. A rational value is compared with
0 exactly. Any other is evaluated until its first digits are certain, or until it is 0 to 105 digits and four times
those that the formula itself writes, in which case it is 0.

Source: Schwartz 1980, Zippel 1979 (identity at random points); Burnikel et al. 2001 (zero bound for radicals).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from sympy import Expr, Pow, Rational, Symbol, nan, oo, zoo
from sympy.core.evalf import evalf

_ZERO_BITS = 350  # a difference that vanishes to so many bits is 0, for formulas of small numbers
_CERTAIN_BITS = 20  # accurate bits of a difference that is certainly not 0
_POINTS = 4  # where a difference must vanish
_TRIES = 12
_BELOW = (83, 89, 97, 101)  # denominators


def is_zero(difference: Expr) -> bool:
    """Return whether an expression is 0 for all values of its symbols."""
    difference = difference.doit()
    if difference == 0:
        return True
    if not difference.free_symbols:
        return _vanishes(difference) is True
    hits = 0
    for point in points(difference.free_symbols):
        vanishes = _vanishes(difference.xreplace(point).doit())
        if vanishes is False:
            return False
        hits += vanishes is True
        if hits == _POINTS:
            return True
    return False


def points(symbols: set[Symbol]) -> Iterator[dict[Symbol, Rational]]:
    """Yield points: all coordinates positive, all negative, then of either sign; the same for the same symbols."""
    ordered = sorted(symbols, key=str)
    rng = random.Random(",".join(map(str, ordered)))
    for place in range(_TRIES):
        signs = ((1,), (-1,))[place] if place < 2 else (1, -1)
        yield {
            one: Rational(rng.choice(signs) * rng.randint(2, 9999), rng.choice((97, 89, 83, 101))) for one in ordered
        }


def _vanishes(value: Expr) -> bool | None:
    """Return whether a constant is 0, None if it is no finite number."""
    if value.has(nan, zoo, oo, -oo):
        return None
    if value.is_Rational:
        return bool(value == 0)
    try:
        real, imaginary, real_bits, imaginary_bits = evalf(
            value, _CERTAIN_BITS, {"maxprec": _ZERO_BITS + 4 * _written(value)}
        )
    except NotImplementedError:  # sympy has no method to evaluate it
        return None
    parts = ((real, real_bits), (imaginary, imaginary_bits))
    return not any(part is not None and bits and bits >= _CERTAIN_BITS - 4 for part, bits in parts)


def _written(value: Expr) -> int:
    """Return how many bits the numbers of a formula have, those of a power counted as often as its exponent says."""
    bits = sum(int(one.p).bit_length() + int(one.q).bit_length() for one in value.atoms(Rational))
    powers = [abs(int(one.exp)) for one in value.atoms(Pow) if one.exp.is_Integer]
    return bits * max([1, *powers])
