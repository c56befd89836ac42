"""Blocks: the runs that may be compared with each other, as arrays.

One block holds the runs of one (model, task, regime, steps, evaluation). The unit of replication is the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.benchmarks import Floats, restore_counts
from analysis.load.frame import Run, Runs, Score, describe
from analysis.summaries import all_summaries

Key = tuple[str, str, str | None, int | None, str]


@dataclass(frozen=True)
class Block:
    """One block. Arrays are NaN where a cell is missing; methods and seeds are sorted.

    `untrained_MSK` holds the score before training, `items_K` the number of items (None: unknown or not one number).
    """

    key: Key
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    benchmarks: tuple[str, ...]
    domain_K: tuple[str, ...]
    items_K: tuple[int | None, ...]
    domains: tuple[str, ...]
    score_MSK: Floats
    count_MSK: Floats
    untrained_MSK: Floats
    runs: Mapping[tuple[str, int], Run]

    @property
    def name(self) -> str:
        """Name the block in one phrase."""
        return describe(self.key)

    @cached_property
    def endpoints(self) -> dict[str, Floats]:
        """Every summary, domain and benchmark by name, as (M, S) arrays; summaries first."""
        return self._endpoints(self.score_MSK)

    @cached_property
    def untrained(self) -> dict[str, Floats]:
        """The same before training."""
        return self._endpoints(self.untrained_MSK)

    @cached_property
    def summaries(self) -> tuple[str, ...]:
        """Names of the endpoints that are no benchmark, the primary one first."""
        return tuple(e for e in self.endpoints if e not in self.benchmarks)

    def _endpoints(self, score_MSK: Floats) -> dict[str, Floats]:
        summaries = all_summaries(score_MSK, self.benchmarks, self.domain_K, self.items_K, self.domains)
        return summaries | {b: score_MSK[:, :, k] for k, b in enumerate(self.benchmarks)}

    def row(self, method: str) -> int:
        """Give a method's index on the M axis."""
        return self.methods.index(method)

    def seeds_of(self, method: str) -> list[int]:
        """List the seeds at which a method was run."""
        return [s for s in self.seeds if (method, s) in self.runs]

    def without(self, cells: set[tuple[str, int]]) -> Floats:
        """Give score_MSK with the named (method, seed) runs missing."""
        kept = self.score_MSK.copy()
        for method, seed in cells:
            kept[self.row(method), self.seeds.index(seed)] = np.nan
        return kept

    def endpoints_without(self, cells: set[tuple[str, int]]) -> dict[str, Floats]:
        """Give the endpoints with the named (method, seed) runs missing."""
        return self._endpoints(self.without(cells))


def blocks(runs: Runs) -> list[Block]:
    """Group runs into blocks, in the order of the source."""
    grouped: dict[Key, list[Run]] = {}
    for run in runs.runs:
        grouped.setdefault(run.block, []).append(run)
    return [_block(key, found) for key, found in grouped.items()]


def _block(key: Key, runs: list[Run]) -> Block:
    methods = tuple(sorted({r.method for r in runs}))
    seeds = tuple(sorted({r.seed for r in runs}))
    domain_of = {s.benchmark: s.domain for r in runs for s in r.trained}
    names = tuple(domain_of)
    items_K = tuple(_items(runs, b) for b in names)
    shape = (len(methods), len(seeds), len(names))
    score_MSK, count_MSK, untrained_MSK = (np.full(shape, np.nan) for _ in range(3))
    for run in runs:
        at = (methods.index(run.method), seeds.index(run.seed))
        _fill(score_MSK[at], count_MSK[at], run.trained, names, items_K)
        _fill(untrained_MSK[at], np.empty(len(names)), run.untrained, names, items_K)
    return Block(
        key=key,
        methods=methods,
        seeds=seeds,
        benchmarks=names,
        domain_K=tuple(domain_of.values()),
        items_K=items_K,
        domains=tuple(dict.fromkeys(d for r in runs for d in r.domains)),
        score_MSK=score_MSK,
        count_MSK=count_MSK,
        untrained_MSK=untrained_MSK,
        runs={(r.method, r.seed): r for r in runs},
    )


def _fill(
    score_K: Floats, count_K: Floats, scores: tuple[Score, ...], names: tuple[str, ...], items_K: tuple[int | None, ...]
) -> None:
    for score in scores:
        if score.benchmark not in names:
            continue
        k = names.index(score.benchmark)
        items = items_K[k]
        score_K[k] = score.accuracy
        if score.correct is not None:
            count_K[k] = score.correct
        elif items is not None:
            count_K[k] = restore_counts(np.asarray(score.accuracy), items)


def _items(runs: list[Run], benchmark: str) -> int | None:
    """Give the number of items of a benchmark, None where unknown or where runs disagree."""
    totals = {s.total for r in runs for s in r.trained if s.benchmark == benchmark and not np.isnan(s.accuracy)}
    totals |= {s.total for r in runs for s in r.trained if s.benchmark == benchmark} if not totals else set()
    return totals.pop() if len(totals) == 1 else None
