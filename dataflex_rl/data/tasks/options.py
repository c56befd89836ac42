"""A multiple-choice question with its options in a seeded order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.choice import LETTERS


def with_options(question: str, right: str, wrong: Sequence[str], *, key: str) -> tuple[str, str]:
    """Return (question with lettered options, letter of the right one).

    The order depends on `key` alone (a seed and an item's id), not on what else is prepared.

    Raises:
        ConfigError: more than ten options, fewer than two, a blank one, or two that are the same text.
    """
    options = [right.strip(), *(text.strip() for text in wrong)]
    if not are_options([text.casefold() for text in options]):
        raise ConfigError(f"question {question[:60]!r}: options {options}; expected 2 to {len(LETTERS)} different ones")
    random.Random(key).shuffle(options)
    return lettered(question, options), LETTERS[options.index(right.strip())]


def are_options(options: Sequence[str]) -> bool:
    """Return whether texts can be the options of a question: two to ten, all different, none blank."""
    plain = {text.strip() for text in options}
    return 2 <= len(options) <= len(LETTERS) and len(plain) == len(options) and "" not in plain


def lettered(question: str, options: Sequence[str]) -> str:
    """Return the question followed by one line per option: `(A) text`."""
    lines = (f"({letter}) {text}" for letter, text in zip(LETTERS, options, strict=False))
    return "\n".join((question.strip(), *lines))
