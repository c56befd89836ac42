"""What the generators of `text3` have in common: a problem, and the share of problems kept for evaluation."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError

VERSION = 4  # raise it with any change of the problems: caches are keyed by it
_CHUNK = 500  # entries per data set: some generators prepare all of one at once
_IDLE = 500  # draws in a row that bring nothing new: the generator has no more
_HELD_OUT = 5  # one question in five is kept for evaluation


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A generated question of a kind and level with its gold answer, in its verifier's terms.

    body: what tells the question from others that ask the same, where the question itself does not (its options, say).
    """

    kind: str
    level: int
    question: str
    gold: str
    body: str = ""


def entries(generator: str, *, seed: int, **settings: Any) -> Iterator[dict[str, Any]]:
    """Yield the entries of a reasoning-gym generator without end; the same seed yields the same ones."""
    import reasoning_gym

    for chunk in itertools.count():
        chunk_seed = zlib.crc32(f"{generator}:{seed}:{chunk}".encode())
        yield from reasoning_gym.create_dataset(generator, seed=chunk_seed, size=_CHUNK, **settings)


def is_held_out(problem: Problem) -> bool:
    """Return whether a problem belongs to evaluation: no training split ever shows it, whatever the seed."""
    return zlib.crc32((problem.body or problem.question).casefold().encode()) % _HELD_OUT == 0


def drawn(stream: Iterator[Problem], count: int, *, held_out: bool, seen: set[str]) -> list[Problem]:
    """Return the next problems of one side whose questions are not in `seen`, and enter them there.

    They are `count`, or fewer where the generator repeats itself: 500 draws in a row bring nothing new.
    """
    found: list[Problem] = []
    idle = 0
    while len(found) < count and idle <= _IDLE:
        problem = next(stream)
        idle += 1
        if is_held_out(problem) == held_out and problem.question not in seen:
            seen.add(problem.question)
            found.append(problem)
            idle = 0
    return found


def distinct(stream: Iterator[Problem], count: int, *, held_out: bool, seen: set[str]) -> list[Problem]:
    """Return exactly `count` problems, else as `drawn`.

    Raises:
        ConfigError: the generator has fewer.
    """
    found = drawn(stream, count, held_out=held_out, seen=seen)
    if len(found) < count:
        last = next(stream)
        raise ConfigError(
            f"text3: {last.kind} at level {last.level} has {len(found)} different questions left, expected {count}; "
            "ask for fewer"
        )
    return found
