"""The verifier of knights and knaves: who is what, in the final answer.

The final answer is what follows the last marker: `Final answer:`, `Conclusion:`, a line `Answer:`, `<answer>` or a box.
Within it the last role stated for a person decides; every person of the puzzle must have one. Any order, any case;
`liar` counts as knave, `truth-teller` as knight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.answer import Result, grade

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
_GOLD = re.compile(r"(.+) is an? (knight|knave)")
_KNIGHT = r"knights?|truth[-\s]?tellers?"
_ROLE = rf"(?:{_KNIGHT}|knaves?|liars?)"
_SKIP = re.compile(r"(?:[\s,&*_:|\-]|\band\b|\bnor\b|\bboth\b|\bof\b)*", re.I)  # between names that share a role
_OPENS = re.compile(r"[\s*]{0,6}(?::|=|is\b|are\b)", re.I)  # after a role: the names that have it follow


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
        ConfigError: the gold answer does not read `Ann is a knight, Bob is a knave`.
    """
    gold = parse_gold(ground_truth)
    final = final_answer(solution_str)
    stated = {} if final is None else stated_roles(final, list(gold))
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
                "wanted 'Ann is a knight, Bob is a knave', each person once"
            )
        roles[found[1]] = found[2]
    return roles


def final_answer(text: str) -> str | None:
    """Return what follows the last marker that any text follows; None without one."""
    roles = [found.start() for found in re.finditer(rf"\b{_ROLE}\b", text, re.I)]
    ends = [found.end() for found in _MARKER.finditer(text) if roles and found.end() <= roles[-1]]
    return text[ends[-1] : ends[-1] + _MAX_ANSWER] if ends else None


def stated_roles(text: str, people: Sequence[str]) -> dict[str, str]:
    """Return the last role stated for each person; a person stated as `knight/knave` has none.

    Reads `Ann is a knight`, `Ann: knave`, `Ann and Bob are liars`, `Knights: Ann, Bob`, `Ann is not a knight`.
    """
    names = {name.casefold(): name for name in people}
    stated: dict[str, str] = {}
    waiting: list[str] = []  # named, role still to come
    heading: str | None = None  # `Knights:`, names still to come
    negated = False
    last_end = 0
    for found in _tokens(tuple(people)).finditer(text):
        kind, word = found.lastgroup, found[0]
        if kind == "name":
            name = names[re.sub(r"\s+", " ", word.casefold())]
            if heading:
                stated[name] = heading
                continue
            joined = bool(waiting) and _SKIP.fullmatch(text, last_end, found.start()) is not None
            waiting = [*waiting, name] if joined else [name]
            negated = negated if joined else text[: found.start()].casefold().rstrip().endswith("neither")
            last_end = found.end()
        elif kind == "negation":
            negated = True
        elif kind == "end":
            waiting, heading, negated = [], None, False
        elif kind == "either":
            for name in waiting:
                stated.pop(name, None)
            waiting, heading, negated = [], None, False
        else:
            role = _role(word, negated)
            heading = role if not waiting and _OPENS.match(text, found.end()) else None
            stated |= dict.fromkeys(waiting, role)
            waiting, negated = [], False
    return stated


def _role(word: str, negated: bool) -> str:
    """Return the role a word names, or the other one."""
    knight = re.fullmatch(_KNIGHT, word, re.I) is not None
    return "knight" if knight != negated else "knave"


@lru_cache(maxsize=1024)
def _tokens(people: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of everything that matters in a final answer about these people."""
    names = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in sorted(people, key=len, reverse=True))
    return re.compile(
        rf"(?P<either>\b{_ROLE}\s*(?:/|\||\bor\b)\s*(?:an?\s+)?{_ROLE}\b)"
        rf"|(?P<role>\b{_ROLE}\b)|(?P<name>(?<!\w)(?:{names})(?!\w))"
        r"|(?P<negation>\bnot\b|n[’']t\b)|(?P<end>(?<!\d)[.;!?](?=\s|$)|\})",
        re.I,
    )


def state(gold: str) -> str:
    """Return a response that states an answer."""
    return f"Final answer: {gold}."


def wrong(gold: str) -> str:
    """Return the answer with the first person's role exchanged."""
    roles = {name: role == "knight" for name, role in parse_gold(gold).items()}
    first = next(iter(roles))
    return gold_text({**roles, first: not roles[first]})
