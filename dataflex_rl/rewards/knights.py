"""The verifier of knights and knaves: who is what, in the final answer.

The final answer is what follows the last marker that a person and a role follow: `Final answer:`, `Conclusion:`, a
line `Answer:`, `<answer>` or a box. Every person of the puzzle must have one role there, and not the other one as well,
unless a correction takes that back. Any order, any case; `liar` counts as knave, `truth-teller` as knight. What is only
supposed or said states nothing. A person called like a word of the answer (A, May, Knight) is read in that case alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.answer import Result, grade, need_text
from dataflex_rl.rewards.knights_reading import ROLE, Reader, fold, names

INSTRUCTION = (
    "Think step by step. End with one line that starts with 'Final answer:' and gives the role of every person, in the "
    "form 'NAME is a knight' or 'NAME is a knave', separated by commas. ('Truth-teller' counts as knight, 'liar' as "
    "knave.)"
)
BRIEF = (
    "Reply with one line that starts with 'Final answer:' and gives the role of every person, in the form "
    "'NAME is a knight' or 'NAME is a knave', separated by commas."
)
EXAMPLE = (  # a question and its brief answer
    'Knights always tell the truth, and knaves always lie. You meet 2 inhabitants: Ann, and Bob. Ann said: "Both of us '
    'are knaves". So who is a knight and who is a knave?',
    "Final answer: Ann is a knave, Bob is a knight",
)
_MAX_ANSWER = 4000  # characters read after the marker
_MARKER = re.compile(
    r"final\s{1,3}answer|conclusion\s?\**\s?:|^[^\w\n]{0,8}answer\s?\**\s?:|<answer>|\\boxed\s?\{", re.I | re.M
)
_ROLE = re.compile(rf"\b{ROLE}\b", re.I)
_GOLD = re.compile(r"(.+) is an? (knight|knave)")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **_: Any,
) -> Result:
    """Grade one response: right if every person of the gold answer has its role, nobody contradicted.

    `pred` lists the roles that were read, in the gold answer's order.

    Raises:
        ConfigError: the gold answer does not read `Ann is a knight, Bob is a knave`, or the response is no text.
    """
    need_text("knights and knaves", solution_str, ground_truth)
    gold = parse_gold(ground_truth)
    stated = Reader(final_answer(solution_str, list(gold)), list(gold)).read()
    pred = ", ".join(f"{name} is a {stated[name]}" for name in gold if name in stated)
    return grade(stated == gold, pred)


def gold_text(roles: Mapping[str, bool]) -> str:
    """Return the gold answer of {person: is a knight}."""
    return ", ".join(f"{name} is a {'knight' if knight else 'knave'}" for name, knight in roles.items())


def parse_gold(text: str) -> dict[str, str]:
    """Return {person: "knight" or "knave"} of a gold answer.

    Raises:
        ConfigError: a part of it has no role, or a person occurs twice.
    """
    roles: dict[str, str] = {}
    for part in text.split(", "):
        found = _GOLD.fullmatch(part.strip())
        if found is None or found[1] in roles:
            raise ConfigError(
                f"knights and knaves: gold answer {text!r} has the part {part!r}; "
                "expected 'Ann is a knight, Bob is a knave', each person once"
            )
        roles[found[1]] = found[2]
    return roles


def final_answer(text: str, people: Sequence[str]) -> str:
    """Return what follows the last marker that a person and a role follow before the next marker; "" without one."""
    markers = list(_MARKER.finditer(text))
    named = re.compile(names(tuple(people)), re.I)
    end = len(text)
    for marker in reversed(markers):
        part = text[marker.end() : min(end, marker.end() + _MAX_ANSWER)]
        if _ROLE.search(part) and named.search(fold(part)):
            return part
        end = marker.start()
    return ""


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"Final answer: {gold}."


def wrong(gold: str) -> str:
    """Return the answer with the first person's role exchanged."""
    roles = {name: role == "knight" for name, role in parse_gold(gold).items()}
    first = next(iter(roles))
    return gold_text({**roles, first: not roles[first]})
