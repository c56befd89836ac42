"""The last `\\boxed{...}` of a text."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENING = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_BARE = re.compile(r"\\[A-Za-z]+|[^\s\\{}]")


class Box(NamedTuple):
    """A box: where it begins in the text, and its content without outer spaces."""

    start: int
    content: str


def last_box(text: str) -> Box | None:
    """Return the last box of a text, None if it has none or the last one is never closed.

    Of nested boxes the innermost counts, being the last to begin. Without braces, as LaTeX reads it, the box holds one
    character or command. Takes time linear in the text.
    """
    opening = None
    for opening in _OPENING.finditer(text):  # noqa: B007 - the last one is wanted
        continue
    if opening is None:
        return None
    after = opening.end()
    if text[after : after + 1] != "{":
        bare = _BARE.match(text, after)
        return Box(opening.start(), bare[0]) if bare else None
    end = closing_brace(text, after)
    return None if end is None else Box(opening.start(), text[after + 1 : end].strip())


def closing_brace(text: str, opening: int) -> int | None:
    """Return the position of the brace that closes the one at `opening`; escaped braces are text."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, opening):
        if brace[0] == "{":
            depth += 1
        elif brace[0] == "}":
            depth -= 1
            if depth == 0:
                return brace.start()
    return None
