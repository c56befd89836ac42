"""Natural-language mathematics of `text3`, from reasoning-gym, at five levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataflex_rl.data.tasks.generated import Problem, entries

KINDS = ("arithmetic", "products", "equations", "legs", "word_problems")
LEVELS = (1, 2, 3, 4, 5)

# generator of each kind, and its settings per level
_GENERATORS = {
    "arithmetic": "chain_sum",
    "products": "products",
    "equations": "simple_equations",
    "legs": "leg_counting",
    "word_problems": "gsm_symbolic",
}


def _settings(kind: str, level: int) -> dict[str, Any]:
    if kind == "arithmetic":
        digits = (level + 1) // 2
        return {"min_terms": 1 + level, "max_terms": 1 + level, "min_digits": digits, "max_digits": digits}
    if kind == "products":
        return {"min_terms": 2, "max_terms": 2, "min_digits": (level + 1) // 2, "max_digits": level // 2 + 1}
    if kind == "equations":
        return {"min_terms": min(2 + level // 3, 4), "max_terms": min(2 + level // 2, 4), "max_value": 10 * level}
    if kind == "legs":
        return {"min_animals": level, "max_animals": level, "max_instances": 3 * level}
    return {}


def problems(kind: str, level: int, *, seed: int) -> Iterator[Problem]:
    """Yield problems of one kind and level without end; the same seed yields the same ones.

    Word problems come in one difficulty: every level draws from them.
    """
    for entry in entries(_GENERATORS[kind], seed=seed * 10 + level, **_settings(kind, level)):
        yield Problem(kind=kind, level=level, question=_question(kind, entry), gold=str(entry["answer"]))


def _question(kind: str, entry: dict[str, Any]) -> str:
    text, facts = str(entry["question"]).strip(), entry["metadata"]
    if kind in ("arithmetic", "products"):
        return f"What is {facts['expression']}?"
    if kind == "legs":
        return text.rpartition("\n")[2].removeprefix("Now, ").capitalize()
    return text.partition(" Give the result as your final answer.")[0]
