"""Logic of `text3`: knights and knaves with any number of people, and the order of houses, from reasoning-gym."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dataflex_rl.data.tasks.generated import Problem, entries
from dataflex_rl.data.tasks.options import with_options
from dataflex_rl.rewards.knights import gold_text

LEVELS = (1, 2, 3, 4, 5)  # level + 1 people


def knights(people: int, *, seed: int) -> Iterator[Problem]:
    """Yield knights-and-knaves puzzles with one solution, for any number of people from 2, without end."""
    for entry in entries("knights_knaves", seed=seed, n_people=people):
        facts = entry["metadata"]
        names = [str(name) for name in facts["names"]]
        yield Problem(
            kind="knights",
            level=people - 1,
            question=_plain_words(str(entry["question"]), facts["knight_knave_terms"]),
            gold=gold_text({name: bool(role) for name, role in zip(names, facts["solution"], strict=True)}),
        )


def _plain_words(question: str, terms: dict[str, Any]) -> str:
    """Return the puzzle without its hint, in the words knight and knave (it also comes with saints, sages, ...)."""
    question = re.sub(r"\s*\(Format your answer like:.*\)\s*\Z", "", question, flags=re.S)
    for role in ("knight", "knave"):
        word = str(terms[role])
        question = re.sub(rf"\ban? {word}\b", f"a {role}", question)
        question = re.sub(rf"\b{word}s\b", f"{role}s", question)
        question = re.sub(rf"\b{word.capitalize()}s\b", f"{role.capitalize()}s", question)
    return question


def order(people: int, *, seed: int) -> Iterator[Problem]:
    """Yield puzzles on who lives in the first of `people` houses, with the people as options, without end."""
    for entry in entries("zebra_puzzles", seed=seed, num_people=people, num_characteristics=2):
        text = f"{str(entry['question']).strip().rpartition(chr(10))[0].strip()}\n\nWho lives in house 1?"
        names = [name.strip() for name in re.findall(r"unique name: ([^\n]+)", text)[0].split(",")]
        right = str(entry["answer"])
        wrong = [name for name in names if name != right]
        question, gold = with_options(text, right, wrong, key=f"order:{text}")
        yield Problem(kind="order", level=people - 1, question=question, gold=gold, body=text)
