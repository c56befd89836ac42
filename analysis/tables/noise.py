"""noise: how much runs differ that differ in nothing but chance, and what follows for the next study."""

from __future__ import annotations

import math

import numpy as np

from analysis.audit import Match
from analysis.benchmarks import Floats
from analysis.blocks import Block
from analysis.compare import Comparison, identity
from analysis.options import Options
from analysis.progress import held_out
from analysis.stats.guards import covariate_beta
from analysis.stats.layout import layout, pooled_difference_sd, seed_correlation
from analysis.stats.noise import late_ratio, over_binomial, run_spread, same_against_same, variance_shares
from analysis.stats.power import seeds_needed
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED, all_summaries
from analysis.tables.table import Row, Table, View, columns, unique

_LATE = (2, 3, 5, 10)  # evaluations averaged

_BLOCK = columns(
    "family",
    "methods||int",
    "runs||int",
    "sigma|sd of a run|score",
    "sigma_low,sigma_high|its limits|limits",
    "rho|seed correlation|ratio",
    "rho_low,rho_high|its limits|limits",
    "beta|covariate at most|ratio",
    "aa_rejected|A/A rejected|ratio",
    "aa_n|of n against n|int",
    "seeds_needed|seeds for the margin|int",
)
_BENCHMARKS = columns(
    "benchmark",
    "items||int",
    "sigma|sd of a run|score",
    "over_binomial|over a binomial's variance|ratio",
    "over_binomial_low,over_binomial_high|its limits|limits",
    "share|share of the average's variance|ratio",
)
_LATER = columns(
    "family",
    "evaluations||int",
    "first_step|from step|int",
    "ratio|R|ratio",
    "ratio_low,ratio_high|its limits|limits",
    "r|r with the last|ratio",
)


def build(study: Study) -> Table:
    """Rows of kind "block" (per family), "benchmark" and "late" (R of the mean of the last evaluations)."""
    rows: list[Row] = []
    views: list[View] = []
    notes: list[str] = []
    for comparison in study.comparisons:
        matches = [m for m in comparison.matches if m.control is not None]
        blocks = [_block(comparison, m, study.options) for m in matches]
        benchmarks = _benchmarks(comparison.block, study.options)
        late = [r for m in matches for r in _late(study, comparison, m)]
        name = comparison.block.name
        for title, shown, found in (
            (name, _BLOCK, blocks),
            (f"{name}: by benchmark", _BENCHMARKS, benchmarks),
            (f"{name}: late evaluations", _LATER, late),
        ):
            if found:
                rows += found
                views.append(View(title=title, columns=shown, rows=tuple(found)))
        notes += [f"{name}: {said}" for said in _follows(blocks, benchmarks, late, study.options)]
    head = [
        f"{DOMAIN_BALANCED}, points. sd of a run: pooled within methods. Seed correlation: of two methods at one seed; "
        "a next study may use the control as covariate with beta at most its one-sided lower 90% bound. A/A: halves of "
        f"the control's runs at random, paired t, share with p < {study.options.alpha:g} (from six runs on).",
        "A binomial's variance is the most that drawing answers to fixed questions can make: above 1 training runs "
        "differ. R: variance of a paired difference at the last evaluation over that of the mean of the last ones.",
    ]
    return Table(
        name="noise",
        title="Noise floor",
        rows=tuple(rows),
        views=tuple(views),
        notes=unique([*head, *notes] if rows else ["no family with a control: no noise to measure"]),
    )


def _block(comparison: Comparison, match: Match, options: Options) -> Row:
    block = comparison.block
    score_MS = block.endpoints[DOMAIN_BALANCED][[block.row(m) for m in (str(match.control), *match.methods)]]
    spread, rho, fit = run_spread(score_MS, options.level), seed_correlation(score_MS, options.level), layout(score_MS)
    same = same_against_same(score_MS[0], options.generator(), alpha=options.alpha)
    needed = seeds_needed(
        options.margin, pooled_difference_sd(fit), options.alpha, arms=len(match.methods), df=fit.df or None
    )
    return identity(block) | {
        "kind": "block",
        "family": match.family,
        "control": match.control,
        "summary": DOMAIN_BALANCED,
        "methods": len(score_MS),
        "runs": int((~np.isnan(score_MS)).sum()),
        "sigma": spread.sd,
        "sigma_df": spread.df,
        "sigma_low": spread.low,
        "sigma_high": spread.high,
        "rho": rho.rho,
        "rho_low": rho.low,
        "rho_high": rho.high,
        "rho_lower90": rho.lower90,
        "beta": covariate_beta(rho),
        "aa_rejected": same.rejected,
        "aa_n": same.n,
        "seeds_needed": needed,
        "margin": options.margin,
    }


def _benchmarks(block: Block, options: Options) -> list[Row]:
    weight_K = all_summaries(
        np.eye(len(block.benchmarks)), block.benchmarks, block.domain_K, block.items_K, block.domains
    )[DOMAIN_BALANCED]
    if np.isnan(weight_K).any():
        return []
    share_K = variance_shares(block.score_MSK, weight_K)
    rows = []
    for k, name in enumerate(block.benchmarks):
        score_MS = block.score_MSK[:, :, k]
        spread = run_spread(score_MS, options.level)
        ratio = over_binomial(score_MS, block.items_K[k], options.level)
        if spread.df:
            rows.append(
                identity(block)
                | {"kind": "benchmark", "benchmark": name, "domain": block.domain_K[k], "items": block.items_K[k]}
                | {"sigma": spread.sd, "sigma_df": spread.df, "share": float(share_K[k])}
                | {"over_binomial": ratio.ratio, "over_binomial_low": ratio.low, "over_binomial_high": ratio.high}
            )
    return rows


def _late(study: Study, comparison: Comparison, match: Match) -> list[Row]:
    """Compare the last evaluation during training with means over the last ones, where all runs have them alike."""
    block = comparison.block
    methods = (str(match.control), *match.methods)
    found = {(m, s): held_out(r, study.curves(r)) for (m, s), r in block.runs.items() if m in methods}
    known = {key: p for key, p in found.items() if p is not None}
    if not known or len({tuple(p.step_T) for p in known.values()}) != 1:
        return []
    step_T = next(iter(known.values())).step_T
    score_MST = np.full((len(methods), len(block.seeds), len(step_T)), np.nan)
    for (method, seed), p in known.items():
        score_MST[methods.index(method), block.seeds.index(seed)] = p.score_T
    return [_late_row(block, match, score_MST, step_T, k, study.options) for k in _LATE if k <= len(step_T)]


def _late_row(block: Block, match: Match, score_MST: Floats, step_T: Floats, k: int, options: Options) -> Row:
    found = late_ratio(score_MST[:, :, -1], score_MST[:, :, -k:].mean(axis=2), options.level)
    return identity(block) | {
        "kind": "late",
        "family": match.family,
        "summary": DOMAIN_BALANCED,
        "evaluations": k,
        "first_step": int(step_T[-k]),
        "ratio": found.ratio,
        "ratio_low": found.low,
        "ratio_high": found.high,
        "r": found.r,
    }


def _follows(blocks: list[Row], benchmarks: list[Row], late: list[Row], options: Options) -> list[str]:
    """Say what the noise means for the next study."""
    lines = []
    for row in (b for b in blocks if not math.isnan(b["sigma"])):
        count = "more than 10000" if row["seeds_needed"] is None else str(row["seeds_needed"])
        said = f"{row['family']}: {options.margin:g} points need {count} paired seeds (power .8 after Holm)"
        if not math.isnan(row["rho"]):
            pairs = "seeds pair nothing that is shown" if row["rho_lower90"] <= 0 else "seeds pair"
            said += f"; {pairs}, a next study may use beta up to {row['beta']:.2f}"
        lines.append(said)
    better = [r for r in late if r["ratio_low"] > 1]
    if better:
        best = max(better, key=lambda r: r["ratio"])
        said = f"the mean of the last {best['evaluations']} evaluations is the less noisy score"
        lines.append(f"{said} (R {best['ratio']:.2f})")
    elif any(not math.isnan(r["ratio"]) for r in late):
        lines.append("averaging late evaluations is not shown to help: use the last one")
    elif blocks:
        lines.append("no evaluations during training at common steps: R is unknown")
    less = [r["benchmark"] for r in benchmarks if r["over_binomial_high"] < 1]
    more = [r["benchmark"] for r in benchmarks if r["over_binomial_low"] > 1]
    if less:
        lines.append(f"{', '.join(less)}: runs spread less than a binomial, more answers per question would help")
    if more:
        lines.append(f"{', '.join(more)}: training runs themselves differ, only more runs help")
    return lines
