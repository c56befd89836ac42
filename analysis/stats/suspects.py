"""Evaluations that do not fit their block: a robust z with a binomial floor.

Two levels. "suspect": the run's headline is shown with and without it (several benchmarks far below the median
together, one very far below, at or below chance where the block is not, zero where the block is not). "note": worth
knowing, never left out (one benchmark low or high, swings on tiny sets, a benchmark at chance or all zero for the
whole block).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.benchmarks import Floats

SUSPECT, NOTE = "suspect", "note"
_TINY = 50  # items; one of 30 is 3.3 points
_SWING = 4  # items between the best and worst seed of one method
_LOW = 3.5


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One finding. method and seed None: the whole block. z NaN where it is not the reason."""

    level: str
    kind: str
    method: str | None
    seed: int | None
    benchmarks: tuple[str, ...]
    z: tuple[float, ...]
    text: str


def robust_z(score_N: Floats, items: int | None) -> Floats:
    """Give (score - median) / scale for the N runs of a block on one benchmark.

    scale = max(1.4826 MAD, binomial sd of the median at `items` questions, with at least half a question of spread), so
    that many equal scores on a small set do not make one more question an outlier. NaN scores stay NaN.
    """
    median = float(np.nanmedian(score_N))
    spread = 1.4826 * float(np.nanmedian(np.abs(score_N - median)))
    return np.asarray((score_N - median) / max(spread, binomial_sd(median, items), 1e-9))


def binomial_sd(percent: float, items: int | None) -> float:
    """Give the sd [points] of a score of `items` questions at a true score of `percent`; 0 where items is unknown.

    The share is pulled half a question inwards, so that 0 and 100 percent have a positive sd.
    """
    if items is None:
        return 0.0
    share = min(max(percent / 100.0, 0.5 / items), 1 - 0.5 / items)
    return 100.0 * math.sqrt(share * (1 - share) / items)


def find_suspects(
    score_MSK: Floats,
    methods: Sequence[str],
    seeds: Sequence[int],
    benchmarks: Sequence[str],
    items_K: Sequence[int | None],
    chance_K: Sequence[float | None],
    *,
    z_joint: float = 3.0,
    z_single: float = 6.0,
) -> list[Flag]:
    """Search one block. Blocks of fewer than 5 runs have no usable median: only chance and zero are checked there."""
    m, s, k = score_MSK.shape
    flat_NK = score_MSK.reshape(m * s, k)
    z_NK = np.full_like(flat_NK, np.nan)
    present_K = (~np.isnan(flat_NK)).sum(axis=0)
    for j in range(k):
        if present_K[j] >= 5:
            z_NK[:, j] = robust_z(flat_NK[:, j], items_K[j])
    flags: list[Flag] = []
    for i in range(m * s):
        if not np.isnan(flat_NK[i]).all():
            who = (methods[i // s], seeds[i % s])
            flags += _low(who, flat_NK, z_NK, i, benchmarks, z_joint, z_single)
            flags += _at_floor(who, flat_NK, i, benchmarks, items_K, chance_K)
    flags = [_every_seed(f, flags, _seeds_run(score_MSK, methods, f.method)) for f in flags]
    for j, name in enumerate(benchmarks):
        flags += _whole_block(flat_NK[:, j], name, items_K[j], chance_K[j])
        flags += _swings(score_MSK[:, :, j], name, items_K[j], methods)
    return flags


def _seeds_run(score_MSK: Floats, methods: Sequence[str], method: str | None) -> int:
    at = methods.index(method) if method is not None else 0
    return int((~np.isnan(score_MSK[at]).all(axis=-1)).sum())


def _every_seed(flag: Flag, flags: Sequence[Flag], seeds: int) -> Flag:
    """Lower a suspect to a note where all seeds (two or more) of its method are low on the same benchmarks.

    A broken evaluation strikes single runs; what strikes every seed alike is as well the method's own effect.
    """
    alike = {f.seed for f in flags if (f.level, f.method, f.benchmarks) == (SUSPECT, flag.method, flag.benchmarks)}
    if flag.level != SUSPECT or seeds < 2 or len(alike) < seeds:
        return flag
    return replace(
        flag, level=NOTE, kind="low at every seed", text=f"{flag.text}: at every seed, so perhaps the method"
    )


def suspect_runs(flags: Sequence[Flag]) -> set[tuple[str, int]]:
    """Give the (method, seed) of all runs flagged as suspect."""
    return {(f.method, f.seed) for f in flags if f.level == SUSPECT and f.method is not None and f.seed is not None}


def _low(
    who: tuple[str, int],
    flat_NK: Floats,
    z_NK: Floats,
    i: int,
    benchmarks: Sequence[str],
    z_joint: float,
    z_single: float,
) -> list[Flag]:
    low = [j for j in range(len(benchmarks)) if z_NK[i, j] <= -z_joint]
    if len(low) >= 2:
        return [_flag(SUSPECT, "collapsed together", who, low, flat_NK, z_NK, i, benchmarks)]
    flags = []
    for j in range(len(benchmarks)):
        z = z_NK[i, j]
        if z <= -z_single:
            flags.append(_flag(SUSPECT, "collapsed", who, [j], flat_NK, z_NK, i, benchmarks))
        elif abs(z) >= _LOW:
            kind = "low" if z < 0 else "high"
            flags.append(_flag(NOTE, kind, who, [j], flat_NK, z_NK, i, benchmarks))
    return flags


def _flag(
    level: str,
    kind: str,
    who: tuple[str, int],
    columns: list[int],
    flat_NK: Floats,
    z_NK: Floats,
    i: int,
    benchmarks: Sequence[str],
) -> Flag:
    median_C = np.nanmedian(flat_NK[:, columns], axis=0)
    against = zip(columns, median_C, strict=True)
    text = "; ".join(f"{benchmarks[j]} {flat_NK[i, j]:.1f} against a median of {median:.1f}" for j, median in against)
    return Flag(
        level=level,
        kind=kind,
        method=who[0],
        seed=who[1],
        benchmarks=tuple(benchmarks[j] for j in columns),
        z=tuple(float(z_NK[i, j]) for j in columns),
        text=text,
    )


def _at_floor(
    who: tuple[str, int],
    flat_NK: Floats,
    i: int,
    benchmarks: Sequence[str],
    items_K: Sequence[int | None],
    chance_K: Sequence[float | None],
) -> list[Flag]:
    """Flag a run at or below chance, or at zero, on a benchmark where the block's median lies 3 binomial sd above."""
    flags = []
    for j, name in enumerate(benchmarks):
        floor = chance_K[j] or 0.0
        score, median = flat_NK[i, j], float(np.nanmedian(flat_NK[:, j])) if not np.isnan(flat_NK[i, j]) else math.nan
        if math.isnan(score) or score > floor or median - floor <= 3 * max(binomial_sd(median, items_K[j]), 1e-9):
            continue
        kind = "all zero" if score == 0 else "at or below chance"
        text = f"{name} {score:.1f}{f' (chance {floor:.1f})' if floor else ''} against a median of {median:.1f}"
        flags.append(
            Flag(level=SUSPECT, kind=kind, method=who[0], seed=who[1], benchmarks=(name,), z=(math.nan,), text=text)
        )
    return flags


def _whole_block(score_N: Floats, name: str, items: int | None, chance: float | None) -> list[Flag]:
    if np.isnan(score_N).all():
        return []
    median = float(np.nanmedian(score_N))
    if np.nanmax(score_N) == 0:
        text = f"{name} is 0.0 in every run: it is a score, and it separates nothing here"
    elif chance is not None and median <= chance + 2 * binomial_sd(chance, items):
        text = f"{name}: block median {median:.1f} is within 2 binomial sd of chance ({chance:.1f})"
    elif median == 0:
        text = f"{name} is 0.0 in {int((score_N == 0).sum())} of {int((~np.isnan(score_N)).sum())} runs"
    else:
        return []
    kind = "at chance" if chance is not None and median > 0 else "zero cells"
    return [Flag(level=NOTE, kind=kind, method=None, seed=None, benchmarks=(name,), z=(math.nan,), text=text)]


def _swings(score_MS: Floats, name: str, items: int | None, methods: Sequence[str]) -> list[Flag]:
    if items is None or items > _TINY:
        return []
    flags = []
    for method, score_S in zip(methods, score_MS, strict=True):
        real_S = score_S[~np.isnan(score_S)]
        swing = float(np.ptp(real_S)) if len(real_S) > 1 else 0.0
        if round(swing * items / 100) >= _SWING:
            text = (
                f"{name} swings by {swing:.1f} points over seeds ({items} items: one item is {100 / items:.1f} points)"
            )
            flags.append(
                Flag(
                    level=NOTE, kind="tiny set", method=method, seed=None, benchmarks=(name,), z=(math.nan,), text=text
                )
            )
    return flags
