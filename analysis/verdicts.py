"""Verdicts in words: what decided, at which level, over how many methods and seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.compare import Comparison
from analysis.options import Options
from analysis.stats.layout import pairing_gain
from analysis.stats.multiplicity import BH, EQUIVALENT, INCONCLUSIVE, INFERIOR, SUPERIOR, UNTESTABLE
from analysis.stats.paired import t_quantile
from analysis.summaries import DOMAIN_BALANCED

Row = Mapping[str, Any]


def verdict_text(row: Row, options: Options) -> str:
    """Write a verdict with its family, and with the seeds that have no result."""
    parts = [] if row["verdict"] in (INCONCLUSIVE, UNTESTABLE) else [family_text(row)]
    parts += remarks(row, options)
    said = row["verdict"] + (f" ({'; '.join(parts)})" if parts else "")
    return "; ".join(text for text in (said, seeds_text(row)) if text)


def remarks(row: Row, options: Options) -> list[str]:
    """Say what a reader of one verdict must know.

    A difference whose deciding interval lies inside the margin is marked; so is one that sign flips cannot confirm at
    this n, and a p below alpha that the family's correction took back: the interval of the row alone excludes 0.
    """
    if row["verdict"] in (SUPERIOR, INFERIOR):
        flips = f"n = {row['n']}: rests on normal differences, sign flips reach {row['smallest_p']:g} at best"
        inside = ["within margin"] if row["within_margin"] else []
        return [*inside, *([flips] if row["smallest_p"] >= options.alpha else [])]
    if row["verdict"] == EQUIVALENT:
        return [f"within {options.margin:g} points"]
    if row["verdict"] == INCONCLUSIVE and row["p_t"] < options.alpha:
        p = row["p_bh"] if row["adjustment"] == BH else row["p_holm"]
        return [f"p {row['p_t']:.3f} alone, {p:.3f} by {family_text(row)}"]
    return []


def family_text(row: Row) -> str:
    """Name the correction and the size of its family: "Holm over 8"."""
    return f"{'BH' if row['adjustment'] == BH else 'Holm'} over {row['family_size']}"


def seeds_text(row: Row) -> str:
    """Say how many of the planned seeds the verdict rests on: "5 of 8 seeds; 3 failed". Empty where it is all."""
    if row["n"] == row["planned_seeds"]:
        return ""
    failed, unfinished = len(row["failed_seeds"]), len(row["unfinished_seeds"])
    other = row["planned_seeds"] - row["n"] - failed - unfinished
    counts = ((failed, "failed"), (unfinished, "unfinished"), (other, "without a valid pair"))
    return f"{row['n']} of {row['planned_seeds']} seeds; " + ", ".join(f"{c} {word}" for c, word in counts if c > 0)


def interval_text(row: Row) -> str:
    """Write the interval that decided, with its level: "[-0.31, +0.55] (96.7%)". Empty where there is none."""
    if row["verdict"] == UNTESTABLE:
        return ""
    return f"[{row['verdict_low']:+.2f}, {row['verdict_high']:+.2f}] ({100 * row['verdict_level']:.3g}%)"


def shared_noise(comparison: Comparison, options: Options) -> list[str]:
    """Say once per control that every delta of the block holds its noise, and how large that is."""
    block, fit = comparison.block, comparison.fit
    lines = []
    for match in comparison.matches:
        if match.control is None or len(match.methods) < 2:
            continue
        runs = len(block.seeds_of(match.control))
        half = t_quantile(options.level, fit.df) * fit.residual_sd / math.sqrt(runs) if fit.df else math.nan
        if math.isnan(half):
            continue
        lines.append(
            f"{block.name}: all deltas against {match.control} hold the noise of the same {runs} runs, which moves "
            f"them together by up to {half:.2f} points ({100 * options.level:g}%)"
            f"{_together(comparison, match.methods)}: a control that came out low makes every method look good"
        )
    return lines


def _together(comparison: Comparison, methods: tuple[str, ...]) -> str:
    """Give the mean correlation of the methods' deltas over seeds, where five pairs or more can show one."""
    block = comparison.block
    match = next(m for m in comparison.matches if methods == m.methods)
    score_MS = block.endpoints[DOMAIN_BALANCED]
    delta_MS = score_MS[[block.row(m) for m in methods]] - score_MS[block.row(str(match.control))]
    delta_MS = delta_MS[:, ~np.isnan(delta_MS).any(axis=0)]
    if delta_MS.shape[1] < 5:
        return ""
    pairs = [pairing_gain(a_S, b_S).r for i, a_S in enumerate(delta_MS) for b_S in delta_MS[:i]]
    return f"; over seeds they correlate by {np.nanmean(pairs):.2f}" if not np.isnan(pairs).all() else ""
