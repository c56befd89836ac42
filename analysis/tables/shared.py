"""What several tables need: captions, contract columns with reasons, views of comparison rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from analysis.blocks import Block
from analysis.compare import Comparison, identity
from analysis.load.evaluations import LAST
from analysis.options import Options
from analysis.stats.bootstrap import SMALLEST_N
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.table import Column, Row, View, columns
from analysis.verdicts import interval_text, shared_noise, verdict_text

HEADLINE = columns(
    "method",
    "n||int",
    "score|average|score",
    "control_score|control, same seeds|score",
    "delta||delta",
    "ci_low,ci_high|95% CI (t)|interval",
    "p_t|p (t)|p",
    "p_perm|p (perm.)|p",
    "p_wilcoxon|p (Wilcoxon)|p",
    "p_holm|p (Holm)|p",
    "tost_p_adjusted|p (TOST, Holm)|p",
    "mde80_pooled|MDE 80%|score",
    "pairing_r|r|ratio",
    "verdict_text|verdict",
    "verdict_ci|CI of the verdict",
    "delta_clean|delta without suspects|delta",
)


def caption(study: Study, rows: Sequence[Row]) -> list[str]:
    """Say what every number rests on: unit, n, interval, corrections, margin, and what was dropped."""
    o = study.options
    primary = [r["n"] for r in rows if r["summary"] == DOMAIN_BALANCED]
    counts = sorted(set(primary if any(primary) else (r["n"] for r in rows)))
    spread = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]}..{counts[-1]}" if counts else "No"
    scope = "the methods of a block" if o.holm == "block" else "the methods of all blocks"
    text = [
        f"Unit: points (0..100). {spread} paired seeds. CI (t): paired Student t, {100 * o.level:g}%, of one row "
        f"alone; CI of the verdict: at the level that decided, {100 * (1 - o.alpha):g}% for a difference and "
        f"{100 * (1 - 2 * o.alpha):g}% for equivalence within {o.margin:g} points before the family's correction.",
        *([] if o.score == LAST else [f"Score of a run: {o.score}, the mean of its last evaluations."]),
        f"One family per question: Holm over {scope} on {DOMAIN_BALANCED}; Holm over all their other summaries "
        "and domains, exploratory; BH over method x benchmark, exploratory. The family is named in the column "
        "question of CSV and JSON.",
        f"MDE: the effect that the verdict (first step of Holm) finds with 80% power, from the block's pooled sd; "
        f"its {100 * o.level:g}% limits are in CSV and JSON.",
        dropped(rows),
    ]
    return text + [unreachable(n, o.alpha) for n in counts if n >= 2 and 2.0 ** (1 - n) >= o.alpha]


def unreachable(n: int, alpha: float) -> str:
    """Say that sign tests cannot reach significance with so few seeds."""
    return f"permutation and Wilcoxon cannot reach {alpha:g} at n = {n} (minimum {2.0 ** (1 - n):g})"


def dropped(rows: Sequence[Row]) -> str:
    """Name the seeds that were left out of the primary summary, per method (of all endpoints where it has no row)."""
    primary = [r for r in rows if r["summary"] == DOMAIN_BALANCED] or list(rows)
    named: dict[str, set[int]] = {}
    for row in primary:
        if row["dropped_seeds"]:
            named.setdefault(f"{row['method']} ({row['model']}, {row['campaign']})", set()).update(row["dropped_seeds"])
    if not named:
        return "Dropped: no seed."
    return "Dropped seeds: " + "; ".join(f"{m}: {', '.join(map(str, sorted(s)))}" for m, s in named.items()) + "."


def with_reasons(row: Row, options: Options) -> Row:
    """Give a comparison row whose `reason` explains each null field."""
    reasons = [row["reason"]] if row["reason"] else []
    if row["kind"] == "benchmark":
        reasons.append("p_holm: benchmarks are adjusted over method x benchmark (p_bh)")
    else:
        reasons.append("p_bh: summaries are adjusted over methods (p_holm)")
    if row["n"] < SMALLEST_N:
        reasons.append(f"boot_low, boot_high: percentile bootstrap only from {SMALLEST_N} seeds on")
    if row["n"] >= 2 and math.isnan(row["pairing_r"]):
        reasons.append("pairing_r: needs 3 pairs" if row["n"] < 3 else "pairing_r: constant scores")
    if row["n"] >= 2 and 2.0 ** (1 - row["n"]) >= options.alpha:
        reasons.append(f"p_perm, p_wilcoxon: {unreachable(row['n'], options.alpha).split('Wilcoxon ')[1]}")
    said = {"verdict_text": verdict_text(row, options), "verdict_ci": interval_text(row)}
    return row | said | {"reason": "; ".join(reasons)}


def controls(comparison: Comparison, family: str | None = None) -> list[Row]:
    """Give the controls' own mean, sd and n over all their seeds, per endpoint."""
    block = comparison.block
    found = {m.control for m in comparison.matches if m.control and family in (None, m.family)}
    return [score_row(block, c, e) for c in sorted(found) for e in block.endpoints]


def score_row(block: Block, method: str, endpoint: str) -> Row:
    """Give one method's mean over its seeds. One missing cell makes it missing; the sd of one run does not exist."""
    at = [block.seeds.index(s) for s in block.seeds_of(method)]
    score_S = block.endpoints[endpoint][block.row(method), at]
    sd = float(np.std(score_S, ddof=1)) if len(score_S) > 1 else math.nan
    mean = float(np.mean(score_S))
    return identity(block) | {"method": method, "summary": endpoint, "n": len(at), "score": mean, "score_sd": sd}


def pivot(rows: Iterable[Row], value: str, by: Callable[[Row], Any] = lambda r: r["method"]) -> dict[Any, Row]:
    """Turn rows into one row per method: {summary: row[value]}."""
    result: dict[Any, Row] = {}
    for row in rows:
        result.setdefault(by(row), {"method": row["method"]})[row["summary"]] = row[value]
    return result


def score_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Give one score column per endpoint."""
    return tuple(Column(key=n, title=n, style="score") for n in names)


def block_views(comparison: Comparison, family: str, rows: Sequence[Row], options: Options) -> list[View]:
    """Give a block's views: headline with delta and verdict; scores on domains and summaries; on benchmarks."""
    block = comparison.block
    primary = [r for r in rows if r["summary"] == DOMAIN_BALANCED]
    own = list(controls(comparison, family))
    control_rows = [r | {"verdict_text": "control"} for r in own if r["summary"] == DOMAIN_BALANCED]
    scores = [*pivot(own, "score").values(), *pivot(rows, "score").values()]
    domains = [e for e in block.summaries if e in block.domains or e.endswith(" (domain)")]
    summaries = [e for e in block.summaries if e not in domains]
    titles = tuple(
        Column(key=c.key, title=f"{100 * options.level:g}% CI (t)", style=c.style) if c.style == "interval" else c
        for c in HEADLINE
    )
    if any(r["n"] >= SMALLEST_N for r in primary):
        titles += columns("boot_low,boot_high|percentile bootstrap (secondary)|interval")
    return [
        View(title=f"{block.name}: against {primary[0]['control']}", columns=titles, rows=(*control_rows, *primary)),
        View(
            title=f"{block.name}: scores by domain and summary",
            columns=(*columns("method"), *score_columns([*domains, *summaries])),
            rows=tuple(scores),
        ),
        View(
            title=f"{block.name}: scores by benchmark",
            columns=(*columns("method"), *score_columns(block.benchmarks)),
            rows=tuple(scores),
        ),
    ]


def family_rows(study: Study, family: str | None) -> list[tuple[Comparison, str, list[Row]]]:
    """Give (comparison, family, rows with reasons) for every block and family ("mixers", or None: all but mixers)."""
    found = []
    for comparison in study.comparisons:
        for match in comparison.matches:
            if match.control is None or (family == "mixers") != (match.family == "mixers"):
                continue
            rows = [with_reasons(r, study.options) for r in comparison.rows if r["family"] == match.family]
            found.append((comparison, match.family, rows))
    return found


def block_notes(study: Study, comparisons: Iterable[Comparison]) -> list[str]:
    """Give notes on blocks: what was not compared, broken pairs, flagged controls, and what loading left out."""
    notes: list[str] = list(study.runs.notes)
    for comparison in comparisons:
        notes += [n if comparison.block.name in n else f"{comparison.block.name}: {n}" for n in comparison.notes]
        notes += shared_noise(comparison, study.options) + flagged_controls(comparison) + _starts(comparison.block)
    return notes


def _starts(block: Block) -> list[str]:
    """Name benchmarks on which the untrained model scored differently from run to run."""
    flat_NK = block.untrained_MSK.reshape(-1, len(block.benchmarks))
    flat_NK = flat_NK[~np.isnan(flat_NK).all(axis=1)]
    if len(flat_NK) < 2:
        return []
    high_K, low_K = np.fmax.reduce(flat_NK, axis=0), np.fmin.reduce(flat_NK, axis=0)
    spread = zip(block.benchmarks, high_K - low_K, strict=True)
    found = [f"{b} by up to {s:.2f} points" for b, s in spread if s > 1e-9]
    said = "the evaluation is noisy, or the runs did not start from one model"
    return [f"{block.name}: untrained scores differ between runs ({', '.join(found)}): {said}"] if found else []


def flagged_controls(comparison: Comparison) -> list[str]:
    """Say which control runs are suspect: such a run moves every delta of its family."""
    found = {m.control for m in comparison.matches if m.control}
    return [
        f"{comparison.block.name}: control run {f.method}, seed {f.seed} is suspect ({f.text}): it moves "
        "every delta here"
        for f in comparison.flags
        if f.level == "suspect" and f.method in found
    ]
