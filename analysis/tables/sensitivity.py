"""sensitivity: does the ranking of methods depend on the summary, and on the seeds?"""

from __future__ import annotations

import numpy as np

from analysis import paper
from analysis.audit import Match
from analysis.compare import Comparison, identity
from analysis.options import Options
from analysis.stats.ranks import agreement, rank_intervals
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.table import Row, Table, View, columns, unique

_CORRELATION = columns(
    "summary",
    "methods||int",
    "n|seeds|int",
    "spearman|Spearman|ratio",
    "spearman_loso_low,spearman_loso_high|one seed left out|interval",
    "spearman_boot_low,spearman_boot_high|seeds resampled|interval",
    "kendall|Kendall tau-b|ratio",
    "kendall_loso_low,kendall_loso_high|one seed left out|interval",
    "kendall_boot_low,kendall_boot_high|seeds resampled|interval",
    "paper|paper Spearman|ratio",
)


def build(study: Study) -> Table:
    """Rank correlation of each summary with the domain-balanced one, and every method's rank under each summary."""
    rows: list[Row] = []
    views: list[View] = []
    left_out: list[str] = []
    for comparison in study.comparisons:
        for match in comparison.matches:
            if match.control is None or len(match.methods) < 2:
                continue
            correlations = _correlations(comparison, match, study.options)
            ranked = _ranks(comparison, match, study.options)
            rows += correlations + ranked
            seeds = sorted({s for r in correlations if r["n"] for s in r["dropped_seeds"]})
            if seeds:
                where = f"{comparison.block.name}: {match.family}"
                said = "seeds that not every method has, left out of the correlation"
                left_out.append(f"{where}: {said}: {', '.join(map(str, seeds))}")
            views += _views(comparison, match, correlations, ranked)
    notes = [
        "Ranks of unrounded means over the seeds complete for all methods; the control is one of the methods. "
        "Ranges: smallest and largest value with one seed left out; central 95% over resampled seeds (all "
        "resamples where few).",
        "A rank correlation over a handful of methods that differ by less than their noise says little: read "
        "the ranges first.",
        *left_out,
    ]
    return Table(
        name="sensitivity",
        title="Rankings under other summaries",
        rows=tuple(rows),
        views=tuple(views),
        notes=unique(notes if rows else ["fewer than three methods in every block: no ranking to correlate"]),
    )


def _correlations(comparison: Comparison, match: Match, options: Options) -> list[Row]:
    block = comparison.block
    at = [block.row(m) for m in (match.control, *match.methods) if m is not None]
    primary_MS = block.endpoints[DOMAIN_BALANCED][at]
    rows = []
    for summary in block.summaries:
        if summary == DOMAIN_BALANCED:
            continue
        gap_S = np.asarray(np.isnan(primary_MS + block.endpoints[summary][at]).any(axis=0))
        found = agreement(block.endpoints[summary][at], primary_MS, options.generator())
        ranges = {
            f"{name}_{side}": getattr(found, name)[i]
            for name in ("spearman_loso", "spearman_boot", "kendall_loso", "kendall_boot")
            for i, side in enumerate(("low", "high"))
        }
        known = paper.rank_correlation(block, found.methods) if summary == "six" else None
        rows.append(
            identity(block)
            | {"kind": "correlation", "family": match.family, "summary": summary, "against": DOMAIN_BALANCED}
            | {"dropped_seeds": [s for s, gap in zip(block.seeds, gap_S, strict=True) if gap]}
            | {"methods": found.methods, "n": found.seeds, "spearman": found.spearman, "kendall": found.kendall}
            | ranges
            | {"paper": known, "reason": "" if found.seeds else "no seed at which every method has both summaries"}
        )
    return rows


def _ranks(comparison: Comparison, match: Match, options: Options) -> list[Row]:
    block = comparison.block
    names = [m for m in (match.control, *match.methods) if m is not None]
    at = [block.row(m) for m in names]
    rows = []
    for summary in block.summaries:
        score_MS = block.endpoints[summary][at]
        rank_M, low_M, high_M = rank_intervals(score_MS, options.generator())
        for i, method in enumerate(names):
            rows.append(
                identity(block)
                | {"kind": "rank", "family": match.family, "method": method, "summary": summary}
                | {"score": float(score_MS[i].mean()), "rank": rank_M[i], "rank_low": low_M[i], "rank_high": high_M[i]}
            )
    return rows


def _views(comparison: Comparison, match: Match, correlations: list[Row], ranked: list[Row]) -> list[View]:
    name = comparison.block.name
    order = [r["method"] for r in sorted(ranked, key=lambda r: r["rank"]) if r["summary"] == DOMAIN_BALANCED]
    shown = []
    for method in order:
        row: Row = {"method": method}
        for r in ranked:
            if r["method"] == method:
                row |= {f"{r['summary']} {k}": r[k] for k in ("score", "rank", "rank_low", "rank_high")}
        shown.append(row)
    specs = ["method"]
    for summary in comparison.block.summaries:
        specs += [f"{summary} score|{summary}|score", f"{summary} rank|rank|rank"]
    specs.append(f"{DOMAIN_BALANCED} rank_low,{DOMAIN_BALANCED} rank_high|95% rank interval|ranks")
    return [
        View(
            title=f"{name}: {match.family}, correlation with {DOMAIN_BALANCED}",
            columns=_CORRELATION,
            rows=tuple(correlations),
        ),
        View(title=f"{name}: {match.family}, ranks", columns=columns(*specs), rows=tuple(shown)),
    ]
