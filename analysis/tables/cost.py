"""cost: tokens, prompts and seconds per method; held-out deltas at equal generated tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.compare import Comparison, identity
from analysis.study import Study
from analysis.tables.table import Row, Table, View, columns, unique
from analysis.tables.tokens import EQUAL, equal_rows

_COST = columns(
    "method",
    "n||int",
    "prompts||big",
    "tokens_generated|tokens generated|big",
    "tokens_trained|tokens trained|big",
    "tokens_dropped|tokens dropped|big",
    "seconds|seconds|big",
    "gpu_seconds|GPU-seconds|big",
    "evaluations|evaluations during training|int",
    "evaluation_tokens|their tokens|big",
    "evaluation_seconds|their seconds|big",
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
        equal = [r for m in comparison.matches if m.control for r in equal_rows(study, comparison, m)]
        if equal:
            rows += equal
            views.append(
                View(
                    title=f"{comparison.block.name}: held-out score at equal generated tokens",
                    columns=EQUAL,
                    rows=tuple(equal),
                )
            )
    notes = [
        "Means per run over seeds. Dropped tokens were generated and paid for, then got weight 0. "
        "Evaluations during training come on top: neither tokens, seconds nor GPU-seconds contain them.",
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
        | {
            name: _mean([_number(c.get("evaluations_during"), key) for c in costs])
            for name, key in (
                ("evaluations", "count"),
                ("evaluation_tokens", "tokens"),
                ("evaluation_seconds", "seconds"),
            )
        }
    )


def _number(values: Any, key: str) -> float:
    value = values.get(key) if isinstance(values, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _mean(values: list[float]) -> float:
    """Give the mean; missing where one run did not record it."""
    return float(np.mean(values)) if values else math.nan
