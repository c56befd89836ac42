"""The twelve benchmarks of the study: where they are, how a row reads, how many items they have.

Token limits at evaluation: 8192 for mathematics, 4096 else. Of the three sources with more items than the study used, a
subset in an order that depends on the item ids alone is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dataflex_rl.data.tasks.items import Item, content_id
from dataflex_rl.data.tasks.latex import without_dollars
from dataflex_rl.data.tasks.layout import Remote
from dataflex_rl.data.tasks.options import are_options, lettered, with_options
from dataflex_rl.data.tasks.public import PEOPLE_IN_NAMES, gsm8k_item, knights_item, math_item
from dataflex_rl.data.tasks.read import Raw
from dataflex_rl.data.tasks.source import Source, ident, text, texts
from dataflex_rl.rewards.choice import LETTERS

LIMITS = {"math": 8192, "logic": 4096, "science": 4096}  # [tokens]


@dataclass(frozen=True, kw_only=True)
class Benchmark(Source):
    """A source with the number of items the study measured on. subset: the public source has more."""

    total: int
    subset: bool = False


Convert = Callable[[Raw, int], Item | str]


_SUBSETS = ("zebra_logic_mc", "mmlu_pro_chemistry", "mmlu_pro_physics")


def _benchmark(
    name: str, domain: str, total: int, remote: Remote, columns: tuple[str, ...], convert: Convert
) -> Benchmark:
    subset = name in _SUBSETS
    return Benchmark(
        name=name, domain=domain, total=total, remote=remote, columns=columns, convert=convert, subset=subset
    )


def _math500(row: Raw, seed: int) -> Item | str:
    level = int(row.get("level") or 0)
    question, gold = text(row, "problem"), text(row, "answer")
    return math_item("math500", question, gold, item_id=ident(row, "unique_id"), difficulty=level)


def _aime24(row: Raw, seed: int) -> Item | str:
    gold = str(int(str(row["answer"])))  # "033" is 33; true and 3.5 are no answers
    return math_item("aime24", text(row, "problem"), gold, item_id=ident(row, "id"))


def _olympiad(row: Raw, seed: int) -> Item | str:
    golds = [without_dollars(gold) for gold in texts(row, "final_answer")]
    if not golds or not all(golds):
        return "no answer"
    return math_item("olympiadbench", text(row, "question"), ", ".join(golds), item_id=ident(row, "id"))


def _minerva(row: Raw, seed: int) -> Item | str:
    return math_item("minerva_math", text(row, "question"), text(row, "answer"))


def _gsm8k(row: Raw, seed: int) -> Item | str:
    return gsm8k_item(row, seed)


def _kk_hard(row: Raw, seed: int) -> Item | str:
    item = knights_item("kk_hard", row)
    return item if isinstance(item, str) or item.difficulty in (7, 8) else "fewer than 7 people"


_BBH_OPTION = re.compile(r"^\(([A-J])\)\s*(.+?)\s*$", re.M)


def _bbh(name: str) -> Convert:
    def convert(row: Raw, seed: int) -> Item | str:
        question, target = text(row, "input"), text(row, "target").strip()
        letters = [letter for letter, _ in _BBH_OPTION.findall(question)]
        options = [option for _, option in _BBH_OPTION.findall(question)]
        letter = target.strip("()")
        if "".join(letters) != LETTERS[: len(letters)] or not are_options(options):
            raise ValueError(f"options {options}; expected 2 to {len(LETTERS)} different ones, lettered from A")
        if letter not in letters:
            raise ValueError(f"target {target!r} is none of the options {letters}")
        if not question.partition("(A)")[0].replace("Options:", "").strip():
            return "no question"
        return Item(source=name, domain="logic", item_id=content_id(question), question=question, gold=letter)

    return convert


def _listed(source: str, domain: str, item_id: str, question: str, options: list[str], right: str) -> Item | str:
    """Return an item whose options stand in the order of the source."""
    if not question.strip():
        return "no question"
    gold = LETTERS[options.index(right)]
    return Item(source=source, domain=domain, item_id=item_id, question=lettered(question, options), gold=gold)


def _zebra(row: Raw, seed: int) -> Item | str:
    choices, answer = texts(row, "choices"), text(row, "answer")
    if not are_options(choices):
        raise ValueError(f"choices {choices}; expected 2 to {len(LETTERS)} different ones")
    if answer not in choices:
        raise ValueError(f"answer {answer!r} is not one of the choices {choices}")
    puzzle, asked = text(row, "puzzle").strip(), text(row, "question").strip()
    question = f"{puzzle}\n\n{asked}" if puzzle and asked else ""
    return _listed("zebra_logic_mc", "logic", ident(row, "id"), question, choices, answer)


def _gpqa(row: Raw, seed: int) -> Item | str:
    item_id = ident(row, "Record ID")
    if not text(row, "Question").strip():
        return "no question"
    wrong = [text(row, f"Incorrect Answer {i}") for i in (1, 2, 3)]
    question, gold = with_options(
        text(row, "Question"), text(row, "Correct Answer"), wrong, key=f"{seed}:gpqa_diamond:{item_id}"
    )
    return Item(source="gpqa_diamond", domain="science", item_id=item_id, question=question, gold=gold)


_FILLER = "N/A"


def _mmlu_pro(category: str) -> Convert:
    name = f"mmlu_pro_{category}"

    def convert(row: Raw, seed: int) -> Item | str:
        if text(row, "category") != category:
            return "another category"
        listed, letter = texts(row, "options"), text(row, "answer")
        if letter not in tuple(LETTERS[: len(listed)]):
            raise ValueError(f"answer {letter!r} is none of {len(listed)} options")
        right = listed[LETTERS.index(letter)]  # a letter counts the fillers, the prompt does not show them
        if right.strip() == _FILLER:
            raise ValueError(f"answer {letter!r} is {_FILLER!r}, which fills up the options")
        options = [option for option in listed if option.strip() != _FILLER]
        if not are_options(options):
            return "options not 2 to 10 different ones"
        return _listed(name, "science", ident(row, "question_id"), text(row, "question"), options, right)

    return convert


_BBH_SIZES = ("three_objects", "five_objects", "seven_objects")
_BBH_COLUMNS = ("input", "target")
_MMLU = Remote(repo="TIGER-Lab/MMLU-Pro", split="test")
_MMLU_COLUMNS = ("question_id", "question", "options", "answer", "category")
_GPQA_COLUMNS = ("Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {i}" for i in (1, 2, 3)))


def _bbh_remote(task: str) -> Remote:
    return Remote(repo="lukaemon/bbh", configs=tuple(f"{task}_{size}" for size in _BBH_SIZES), split="test")


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        _benchmark(
            "math500", "math", 500, Remote(repo="HuggingFaceH4/MATH-500", split="test"),
            ("problem", "answer", "unique_id"), _math500,
        ),
        _benchmark(
            "aime24", "math", 30, Remote(repo="HuggingFaceH4/aime_2024", split="train", sole=True),
            ("id", "problem", "answer"), _aime24,
        ),
        _benchmark(
            "olympiadbench", "math", 675,
            Remote(repo="Hothan/OlympiadBench", configs=("OE_TO_maths_en_COMP",), split="train", sole=True),
            ("id", "question", "final_answer"), _olympiad,
        ),
        _benchmark(
            "minerva_math", "math", 272, Remote(repo="math-ai/minervamath", split="test"),
            ("question", "answer"), _minerva,
        ),
        _benchmark(
            "gsm8k", "math", 1319, Remote(repo="openai/gsm8k", configs=("main",), split="test"),
            ("question", "answer"), _gsm8k,
        ),
        _benchmark(
            "kk_hard", "logic", 200,
            Remote(
                repo="K-and-K/knights-and-knaves", configs=("test",), split="", splits=("7ppl", "8ppl"),
                also=PEOPLE_IN_NAMES,
            ),
            ("quiz", "names", "solution", "knight_knave"), _kk_hard,
        ),
        _benchmark(
            "bbh_logical_deduction", "logic", 750, _bbh_remote("logical_deduction"), _BBH_COLUMNS,
            _bbh("bbh_logical_deduction"),
        ),
        _benchmark(
            "bbh_tracking", "logic", 750, _bbh_remote("tracking_shuffled_objects"), _BBH_COLUMNS, _bbh("bbh_tracking"),
        ),
        _benchmark(
            "zebra_logic_mc", "logic", 500, Remote(repo="WildEval/ZebraLogic", configs=("mc_mode",), split="test"),
            ("id", "puzzle", "question", "choices", "answer"), _zebra,
        ),
        _benchmark(
            "gpqa_diamond", "science", 198,
            Remote(repo="Idavidrein/gpqa", configs=("gpqa_diamond",), split="train", sole=True, gated=True),
            _GPQA_COLUMNS, _gpqa,
        ),
        _benchmark("mmlu_pro_chemistry", "science", 500, _MMLU, _MMLU_COLUMNS, _mmlu_pro("chemistry")),
        _benchmark("mmlu_pro_physics", "science", 500, _MMLU, _MMLU_COLUMNS, _mmlu_pro("physics")),
    )
}  # fmt: skip
