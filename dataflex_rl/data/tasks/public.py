"""The public training sources of the study, each a table in its own schema."""

from __future__ import annotations

import re
from typing import Any

from dataflex_rl.data.tasks.items import Item, content_id
from dataflex_rl.data.tasks.latex import fits_box, says_something, without_dollars
from dataflex_rl.data.tasks.layout import Remote
from dataflex_rl.data.tasks.options import with_options
from dataflex_rl.data.tasks.read import Raw
from dataflex_rl.data.tasks.source import Source, text, texts
from dataflex_rl.rewards.knights import gold_text, parse_gold

# What DAPO-Math-17k wraps its problems in: another answer format than the one graded here.
_DAPO_BEFORE = re.compile(r"\ASolve the following math problem step by step\..*?\(without quotes\).*?\n\n", re.S)
_DAPO_AFTER = re.compile(r"\s*Remember to put your answer on its own line after \"Answer:\"\.?\s*\Z")


def math_item(source: str, question: str, gold: str, *, item_id: str = "", **more: Any) -> Item | str:
    """Return a mathematics item, or why it is no use: no question, no answer, or one that cannot be graded."""
    gold = without_dollars(gold)
    if not question.strip():
        return "no question"
    if not gold:
        return "no answer"
    if not fits_box(gold):
        return "answer fits no box"
    if not says_something(gold):
        return "answer cannot be read"
    ident = item_id or content_id(question.strip())
    return Item(source=source, domain="math", item_id=ident, question=question.strip(), gold=gold, **more)


def gsm8k_item(row: Raw, seed: int) -> Item | str:
    """Return the item of a GSM8K row; its answer follows `####`."""
    _, mark, gold = text(row, "answer").rpartition("####")
    if not mark:
        return "no answer"
    return math_item("gsm8k", text(row, "question"), gold.replace(",", ""))


def _deepscaler(row: Raw, seed: int) -> Item | str:
    return math_item("deepscaler", text(row, "problem"), text(row, "answer"))


def _dapo(row: Raw, seed: int) -> Item | str:
    prompt = row["prompt"]
    if not isinstance(prompt, list) or len(prompt) != 1 or not isinstance(prompt[0], dict):
        raise TypeError(f"column 'prompt' holds {str(prompt)[:40]!r}, expected a list of one chat message")
    question = _DAPO_AFTER.sub("", _DAPO_BEFORE.sub("", text(prompt[0], "content")))
    gold = row["reward_model"]["ground_truth"]
    if isinstance(gold, bool) or not isinstance(gold, int | str):
        raise TypeError(f"the ground truth is {type(gold).__name__} {str(gold)[:40]!r}, expected text or an integer")
    return math_item("dapo_math_17k", question, str(gold))


def knights_item(source: str, row: Raw, **more: Any) -> Item | str:
    """Return the item of a K-and-K row: any number of people; the graded words are knight and knave."""
    names, solution = texts(row, "names"), row["solution"]
    if not isinstance(solution, list):
        raise TypeError(f"column 'solution' holds {str(solution)[:40]!r}, expected a list")
    if len(names) != len(solution) or len({name.casefold() for name in names}) != len(names):
        raise ValueError(f"{len(names)} names {names} and {len(solution)} roles")
    if not all(isinstance(role, bool) for role in solution):
        raise TypeError(f"column 'solution' holds {solution}, expected true or false per person")
    words = row["knight_knave"]
    if (words["knight"], words["knave"]) != ("knight", "knave"):
        return "other words than knight and knave"
    quiz = text(row, "quiz")
    if not quiz.strip():
        return "no question"
    gold = gold_text(dict(zip(names, solution, strict=True)))
    if list(parse_gold(gold)) != names:
        raise ValueError(f"names {names} cannot be told apart in {gold!r}")
    return Item(
        source=source, domain="logic", item_id=content_id(quiz), question=quiz, gold=gold, difficulty=len(names), **more
    )


def _knights(row: Raw, seed: int) -> Item | str:
    return knights_item("knights_and_knaves", row)


def _sciq(row: Raw, seed: int) -> Item | str:
    question, right = text(row, "question"), text(row, "correct_answer")
    wrong = [text(row, f"distractor{i}") for i in (1, 2, 3)]
    if not question.strip():
        return "no question"
    options = [option.strip().casefold() for option in (right, *wrong)]
    if not all(options) or len(set(options)) < 4:
        return "fewer than 4 different options"
    ident = content_id(question, right, *wrong)
    lettered, letter = with_options(question, right, wrong, key=f"{seed}:sciq:{ident}")
    return Item(source="sciq", domain="science", item_id=ident, question=lettered, gold=letter)


_PEOPLE = tuple(f"{n}ppl" for n in range(2, 9))
PEOPLE_IN_NAMES = tuple((f"{n}ppl", f"people{n}") for n in range(2, 9))  # how the files of K-and-K are called
SOURCES = {
    source.name: source
    for source in (
        Source(
            name="gsm8k",
            domain="math",
            remote=Remote(repo="openai/gsm8k", configs=("main",), split="train"),
            columns=("question", "answer"),
            convert=gsm8k_item,
            repeats=True,
        ),
        Source(
            name="deepscaler",
            domain="math",
            remote=Remote(repo="agentica-org/DeepScaleR-Preview-Dataset", split="train"),
            columns=("problem", "answer"),
            convert=_deepscaler,
            repeats=True,
        ),
        Source(
            name="dapo_math_17k",
            domain="math",
            remote=Remote(repo="BytedTsinghua-SIA/DAPO-Math-17k", split="train"),
            columns=("prompt", "reward_model"),
            convert=_dapo,
            repeats=True,
        ),
        Source(
            name="knights_and_knaves",
            domain="logic",
            remote=Remote(
                repo="K-and-K/knights-and-knaves", configs=("train",), split="", splits=_PEOPLE, also=PEOPLE_IN_NAMES
            ),
            columns=("quiz", "names", "solution", "knight_knave"),
            convert=_knights,
            repeats=True,
        ),
        Source(
            name="sciq",
            domain="science",
            remote=Remote(repo="allenai/sciq", split="train"),
            columns=("question", "correct_answer", "distractor1", "distractor2", "distractor3"),
            convert=_sciq,
            repeats=True,
        ),
    )
}
