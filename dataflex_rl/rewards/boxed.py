"""The last `\\boxed{...}` of a text."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

_OPENING = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_CLOSING = {"{": "}", "(": ")"}
_BRACES = {"{": re.compile(r"\\.|[{}]", re.DOTALL), "(": re.compile(r"\\.|[()]", re.DOTALL)}
_MOST = 21  # boxes that are looked at
_LONGEST = 600  # characters from the beginning of a box to that of the next one
_BETWEEN = 80  # characters between two boxes of one answer
_TAKES_BACK = re.compile(
    r"\b(?:no|not|wait|actually|instead|rather|sorry|oops|correct\w*|wrong|mistake\w*|but|hmm|check\w*)\b", re.I
)
_OR = re.compile(r"[\s$.,;\\()\[\]]*(?:text\s*\{)?\s*or\b[\s$.,;\\()\[\]}]*")
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
    for opening in _OPENING.finditer(text):  # noqa: B007 - the last one is expected
        continue
    if opening is None:
        return None
    after = opening.end()
    if text[after : after + 1] != "{":
        bare = _BARE.match(text, after)
        return Box(opening.start(), bare[0]) if bare else None
    end = closing_brace(text, after)
    return None if end is None else Box(opening.start(), text[after + 1 : end].strip())


class Boxes(NamedTuple):
    """The boxes that end a text, one soon after the other. `alternatives`: they are offered as "this or that"."""

    contents: tuple[str, ...]
    alternatives: bool


def last_boxes(text: str) -> Boxes:
    """Return the boxes that end a text together; the last one alone if one repeats or takes another back."""
    openings = [found.start() for found in deque(_OPENING.finditer(text), _MOST)]
    contents: list[str] = []
    start, either = 0, False
    for opening in reversed(openings):
        if contents and start - opening > _LONGEST:
            break
        end = start if contents else len(text)
        box = last_box(text[opening:end])
        if box is None or not box.content:
            break
        if contents:
            between = text[opening:end].rpartition(box.content)[2].lstrip(" }")
            if len(between) > _BETWEEN or _TAKES_BACK.search(between) or "\n\n" in between:
                break
            either = either or _OR.fullmatch(between) is not None
        contents.insert(0, box.content)
        start = opening
    if len(set(contents)) < len(contents):
        return Boxes(tuple(contents[-1:]), False)
    return Boxes(tuple(contents), either)


def closing_brace(text: str, opening: int, kind: str = "{") -> int | None:
    """Return the position of the brace (or parenthesis) that closes the one at `opening`; escaped ones are text."""
    depth, closing = 0, _CLOSING[kind]
    for brace in _BRACES[kind].finditer(text, opening):
        if brace[0] == kind:
            depth += 1
        elif brace[0] == closing:
            depth -= 1
            if depth == 0:
                return brace.start()
    return None
