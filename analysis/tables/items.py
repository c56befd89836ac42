"""items: question-level differences, where eval_items.jsonl exists; what questions and runs each add."""

from __future__ import annotations

import numpy as np

from analysis.audit import Match
from analysis.benchmarks import Floats
from analysis.compare import Comparison, identity
from analysis.stats.items import item_difference, mcnemar_exact
from analysis.stats.multiplicity import adjusted
from analysis.study import Study
from analysis.tables.table import Row, Table, View, columns, unique

Items = dict[str, dict[str, bool]]

_COLUMNS = columns(
    "method",
    "summary|benchmark",
    "n|seeds|int",
    "items||int",
    "delta||delta",
    "se_seeds|SE over seeds|score",
    "se_items|SE over questions|score",
    "se_rest|of it in both|score",
    "se_both|SE, new runs and questions|score",
    "ci_low,ci_high|CI over questions|interval",
    "p_items|p (questions)|p",
    "mcnemar_text|McNemar p per seed",
    "share_items|share of questions|ratio",
    "share_rest|share of run x question|ratio",
)


def build(study: Study) -> Table:
    """One row per block, family, method and benchmark whose runs hold item results."""
    rows: list[Row] = []
    views: list[View] = []
    notes: list[str] = []
    for comparison in study.comparisons:
        cache: dict[tuple[str, int], Items] = {}
        found: list[Row] = []
        for match in comparison.matches:
            for method in match.methods if match.control else ():
                found += _method_rows(study, comparison, match, method, cache, notes)
        if found:
            rows += found
            views.append(View(title=comparison.block.name, columns=_COLUMNS, rows=tuple(found)))
    head = [
        "Questions are the clusters: differences are averaged over seeds per question. The interval over questions "
        "asks about new questions for these runs, the t interval over seeds (table main) about new runs on these "
        "questions. Both contain run x question noise (what one run makes of one question, sampling included): "
        "SE^2 for new runs on new questions = SE over seeds^2 + SE over questions^2 - what is in both^2.",
        "McNemar (exact) is per seed: runs of several seeds share their questions, a pooled table would "
        "count them repeatedly. "
        "p_mcnemar_holm is adjusted over the seeds of one row.",
    ]
    return Table(
        name="items",
        title="Question-level comparison",
        rows=tuple(rows),
        views=tuple(views),
        notes=unique([*head, *notes] if rows else ["the source has no item results (eval_items.jsonl)", *notes]),
    )


def _method_rows(
    study: Study,
    comparison: Comparison,
    match: Match,
    method: str,
    cache: dict[tuple[str, int], Items],
    notes: list[str],
) -> list[Row]:
    control = match.control
    assert control is not None, "only matched families are compared"
    pairs = [
        (_items(study, comparison, method, seed, cache, notes), _items(study, comparison, control, seed, cache, notes))
        for seed in comparison.audits[(match.family, method)].seeds
    ]
    pairs = [(a, b) for a, b in pairs if a and b]
    rows = []
    for benchmark in comparison.block.benchmarks:
        both = [(a[benchmark], b[benchmark]) for a, b in pairs if benchmark in a and benchmark in b]
        shared = sorted(set.intersection(*(set(x) for pair in both for x in pair))) if both else []
        if not shared:
            continue
        dropped = max(len(x) for pair in both for x in pair) - len(shared)
        if dropped:
            notes.append(
                f"{comparison.block.name}: {method}, {benchmark}: {dropped} questions not in every run: left out"
            )
        a_SI, b_SI = (np.array([[pair[side][i] for i in shared] for pair in both], dtype=float) for side in (0, 1))
        rows.append(
            identity(comparison.block)
            | {"family": match.family, "method": method, "control": control, "summary": benchmark}
            | _row(a_SI, b_SI, study.options.level)
        )
    return rows


def _row(a_SI: Floats, b_SI: Floats, level: float) -> Row:
    result = item_difference(a_SI, b_SI, level=level)
    tests = [mcnemar_exact(a_I, b_I) for a_I, b_I in zip(a_SI, b_SI, strict=True)]
    return {
        "n": result.seeds,
        "items": result.items,
        "delta": result.delta,
        "se_seeds": result.se_seeds,
        "se_items": result.se_items,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "p_items": result.p_items,
        "se_rest": result.se_rest,
        "se_both": result.se_both,
        "share_items": result.share_items,
        "share_rest": result.share_rest,
        "only_method": [t.only_a for t in tests],
        "only_control": [t.only_b for t in tests],
        "p_mcnemar": [t.p for t in tests],
        "p_mcnemar_holm": adjusted(np.array([t.p for t in tests]), "holm").tolist(),
        "mcnemar_text": ", ".join("n/a" if t.p != t.p else f"{t.p:.3f}" for t in tests),
    }


def _items(
    study: Study,
    comparison: Comparison,
    method: str,
    seed: int,
    cache: dict[tuple[str, int], Items],
    notes: list[str],
) -> Items:
    if (method, seed) not in cache:
        run = comparison.block.runs[(method, seed)]
        found, said = study.items(run)
        cache[(method, seed)] = found
        notes.extend(said)
    return cache[(method, seed)]
