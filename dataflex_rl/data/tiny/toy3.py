"""The task `toy3`: short problems of three domains, each right with a probability that its level sets.

A prompt reads `<domain letter><level>:<body>`. A body names an operation and has independent columns, so a tiny model
can solve bodies that it never saw. The untrained model knows every operation but confuses each with one other: the
level tells how often it takes the right one. The first column always tells the two apart.

| domain  | body       | operations, each with the one it is confused with                                         |
|---------|------------|-------------------------------------------------------------------------------------------|
| math    | `314+123`  | per digit: `+` and `-` (no carry, no borrow), `^` larger and `_` smaller                   |
| logic   | `TFT&FFT`  | per bit: `&` and, `|` or; `>` implies, `<` is implied by                                   |
| science | `b.CHON`   | per atom: `b` bonds, taken for `z` atomic number, taken for `v` valence electrons, for `b` |
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass

VERSION = 2  # raise it with any change of the problems: caches are keyed by it
DOMAINS = ("math", "logic", "science")
LEVELS = tuple(range(1, 9))
MAX_ANSWER = 5  # characters of the longest answer, end of sequence not counted

# Probability that the untrained model takes the right operation, at the first and the last level; linear between.
_RANGE = {"math": (0.98, 0.15), "logic": (0.96, 0.15), "science": (0.90, 0.10)}
_MAX_DIGIT = 4  # two of them never carry
_HELD_OUT_SHARE = 5  # one body in five is kept for validation

_DIGIT_RULES: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "^": max,
    "_": min,
}
_BIT_RULES: dict[str, Callable[[bool, bool], bool]] = {
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    ">": lambda a, b: b or not a,
    "<": lambda a, b: a or not b,
}
_ATOM_TABLES = {
    "b": {"H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1},
    "z": {"H": 1, "B": 5, "C": 6, "N": 7, "O": 8, "F": 9},
    "v": {"H": 1, "B": 3, "C": 4, "N": 5, "O": 6, "F": 7},
}
_TAKEN_FOR = {
    "+": "-",
    "-": "+",
    "^": "_",
    "_": "^",
    "&": "|",
    "|": "&",
    ">": "<",
    "<": ">",
    "b": "z",
    "z": "v",
    "v": "b",
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: what is asked, at which level, and the answers of the right and of the confused operation."""

    domain: str
    level: int
    body: str
    right: str
    wrong: str

    @property
    def prompt(self) -> str:
        """The user message."""
        return f"{self.domain[0]}{self.level}:{self.body}"


def success_probability(domain: str, level: int) -> float:
    """Return how often pre-training shows the right answer: linear in the level, easiest first."""
    first, last = _RANGE[domain]
    return first + (last - first) * (level - LEVELS[0]) / (LEVELS[-1] - LEVELS[0])


def is_held_out(body: str) -> bool:
    """Return whether a body belongs to validation, at every level; pre-training and train never show it."""
    return zlib.crc32(body.encode()) % _HELD_OUT_SHARE == 0


def draw(rng: random.Random, domain: str, *, held_out: bool) -> Problem:
    """Draw one problem of a domain from validation (`held_out`) or from the rest; uniform in level and columns."""
    while True:
        body, right, wrong = _BODIES[domain](rng, rng.randint(1, MAX_ANSWER))
        if is_held_out(body) == held_out:
            return Problem(domain=domain, level=rng.choice(LEVELS), body=body, right=right, wrong=wrong)


def draw_answer(rng: random.Random, problem: Problem) -> str:
    """Return the right answer with the problem's success probability, else the confused operation's."""
    return problem.right if rng.random() < success_probability(problem.domain, problem.level) else problem.wrong


def _math(rng: random.Random, columns: int) -> tuple[str, str, str]:
    operation = rng.choice(tuple(_DIGIT_RULES))
    pairs = [_digits(rng, operation, first=column == 0) for column in range(columns)]
    body = f"{''.join(str(a) for a, _ in pairs)}{operation}{''.join(str(b) for _, b in pairs)}"
    right, wrong = _DIGIT_RULES[operation], _DIGIT_RULES[_TAKEN_FOR[operation]]
    return body, "".join(str(right(a, b)) for a, b in pairs), "".join(str(wrong(a, b)) for a, b in pairs)


def _digits(rng: random.Random, operation: str, *, first: bool) -> tuple[int, int]:
    """Draw a column: a >= b for sum and difference (no borrow), b >= 1 or a != b where the first column must tell."""
    low = 1 if first else 0
    a, b = rng.randint(low, _MAX_DIGIT), rng.randint(low, _MAX_DIGIT)
    if operation in "+-":
        return max(a, b), min(a, b)
    return (a, b) if a != b or not first else _digits(rng, operation, first=first)


def _logic(rng: random.Random, columns: int) -> tuple[str, str, str]:
    operation = rng.choice(tuple(_BIT_RULES))
    a = [rng.random() < 0.5 for _ in range(columns)]
    # An operation and the one it is confused with differ only where the bits do.
    b = [not a[0]] + [rng.random() < 0.5 for _ in range(columns - 1)]
    right, wrong = _BIT_RULES[operation], _BIT_RULES[_TAKEN_FOR[operation]]
    pairs = list(zip(a, b, strict=True))
    return f"{_bits(a)}{operation}{_bits(b)}", _bits([right(*p) for p in pairs]), _bits([wrong(*p) for p in pairs])


def _science(rng: random.Random, columns: int) -> tuple[str, str, str]:
    operation = rng.choice(tuple(_ATOM_TABLES))
    # The three tables differ pairwise for N, O and F.
    atoms = rng.choice("NOF") + "".join(rng.choice("HBCNOF") for _ in range(columns - 1))
    right, wrong = _ATOM_TABLES[operation], _ATOM_TABLES[_TAKEN_FOR[operation]]
    return f"{operation}.{atoms}", "".join(str(right[x]) for x in atoms), "".join(str(wrong[x]) for x in atoms)


def _bits(values: list[bool]) -> str:
    return "".join("T" if value else "F" for value in values)


_BODIES = {"math": _math, "logic": _logic, "science": _science}
