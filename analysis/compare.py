"""Comparison rows: every method against its control on every endpoint of a block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.audit import Match, PairAudit, audit_pair, match
from analysis.benchmarks import PAPER, Floats
from analysis.blocks import Block
from analysis.errors import unknown
from analysis.families import decide
from analysis.load.frame import LeftOut
from analysis.options import DEFAULTS, Options
from analysis.stats.bootstrap import percentile_interval
from analysis.stats.equivalence import tost
from analysis.stats.layout import Layout, layout, pairing_gain, pooled_difference_sd, probability_better, sd_interval
from analysis.stats.paired import SMALLEST_N, paired, smallest_p
from analysis.stats.power import detectable
from analysis.stats.suspects import Flag, find_suspects, suspect_runs
from analysis.summaries import DOMAIN_BALANCED, why_missing

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything computed about one block: rows (flat, NaN where not computable), audits, suspects, the two-way fit."""

    block: Block
    matches: tuple[Match, ...]
    audits: dict[tuple[str, str], PairAudit]
    flags: tuple[Flag, ...]
    fit: Layout
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())


def compare_all(found: list[Block], options: Options, left_out: Sequence[LeftOut] = ()) -> list[Comparison]:
    """Compare every block; Holm over the primary summary per block, or over all blocks with options.holm = "all".

    `left_out` are runs without a result: their seeds are part of every verdict they were planned for.
    Raises AnalysisError for a control or method that was asked for and that no block has.
    """
    _check_names(found, options)
    comparisons = [_elsewhere(compare(block, options, left_out), found, options) for block in found]
    if options.holm == "all":
        decide([r for c in comparisons for r in c.rows], options, across=True)
    return comparisons


def _check_names(found: list[Block], options: Options) -> None:
    known = sorted({m for block in found for m in block.methods})
    own = [f for f in options.families if f not in DEFAULTS]
    asked = [options.control] if options.control else [n for f in own for n in (*f.controls, *(f.methods or ()))]
    for name in asked:
        if name not in known:
            raise unknown("method", name, known)


def _elsewhere(comparison: Comparison, found: list[Block], options: Options) -> Comparison:
    """Add where a missing control does exist: with another budget, regime or evaluation, so no pair."""
    block, notes = comparison.block, list(comparison.notes)
    for lacking in (m for m in comparison.matches if m.control is None):
        family = [f for f in options.families if f.name == lacking.family]
        names = family[0].controls if family else (options.control,)
        others = [b for b in found if b.key[:2] == block.key[:2] and b is not block and set(names) & set(b.methods)]
        notes += [
            f"{block.name}: {' or '.join(map(str, names))} exists in {b.name}: no pair across blocks" for b in others
        ]
    return replace(comparison, notes=tuple(notes))


def compare(block: Block, options: Options, left_out: Sequence[LeftOut] = ()) -> Comparison:
    """Compare every method of a block with its control, on every summary, domain and benchmark."""
    flags = flags_of(block, options)
    clean = block.endpoints_without(suspect_runs(flags))
    fit = layout(block.endpoints[DOMAIN_BALANCED])
    matches = match(block, options)
    rows: list[Row] = []
    audits: dict[tuple[str, str], PairAudit] = {}
    for found in matches:
        if found.control is None:
            continue
        for method in found.methods:
            audit = audit_pair(block, found.family, method, found.control, options)
            audits[(found.family, method)] = audit
            seeds = _planned(block, found, method, left_out)
            rows += [_row(block, found, method, e, audit, clean, options) | seeds for e in block.endpoints]
    decide(rows, options, across=False)
    return Comparison(
        block=block,
        matches=tuple(matches),
        audits=audits,
        flags=tuple(flags),
        fit=fit,
        rows=tuple(rows),
        notes=(*(m.note for m in matches if m.note), *(p for a in audits.values() for p in a.problems)),
    )


def flags_of(block: Block, options: Options) -> list[Flag]:
    """Search a block for suspect evaluations."""
    chance_K = [PAPER[b].chance if b in PAPER else None for b in block.benchmarks]
    return find_suspects(
        block.score_MSK,
        block.methods,
        block.seeds,
        block.benchmarks,
        block.items_K,
        chance_K,
        z_joint=options.z_joint,
        z_single=options.z_single,
    )


def identity(block: Block) -> Row:
    """Give the columns that name a block; `campaign` and `task` are the same word from two kinds of source."""
    model, task, regime, steps, evaluation = block.key
    return {"model": model, "campaign": task, "task": task, "regime": regime, "steps": steps, "evaluation": evaluation}


def _planned(block: Block, found: Match, method: str, left_out: Sequence[LeftOut]) -> Row:
    """Give the number of seeds that either side was run or planned at, and those of them without a result."""
    missing = [x for x in left_out if x.belongs(block.key) and x.method in (method, found.control)]
    seeds = {*block.seeds_of(method), *block.seeds_of(str(found.control)), *(x.seed for x in missing)}
    failed = sorted({x.seed for x in missing if x.state in ("failed", "broken")})
    unfinished = sorted({x.seed for x in missing} - set(failed))
    return {"planned_seeds": len(seeds), "failed_seeds": failed, "unfinished_seeds": unfinished}


def _row(
    block: Block, found: Match, method: str, endpoint: str, audit: PairAudit, clean: dict[str, Floats], options: Options
) -> Row:
    control = found.control
    assert control is not None, "only matched families are compared"
    at = [block.seeds.index(s) for s in audit.seeds]
    a_S, b_S = (block.endpoints[endpoint][block.row(m), at] for m in (method, control))
    whole_S = ~(np.isnan(a_S) | np.isnan(b_S))
    incomplete = [s for s, ok in zip(audit.seeds, whole_S, strict=True) if not ok]
    kept = [i for i, ok in zip(at, whole_S, strict=True) if ok]
    row = identity(block) | {
        "family": found.family,
        "method": method,
        "control": control,
        "summary": endpoint,
        "kind": "benchmark" if endpoint in block.benchmarks else "domain" if _is_domain(block, endpoint) else "summary",
        "dropped_seeds": sorted({*audit.refused, *incomplete, *_one_sided(block, method, control)}),
    }
    constant = _constant_counts(block, method, control, endpoint, kept)
    row |= _statistics(a_S[whole_S], b_S[whole_S], constant, options)
    row |= _detectable(row, layout(block.endpoints[endpoint]), len(found.methods), options)
    if row["n"] == 0:
        missing = why_missing(endpoint, block.benchmarks, block.items_K, block.domain_K) if incomplete else "no pair"
        row["reason"] = missing
    if row["kind"] != "benchmark":
        row |= _without(clean[endpoint], block, method, control, at, options)
    return row


def _detectable(row: Row, fit: Layout, arms: int, options: Options) -> Row:
    """Give the effects detectable with 80% power: by the row's own test, and by its verdict.

    The verdict's comes from the block's pooled sd at the level of Holm's first step, with the interval that the pooled
    sd has.
    """
    n, sd = (row["n"], pooled_difference_sd(fit)) if row["n"] >= SMALLEST_N else (0, math.nan)
    low, high = sd_interval(sd, fit.df, options.level)
    level = options.alpha / arms
    return {
        "mde80": detectable(row["sd"], n, options.alpha),
        "mde80_pooled": detectable(sd, n, level),
        "mde80_pooled_low": detectable(low, n, level),
        "mde80_pooled_high": detectable(high, n, level),
    }


def _statistics(a_S: Floats, b_S: Floats, constant: bool, options: Options) -> Row:
    delta_S = a_S - b_S
    result = paired(delta_S, options.generator(), level=options.level, constant=constant)
    equal = tost(delta_S if result.testable else delta_S[:0], options.margin, alpha=options.alpha)
    gain = pairing_gain(a_S, b_S)
    boot = percentile_interval(delta_S, options.generator(), level=options.level, resamples=options.resamples)
    return {
        "n": result.n,
        "score": float(a_S.mean()) if result.n else math.nan,
        "control_score": float(b_S.mean()) if result.n else math.nan,
        "delta": result.mean,
        "sd": result.sd,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "p_t": result.p_t,
        "p_perm": result.p_perm,
        "p_wilcoxon": result.p_wilcoxon,
        "p_holm": math.nan,
        "p_bh": math.nan,
        "tost_p": equal.p,
        "tost_ci_low": equal.ci_low,
        "tost_ci_high": equal.ci_high,
        "d_z": result.d_z,
        "pairing_r": gain.r,
        "variance_ratio": gain.variance_ratio,
        "p_better": probability_better(a_S, b_S),
        "boot_low": boot[0],
        "boot_high": boot[1],
        "smallest_p": smallest_p(result.n) if result.n else math.nan,
        "reason": result.reason,
    }


def _without(clean_MS: Floats, block: Block, method: str, control: str, at: list[int], options: Options) -> Row:
    """Give the headline once more without the suspect runs of either side."""
    delta_S = clean_MS[block.row(method), at] - clean_MS[block.row(control), at]
    delta_S = delta_S[~np.isnan(delta_S)]
    result = paired(delta_S, options.generator(), level=options.level)
    return {
        "n_clean": result.n,
        "delta_clean": result.mean,
        "ci_low_clean": result.ci_low,
        "ci_high_clean": result.ci_high,
        "p_t_clean": result.p_t,
    }


def _is_domain(block: Block, endpoint: str) -> bool:
    return endpoint in block.domains or endpoint.endswith(" (domain)")


def _one_sided(block: Block, method: str, control: str) -> set[int]:
    return set(block.seeds_of(method)) ^ set(block.seeds_of(control))


def _constant_counts(block: Block, method: str, control: str, endpoint: str, at: list[int]) -> bool:
    """Say whether a benchmark's item counts differ by the same number at every seed: no variance, whatever was
    printed.
    """
    if endpoint not in block.benchmarks or len(at) < 2:
        return False
    k = block.benchmarks.index(endpoint)
    delta_S = block.count_MSK[block.row(method), at, k] - block.count_MSK[block.row(control), at, k]
    return bool(not np.isnan(delta_S).any() and np.ptp(delta_S) == 0)
