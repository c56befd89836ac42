"""Families of comparisons: one question, one correction, and intervals at the level that decided.

Three questions per block and control: do methods differ on the primary summary (Holm over the methods); on any other
summary or domain (Holm over methods x summaries, exploratory); on single benchmarks (Benjamini-Hochberg over methods x
benchmarks). Equivalence is adjusted over the same members as the difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.load.frame import describe
from analysis.options import Options
from analysis.stats.multiplicity import BH, EQUIVALENT, HOLM, UNTESTABLE, adjusted, levels, verdict
from analysis.stats.paired import t_quantile
from analysis.summaries import DOMAIN_BALANCED

Row = dict[str, Any]

_ENDPOINTS = {
    "primary": DOMAIN_BALANCED,
    "secondary": "other summaries and domains (exploratory)",
    "benchmark": "single benchmarks (exploratory)",
}
_BLOCK = ("model", "task", "regime", "steps", "evaluation")


def decide(rows: Sequence[Row], options: Options, *, across: bool) -> None:
    """Fill question, adjustment, adjusted p, the deciding interval and the verdict of every row.

    `across` puts the primary summaries of all blocks into one family per kind of method.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        asked = _asked(row)
        block = () if across and asked == "primary" else tuple(row[k] for k in _BLOCK)
        groups.setdefault((row["family"], asked, *block), []).append(row)
    for (family, asked, *_), members in groups.items():
        model, task, regime, steps, evaluation = (members[0][k] for k in _BLOCK)
        where = "all blocks" if across and asked == "primary" else describe((model, task, regime, steps, evaluation))
        _decide(members, f"{family} against {members[0]['control']}: {_ENDPOINTS[asked]}, {where}", options)


def _asked(row: Row) -> str:
    if row["kind"] == "benchmark":
        return "benchmark"
    return "primary" if row["summary"] == DOMAIN_BALANCED else "secondary"


def _decide(members: Sequence[Row], question: str, options: Options) -> None:
    column, method = ("p_bh", BH) if members[0]["kind"] == "benchmark" else ("p_holm", HOLM)
    p_F, tost_F = (np.array([r[k] for r in members], dtype=np.float64) for k in ("p_t", "tost_p"))
    adjusted_F, equal_F = adjusted(p_F, method), adjusted(tost_F, method)
    level_F, level_equal_F = levels(p_F, method, options.alpha), levels(tost_F, method, options.alpha)
    size = int((~np.isnan(p_F)).sum())
    for i, row in enumerate(members):
        p_equal = float(equal_F[i])
        said = verdict(row["delta"], float(adjusted_F[i]), p_equal, options.alpha)
        row |= {"question": question, "adjustment": method, "family_size": size, column: float(adjusted_F[i])}
        row |= {"tost_p_adjusted": p_equal, "verdict": said}
        row["equivalent"] = None if math.isnan(p_equal) else p_equal < options.alpha
        row |= _interval(row, said, 1 - 2 * level_equal_F[i] if said == EQUIVALENT else 1 - level_F[i])
        inside = -options.margin < row["verdict_low"] and row["verdict_high"] < options.margin
        row["within_margin"] = None if math.isnan(row["verdict_low"]) else inside


def _interval(row: Row, said: str, level: float) -> Row:
    """Give the t interval that the verdict rests on: it excludes 0, or lies inside the margin, exactly where the
    adjusted test says so.
    """
    if said == UNTESTABLE:
        return {"verdict_level": math.nan, "verdict_low": math.nan, "verdict_high": math.nan}
    half = t_quantile(float(level), row["n"] - 1) * row["sd"] / math.sqrt(row["n"])
    return {"verdict_level": float(level), "verdict_low": row["delta"] - half, "verdict_high": row["delta"] + half}
