"""Science of `text3`: facts of the periodic table as four-option questions, from periodictable, at five levels.

| level | kind       | asks for                                                     |
|-------|------------|--------------------------------------------------------------|
| 1     | symbols    | the symbol of an element, or the element of a symbol          |
| 2     | numbers    | the atomic number of an element, or the element of a number   |
| 3     | isotopes   | the number of neutrons in a nucleus of a natural isotope      |
| 4     | molar_mass | the molar mass of a compound of two elements                  |
| 5     | molar_mass | the molar mass of a compound of three or four elements        |
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from dataflex_rl.data.tasks.generated import Problem
from dataflex_rl.data.tasks.options import with_options

KINDS = {1: "symbols", 2: "numbers", 3: "isotopes", 4: "molar_mass", 5: "molar_mass"}
LEVELS = tuple(KINDS)
_LIGHT = 56  # compounds are made of elements up to here
_NOBLE = (2, 10, 18, 36, 54)


@cache
def elements() -> tuple[Any, ...]:
    """Return the elements 1 to 118 of periodictable."""
    import periodictable

    return tuple(element for element in periodictable.elements if element.number > 0)


def problems(level: int, *, seed: int) -> Iterator[Problem]:
    """Yield problems of a level without end; the same seed yields the same ones."""
    rng = random.Random(f"text_science:{seed}:{level}")
    make = _MAKERS[level]
    while True:
        stem, right, wrong = make(rng)
        key = f"{stem}:{right}:{sorted(wrong)}"
        question, gold = with_options(stem, right, wrong, key=key)
        yield Problem(kind=KINDS[level], level=level, question=question, gold=gold, body=stem)


def _others(rng: random.Random, element: Any, count: int = 3) -> list[Any]:
    """Return other elements, mostly near in the table."""
    near = [other for other in elements() if other is not element and abs(other.number - element.number) <= 8]
    return rng.sample(near, count)


def _symbols(rng: random.Random) -> tuple[str, str, list[str]]:
    element = rng.choice(elements())
    others = _others(rng, element)
    if rng.random() < 0.5:
        return f"What is the chemical symbol of {element.name}?", element.symbol, [other.symbol for other in others]
    return f"Which element has the symbol {element.symbol}?", element.name, [other.name for other in others]


def _numbers(rng: random.Random) -> tuple[str, str, list[str]]:
    element = rng.choice(elements())
    others = _others(rng, element)
    if rng.random() < 0.5:
        wrong = [str(other.number) for other in others]
        return f"What is the atomic number of {element.name}?", str(element.number), wrong
    return f"Which element has the atomic number {element.number}?", element.name, [other.name for other in others]


def _isotopes(rng: random.Random) -> tuple[str, str, list[str]]:
    while True:
        element = rng.choice(elements()[:92])
        natural = [mass for mass in element.isotopes if element[mass].abundance > 0]
        if natural:
            break
    mass = rng.choice(natural)
    right = mass - element.number
    stem = f"How many neutrons are in a nucleus of {element.name}-{mass}?"
    candidates = {element.number, mass, right + 1, right + 2, abs(right - 1), right + 4} - {right}
    return stem, str(right), [str(number) for number in rng.sample(sorted(candidates), 3)]


def _compound(rng: random.Random, kinds: int) -> tuple[str, str, list[str]]:
    import periodictable

    usable = [element for element in elements()[:_LIGHT] if element.number not in _NOBLE]
    chosen = sorted(rng.sample(usable, kinds), key=lambda element: str(element.symbol))
    counts = [rng.randint(1, 4) for _ in chosen]
    name = "".join(f"{e.symbol}{n if n > 1 else ''}" for e, n in zip(chosen, counts, strict=True))
    right = round(float(periodictable.formula(name).mass))
    numbers = {element.number * n for element, n in zip(chosen, counts, strict=True)}
    candidates = {right + 1, right + 2, right + 8, right + 16, right - 10, right - 3, sum(numbers)}
    candidates = {number for number in candidates if number > 0} - {right}
    stem = f"What is the molar mass of {name}, to the nearest gram per mole?"
    return stem, str(right), [str(number) for number in rng.sample(sorted(candidates), 3)]


_MAKERS: dict[int, Callable[[random.Random], tuple[str, str, list[str]]]] = {
    1: _symbols,
    2: _numbers,
    3: _isotopes,
    4: lambda rng: _compound(rng, 2),
    5: lambda rng: _compound(rng, rng.choice((3, 4))),
}
