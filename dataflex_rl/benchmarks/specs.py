"""The twelve benchmarks of the study: where they are, how a row reads, how many items they have.

Token limits at evaluation: 8192 for mathematics, 4096 else. Of sources with more items than the study used, a
subset in an order that depends on the item ids alone is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dataflex_rl.rewards.choice import LETTERS
from dataflex_rl.tasks.items import Item, content_id
from dataflex_rl.tasks.options import lettered, with_options
from dataflex_rl.tasks.public import gsm8k_item, knights_item, math_item
from dataflex_rl.tasks.read import Raw, Remote
from dataflex_rl.tasks.source import Source, text

LIMITS = {"math": 8192, "logic": 4096, "science": 4096}  # [tokens]


@dataclass(frozen=True, kw_only=True)
class Benchmark(Source):
    """A source with the number of items the study measured on."""

    total: int


Convert = Callable[[Raw, int], Item | str]


def _benchmark(
    name: str, domain: str, total: int, remote: Remote, columns: tuple[str, ...], convert: Convert
) -> Benchmark:
    return Benchmark(name=name, domain=domain, total=total, remote=remote, columns=columns, convert=convert)


def _math500(row: Raw, seed: int) -> Item | str:
    level = int(row.get("level") or 0)
    question, gold = text(row, "problem"), text(row, "answer")
    return math_item("math500", question, gold, item_id=text(row, "unique_id"), difficulty=level)


def _aime24(row: Raw, seed: int) -> Item | str:
    return math_item("aime24", text(row, "problem"), str(int(row["answer"])), item_id=str(row["id"]))


def _olympiad(row: Raw, seed: int) -> Item | str:
    golds = row["final_answer"]
    if not isinstance(golds, list):
        raise TypeError(f"column 'final_answer' holds {str(golds)[:40]!r}, wanted a list")
    if not golds:
        return "no answer"
    gold = ", ".join(str(gold).strip().strip("$") for gold in golds)
    return math_item("olympiadbench", text(row, "question"), gold, item_id=str(row["id"]))


def _minerva(row: Raw, seed: int) -> Item | str:
    return math_item("minerva_math", text(row, "question"), text(row, "answer"))


def _gsm8k(row: Raw, seed: int) -> Item | str:
    return gsm8k_item(row, seed)


def _kk_hard(row: Raw, seed: int) -> Item | str:
    return knights_item("kk_hard", row)


_BBH_OPTION = re.compile(r"^\(([A-J])\)\s*(.+?)\s*$", re.M)


def _bbh(name: str) -> Convert:
    def convert(row: Raw, seed: int) -> Item | str:
        question, target = text(row, "input"), text(row, "target").strip()
        letters = [letter for letter, _ in _BBH_OPTION.findall(question)]
        letter = target.strip("()")
        if letter not in letters:
            raise ValueError(f"target {target!r} is none of the options {letters}")
        return Item(source=name, domain="logic", item_id=content_id(question), question=question, gold=letter)

    return convert


def _listed(source: str, domain: str, ident: str, question: str, options: list[str], gold: str) -> Item:
    """Return an item whose options stand in the order of the source."""
    if gold not in LETTERS[: len(options)] or len(options) > len(LETTERS):
        raise ValueError(f"answer {gold!r} is none of {len(options)} options")
    return Item(source=source, domain=domain, item_id=ident, question=lettered(question, options), gold=gold)


def _zebra(row: Raw, seed: int) -> Item | str:
    choices, answer = [str(choice) for choice in row["choices"]], text(row, "answer")
    if choices.count(answer) != 1:
        raise ValueError(f"answer {answer!r} is not one of the choices {choices}")
    question = f"{text(row, 'puzzle').strip()}\n\n{text(row, 'question').strip()}"
    return _listed("zebra_logic_mc", "logic", str(row["id"]), question, choices, LETTERS[choices.index(answer)])


def _gpqa(row: Raw, seed: int) -> Item | str:
    ident = text(row, "Record ID")
    wrong = [text(row, f"Incorrect Answer {i}") for i in (1, 2, 3)]
    question, gold = with_options(
        text(row, "Question"), text(row, "Correct Answer"), wrong, key=f"{seed}:gpqa_diamond:{ident}"
    )
    return Item(source="gpqa_diamond", domain="science", item_id=ident, question=question, gold=gold)


def _mmlu_pro(category: str) -> Convert:
    name = f"mmlu_pro_{category}"

    def convert(row: Raw, seed: int) -> Item | str:
        if text(row, "category") != category:
            return "another category"
        options = [str(option) for option in row["options"] if str(option) != "N/A"]
        return _listed(name, "science", str(row["question_id"]), text(row, "question"), options, text(row, "answer"))

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
            "aime24", "math", 30, Remote(repo="HuggingFaceH4/aime_2024", split="train"),
            ("id", "problem", "answer"), _aime24,
        ),
        _benchmark(
            "olympiadbench", "math", 675,
            Remote(repo="Hothan/OlympiadBench", configs=("OE_TO_maths_en_COMP",), split="train"),
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
            Remote(repo="K-and-K/knights-and-knaves", configs=("test",), split="", splits=("7ppl", "8ppl")),
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
            Remote(repo="Idavidrein/gpqa", configs=("gpqa_diamond",), split="train", gated=True),
            _GPQA_COLUMNS, _gpqa,
        ),
        _benchmark("mmlu_pro_chemistry", "science", 500, _MMLU, _MMLU_COLUMNS, _mmlu_pro("chemistry")),
        _benchmark("mmlu_pro_physics", "science", 500, _MMLU, _MMLU_COLUMNS, _mmlu_pro("physics")),
    )
}  # fmt: skip
