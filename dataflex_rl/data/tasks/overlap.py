"""Training prompts that also occur in a benchmark: as a whole, or in 13 words in a row.

Notation does not hide an overlap, nor does the order of options or a distractor: a question with options is the same as
another with the same text and right option, or the same text and options in any order.

What many questions of one benchmark share is its wording, not its content ("A very special island is inhabited only by
knights and knaves ..."): such runs of words do not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dataflex_rl.data.tasks.items import Item

N = 13  # words in a row
COMMON = 5  # a run in this many questions of one benchmark is wording (small ones: a quarter of them, at least 2)
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\\[a-z]+|[^\W_]+|[^\w\s]|_")
_OPTION = re.compile(r"^\(([A-J])\)[ \t]*(.*)$", re.M)
# Ways to write the same: what delimits a formula or only spaces it goes, variants become one.
_NOTATION = tuple(
    (re.compile(pattern), same)
    for pattern, same in (
        (r"\\[()\[\]]|\\?\$", " "),
        (r"\\[,;:! ~]|~|\\(?:quad|qquad|left|right|displaystyle)(?![a-z])", " "),
        (r"\\[dtc]frac(?![a-z])", r"\\frac "),
        (r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\(?:text|mathrm|textrm|textbf|mathbf|operatorname)\s*\{([^{}]*)\}", r" \1 "),
        (r"\\(le|ge|ne)q(?![a-z])", r"\\\1 "),
        (r"\^?\\degree(?![a-z])|°", r"^\\circ "),
        (r"([\^_])\s*\{\s*(\\[a-z]+|\w)\s*\}", r"\1\2 "),
        (r"[‘’`´]", "'"),
        (r"[“”]|''", '"'),
        (r"[‐‑‒–—−]", "-"),
        (r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))", ""),
        (r"\.(?!\d)|\?", " "),
    )
)


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """What was removed: kept items in order, and how many shared a whole question or a run of words."""

    kept: list[Item]
    exact: int
    ngram: int


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; numbers are words, punctuation is not."""
    return tuple(_WORD.findall(text.casefold()))


def _plain(text: str) -> str:
    """Return the words and signs of a text in one notation: signs count, in `5 - 3` and `5 + 3`, full stops do not."""
    text = text.casefold()
    for pattern, same in _NOTATION:
        text = pattern.sub(same, text)
    return " ".join(_TOKEN.findall(text))


def keys(item: Item) -> frozenset[str]:
    """Return what an item shares with every other that asks the same; two items with a key in common ask the same."""
    options = dict(_OPTION.findall(item.question))
    if len(options) < 2 or item.gold not in options:
        return frozenset({_plain(item.question)})
    stem = _plain(_OPTION.sub("", item.question))
    texts = {letter: _plain(text) for letter, text in options.items()}
    return frozenset({f"{stem}\n{texts[item.gold]}", "\n".join([stem, *sorted(texts.values())])})


@dataclass(frozen=True, kw_only=True)
class Index:
    """What training prompts must not share with benchmarks: whole questions, and runs of n words."""

    whole: frozenset[str]
    grams: frozenset[tuple[str, ...]]
    n: int

    @classmethod
    def of(cls, benchmarks: Sequence[Item], *, n: int = N, common: int = COMMON) -> Index:
        """Return the index of benchmark items; instructions and answer formats are not in it."""
        whole = frozenset(key for item in benchmarks for key in keys(item))
        return cls(whole=whole, grams=frozenset(_content_grams(benchmarks, n, common)), n=n)


def remove_overlap(items: Iterable[Item], index: Index) -> Overlap:
    """Remove the items whose question is in a benchmark, or shares n words in a row with one of its questions.

    Runs that `common` or more questions of one benchmark share do not count. Questions of fewer than n words can
    only be removed as a whole.
    """
    kept: list[Item] = []
    exact = ngram = 0
    for item in items:
        if not index.whole.isdisjoint(keys(item)):
            exact += 1
        elif not index.grams.isdisjoint(_grams(words(item.question), index.n)):
            ngram += 1
        else:
            kept.append(item)
    return Overlap(kept=kept, exact=exact, ngram=ngram)


def _grams(text: tuple[str, ...], n: int) -> set[tuple[str, ...]]:
    return {text[i : i + n] for i in range(len(text) - n + 1)}


def _content_grams(benchmarks: Sequence[Item], n: int, common: int) -> set[tuple[str, ...]]:
    """Return the runs of n words of all benchmarks that are not the wording of one."""
    by_source: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for item in benchmarks:
        by_source[item.source].update(_grams(words(item.question), n))
    sizes = Counter(item.source for item in benchmarks)
    wording = {source: max(2, min(common, size // 4)) for source, size in sizes.items()}
    return {gram for source, counts in by_source.items() for gram, count in counts.items() if count < wording[source]}
