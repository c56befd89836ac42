"""The task `toy3`: short problems of three domains, each right with a probability that its level sets.

A prompt reads `<domain letter><level>:<body>`. The body has independent columns, so a tiny model can solve bodies that
it never saw; the level tells how often the untrained model follows the right rule, and the first column tells the two
rules apart.

| domain  | body        | right answer          | wrong rule                        |
|---------|-------------|-----------------------|-----------------------------------|
| math    | `314+123`   | the sum, no carries   | the differences of the columns    |
| logic   | `TFT&FFT`   | the bitwise result    | `&` read as `|` and the reverse   |
| science | `GATTA`     | the complement strand | pairs A with C and G with T       |
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

VERSION = 1  # raise it with any change of the problems: caches are keyed by it
DOMAINS = ("math", "logic", "science")
LEVELS = tuple(range(1, 9))
MAX_ANSWER = 6  # characters of the longest answer, end of sequence not counted

# Probability that the untrained model follows the right rule, at the first and the last level; linear between.
_RANGE = {"math": (0.90, 0.10), "logic": (0.95, 0.15), "science": (0.92, 0.20)}
_COLUMNS = {"math": (1, 5), "logic": (1, 5), "science": (1, 6)}
_MAX_DIGIT = 4  # two of them never carry
_RIGHT_PAIR = {"A": "T", "T": "A", "G": "C", "C": "G"}
_WRONG_PAIR = {"A": "C", "C": "A", "G": "T", "T": "G"}
_OTHER_OPERATOR = {"&": "|", "|": "&"}
_HELD_OUT_SHARE = 5  # one body in five is kept for validation


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: what is asked, at which level, and the answers of the right and of the wrong rule."""

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
        body, right, wrong = _BODIES[domain](rng, rng.randint(*_COLUMNS[domain]))
        if is_held_out(body) == held_out:
            return Problem(domain=domain, level=rng.choice(LEVELS), body=body, right=right, wrong=wrong)


def draw_answer(rng: random.Random, problem: Problem) -> str:
    """Return the right answer with the problem's success probability, else the wrong rule's."""
    return problem.right if rng.random() < success_probability(problem.domain, problem.level) else problem.wrong


def _math(rng: random.Random, columns: int) -> tuple[str, str, str]:
    # The first digits are at least 1: no leading zero, and sum and difference differ from the first column on.
    a = [rng.randint(1, _MAX_DIGIT)] + [rng.randint(0, _MAX_DIGIT) for _ in range(columns - 1)]
    b = [rng.randint(1, _MAX_DIGIT)] + [rng.randint(0, _MAX_DIGIT) for _ in range(columns - 1)]
    pairs = list(zip(a, b, strict=True))
    return f"{_join(a)}+{_join(b)}", _join([x + y for x, y in pairs]), _join([abs(x - y) for x, y in pairs])


def _logic(rng: random.Random, columns: int) -> tuple[str, str, str]:
    # The first bits differ: `&` and `|` disagree there.
    first = rng.random() < 0.5
    a = [first] + [rng.random() < 0.5 for _ in range(columns - 1)]
    b = [not first] + [rng.random() < 0.5 for _ in range(columns - 1)]
    operator = rng.choice("&|")
    return f"{_bits(a)}{operator}{_bits(b)}", _combine(a, operator, b), _combine(a, _OTHER_OPERATOR[operator], b)


def _science(rng: random.Random, columns: int) -> tuple[str, str, str]:
    body = "".join(rng.choice("ACGT") for _ in range(columns))
    return body, "".join(_RIGHT_PAIR[base] for base in body), "".join(_WRONG_PAIR[base] for base in body)


def _join(digits: list[int]) -> str:
    return "".join(str(digit) for digit in digits)


def _bits(values: list[bool]) -> str:
    return "".join("T" if value else "F" for value in values)


def _combine(a: list[bool], operator: str, b: list[bool]) -> str:
    return _bits([(x and y) if operator == "&" else (x or y) for x, y in zip(a, b, strict=True)])


_BODIES = {"math": _math, "logic": _logic, "science": _science}
