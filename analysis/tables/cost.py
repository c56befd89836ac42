"""cost: tokens, prompts and seconds per method; held-out deltas at equal generated tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.audit import Match
from analysis.compare import Comparison, identity
from analysis.progress import Progress, held_out
from analysis.stats.curves import at
from analysis.stats.multiplicity import HOLM, adjusted
from analysis.stats.paired import paired
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.table import Row, Table, View, columns, unique

_COST = columns(
    "method",
    "n||int",
    "prompts||big",
    "tokens_generated|tokens generated|big",
    "tokens_trained|tokens trained|big",
    "tokens_dropped|tokens dropped|big",
    "seconds|seconds|big",
    "gpu_seconds|GPU-seconds|big",
)
_EQUAL = columns(
    "method",
    "control",
    "n||int",
    "tokens|tokens (mean)|big",
    "control_score|control|score",
    "score||score",
    "delta||delta",
    "ci_low,ci_high|CI (t)|interval",
    "p_holm|p (Holm)|p",
)


def build(study: Study) -> Table:
    """Rows of kind "cost" (means per run) and "equal" (paired deltas of held-out scores at equal generated tokens)."""
    rows: list[Row] = []
    views: list[View] = []
    for comparison in study.comparisons:
        costs = [_cost(comparison, m) for m in comparison.block.methods]
        if any(not math.isnan(c["tokens_generated"]) or not math.isnan(c["seconds"]) for c in costs):
            rows += costs
            views.append(View(title=f"{comparison.block.name}: per run", columns=_COST, rows=tuple(costs)))
        equal = [r for m in comparison.matches if m.control for r in _equal(study, comparison, m)]
        if equal:
            rows += equal
            views.append(
                View(
                    title=f"{comparison.block.name}: held-out score at equal generated tokens",
                    columns=_EQUAL,
                    rows=tuple(equal),
                )
            )
    notes = [
        "Means per run over seeds. Dropped tokens were generated and paid for, then got weight 0.",
        "Equal generated tokens: the held-out scores of both runs of a pair, between evaluations during training "
        "interpolated, at the smaller of their final token counts; Holm over the methods. Runs without such "
        "evaluations are not compared: training rewards are of each method's own prompts, and equal trained tokens "
        "would stop the control early.",
        *study.curve_notes,
    ]
    if not rows:
        notes = ["the source records no tokens, seconds or curves"]
    return Table(name="cost", title="Cost", rows=tuple(rows), views=tuple(views), notes=unique(notes))


def _cost(comparison: Comparison, method: str) -> Row:
    block = comparison.block
    costs = [block.runs[(method, s)].cost for s in block.seeds_of(method)]
    tokens = {
        f"tokens_{k}": _mean([_number(c.get("tokens"), k) for c in costs]) for k in ("generated", "trained", "dropped")
    }
    return (
        identity(block)
        | {"kind": "cost", "method": method, "n": len(costs), "prompts": _mean([_number(c, "prompts") for c in costs])}
        | tokens
        | {"seconds": _mean([_number(c.get("seconds"), "step") for c in costs])}
        | {"gpu_seconds": _mean([_number(c, "gpu_seconds") for c in costs])}
    )


def _number(values: Any, key: str) -> float:
    value = values.get(key) if isinstance(values, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _mean(values: list[float]) -> float:
    """Give the mean; missing where one run did not record it."""
    return float(np.mean(values)) if values else math.nan


def _equal(study: Study, comparison: Comparison, match: Match) -> list[Row]:
    """Compare held-out scores at equal generated tokens; the methods of one control are one family (Holm)."""
    rows = []
    for method in match.methods:
        pairs = []
        for seed in comparison.audits[(match.family, method)].seeds:
            both = (comparison.block.runs[(m, seed)] for m in (method, match.control or ""))
            a, b = (held_out(run, study.curves(run)) for run in both)
            if a is not None and b is not None:
                pairs.append((a, b))
        if pairs:
            rows.append(_equal_row(study, comparison, match, method, pairs))
    p_F = adjusted(np.array([r["p_t"] for r in rows], dtype=np.float64), HOLM)
    question = f"{match.family} against {match.control}: {DOMAIN_BALANCED} at equal generated tokens"
    for row, p in zip(rows, p_F, strict=True):
        size = int((~np.isnan(p_F)).sum())
        row |= {"question": f"{question}, {comparison.block.name}", "family_size": size, "p_holm": float(p)}
    return rows


def _equal_row(
    study: Study, comparison: Comparison, match: Match, method: str, pairs: list[tuple[Progress, Progress]]
) -> Row:
    x_S, a_S, b_S = (np.array(v) for v in zip(*(_matched(a, b) for a, b in pairs), strict=True))
    whole_S = ~(np.isnan(a_S) | np.isnan(b_S))
    result = paired((a_S - b_S)[whole_S], study.options.generator(), level=study.options.level)
    return identity(comparison.block) | {
        "kind": "equal",
        "family": match.family,
        "method": method,
        "control": match.control,
        "summary": DOMAIN_BALANCED,
        "axis": "generated tokens",
        "unit": pairs[0][0].unit,
        "n": result.n,
        "tokens": float(x_S[whole_S].mean()) if whole_S.any() else math.nan,
        "score": float(a_S[whole_S].mean()) if whole_S.any() else math.nan,
        "control_score": float(b_S[whole_S].mean()) if whole_S.any() else math.nan,
        "delta": result.mean,
        "sd": result.sd,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "p_t": result.p_t,
        "reason": result.reason if whole_S.any() else "tokens are not known at the evaluations",
    }


def _matched(a: Progress, b: Progress) -> tuple[float, float, float]:
    """Interpolate both held-out curves at the smaller final number of generated tokens: (tokens, score a, score b)."""
    x = float(min(a.generated_T[-1], b.generated_T[-1]))
    return x, at(a.generated_T, a.score_T, x), at(b.generated_T, b.score_T, x)
