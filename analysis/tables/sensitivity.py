"""sensitivity: does the ranking of methods depend on the summary, and on the seeds?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis import paper
from analysis.audit import Match
from analysis.benchmarks import Floats
from analysis.blocks import Block
from analysis.compare import Comparison, identity
from analysis.options import Options
from analysis.stats.ranks import agreement, closeness, rank_intervals, spearman
from analysis.stats.suspects import suspect_runs
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED, all_summaries
from analysis.tables.table import Row, Table, View, columns, unique

Bools = npt.NDArray[np.bool_]

_CORRELATION = columns(
    "summary",
    "methods||int",
    "n|seeds|int",
    "spearman|Spearman|ratio",
    "spearman_close_low,spearman_close_high|close means exchanged|interval",
    "spearman_clean|without suspects|ratio",
    "spearman_printed|scores as printed|ratio",
    "spearman_clean_printed|as printed, without suspects|ratio",
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
        "Ranks of means of exact counts (restored where a source prints rounded percentages) over the seeds complete "
        "for all methods; the control is one of the methods. As printed: from the rounded percentages. Without "
        "suspects: each method's mean over its other seeds. Close means exchanged: range when one pair of neighbours "
        "that differ by less than one question in one run changes places. "
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
    exact = _endpoints(block, exact_scores(block))
    rows = []
    for summary in block.summaries:
        if summary == DOMAIN_BALANCED:
            continue
        a_MS, b_MS = exact[summary][at], exact[DOMAIN_BALANCED][at]
        gap_S = np.asarray(np.isnan(a_MS + b_MS).any(axis=0))
        found = agreement(a_MS, b_MS, options.generator())
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
            | _fragility(comparison, summary, at, ~gap_S)
            | {"paper": known, "reason": "" if found.seeds else "no seed at which every method has both summaries"}
        )
    return rows


def exact_scores(block: Block) -> Floats:
    """Give score_MSK from whole counts where they are known: rounding a printed percentage must not rank methods."""
    items_K = np.array([np.nan if n is None else n for n in block.items_K], dtype=np.float64)
    exact_MSK = 100.0 * block.count_MSK / items_K
    return np.where(np.isnan(exact_MSK), block.score_MSK, exact_MSK)


def _endpoints(block: Block, score_MSK: Floats) -> dict[str, Floats]:
    return all_summaries(score_MSK, block.benchmarks, block.domain_K, block.items_K, block.domains)


def _fragility(comparison: Comparison, summary: str, at: list[int], whole_S: Bools) -> Row:
    """Give the correlation with close means exchanged, without suspect runs, and from scores as printed."""
    block = comparison.block
    pair = (summary, DOMAIN_BALANCED)
    clean_MS = np.asarray(np.isfinite(block.without(suspect_runs(comparison.flags))).any(axis=-1))
    means = {}
    for name, score_MSK in (("", exact_scores(block)), ("_printed", block.score_MSK)):
        endpoints = _endpoints(block, score_MSK)
        for kind, kept_MS in (("", np.ones_like(clean_MS)), ("_clean", clean_MS)):
            means[kind + name] = [_mean(endpoints[e][at][:, whole_S], kept_MS[at][:, whole_S]) for e in pair]
    steps = [_one_question(block, e) / max(int(whole_S.sum()), 1) for e in pair]
    close = closeness(means[""][0], means[""][1], steps[0], steps[1])
    return {f"spearman{k}": spearman(*v) for k, v in means.items() if k} | {
        "spearman_close_low": close.low,
        "spearman_close_high": close.high,
        "smallest_gap": close.gap,
        "one_question": close.one_question,
    }


def _mean(score_MS: Floats, kept_MS: Bools) -> Floats:
    """Give each method's mean over the seeds kept; NaN without any."""
    count_M = kept_MS.sum(axis=1)
    total_M = np.where(kept_MS, score_MS, 0.0).sum(axis=1)
    return np.asarray(np.divide(total_M, count_M, out=np.full(len(total_M), np.nan), where=count_M > 0))


def _one_question(block: Block, summary: str) -> float:
    """Give the most that one more right answer moves a run's summary [points]; 0 where item counts are unknown."""
    if any(n is None for n in block.items_K):
        return 0.0
    weight_K = _endpoints(block, np.eye(len(block.benchmarks)))[summary]
    return float(np.max(weight_K * 100.0 / np.array(block.items_K, dtype=np.float64)))


def _ranks(comparison: Comparison, match: Match, options: Options) -> list[Row]:
    block = comparison.block
    names = [m for m in (match.control, *match.methods) if m is not None]
    at = [block.row(m) for m in names]
    exact = _endpoints(block, exact_scores(block))
    rows = []
    for summary in block.summaries:
        score_MS = exact[summary][at]
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
