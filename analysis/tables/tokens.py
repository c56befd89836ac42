"""tokens: methods at equal generated tokens, and the tokens to reach the control's final score."""

from __future__ import annotations

import math

import numpy as np

from analysis.audit import Match
from analysis.compare import Comparison, identity
from analysis.progress import Progress, held_out
from analysis.stats.curves import at, first_reach
from analysis.stats.multiplicity import HOLM, adjusted
from analysis.stats.paired import paired
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes
from analysis.tables.table import Row, Table, View, columns, unique

EQUAL = columns(
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
_REACH = columns(
    "method",
    "control",
    "n||int",
    "reached|reached it|int",
    "control_tokens|control tokens (mean)|big",
    "tokens|tokens (mean)|big",
    "ratio|ratio (geometric mean)|ratio",
    "ratio_low,ratio_high|CI (t)|limits",
)
Pairs = list[tuple[Progress, Progress]]


def build(study: Study) -> Table:
    """Rows of kind "equal" (paired deltas of held-out scores at equal generated tokens) and "reach" (paired ratios of
    the tokens at which a held-out score first reaches the final one of the control).
    """
    rows: list[Row] = []
    views: list[View] = []
    for comparison in study.comparisons:
        matches = [m for m in comparison.matches if m.control]
        equal = [r for m in matches for r in equal_rows(study, comparison, m)]
        reach = [r for m in matches for r in reach_rows(study, comparison, m)]
        name = comparison.block.name
        if equal:
            views.append(
                View(title=f"{name}: held-out score at equal generated tokens", columns=EQUAL, rows=tuple(equal))
            )
        if reach:
            title = f"{name}: generated tokens at which the control's final held-out score is first reached"
            views.append(View(title=title, columns=_REACH, rows=tuple(reach)))
        rows += [*equal, *reach]
    notes = [
        "Held-out scores of both runs of a pair, between evaluations during training interpolated; equal tokens: the "
        "smaller of their final counts; Holm over the methods of a control.",
        "Reached: runs that reach the final score of their seed's control at all. Ratio: tokens of the method over "
        "those of the control, each at its first crossing, over the pairs that reached it: below 1 saves tokens. Where "
        "some did not reach it, the ratio of all is larger.",
        *block_notes(study, study.comparisons),
    ]
    if not rows:
        notes = [
            "the source has no evaluations during training with their tokens: nothing can be compared at equal tokens"
        ]
    return Table(
        name="tokens", title="At equal generated tokens", rows=tuple(rows), views=tuple(views), notes=unique(notes)
    )


def reach_rows(study: Study, comparison: Comparison, match: Match) -> list[Row]:
    """Compare the generated tokens to the control's final held-out score, paired by seed."""
    return [
        _reach_row(study, comparison, match, method, pairs)
        for method in match.methods
        if (pairs := _pairs(study, comparison, match, method))
    ]


def _pairs(study: Study, comparison: Comparison, match: Match, method: str) -> Pairs:
    """Return the held-out curves of (method, control) at each paired seed that has both."""
    pairs: Pairs = []
    for seed in comparison.audits[(match.family, method)].seeds:
        both = (comparison.block.runs[(m, seed)] for m in (method, match.control or ""))
        a, b = (held_out(run, study.curves(run)) for run in both)
        if a is not None and b is not None:
            pairs.append((a, b))
    return pairs


def _reach_row(study: Study, comparison: Comparison, match: Match, method: str, pairs: Pairs) -> Row:
    mine_S, theirs_S = (
        np.array([first_reach(p.generated_T, p.score_T, pair[1].score_T[-1]) for pair in pairs for p in [pair[which]]])
        for which in (0, 1)
    )
    known_S, reached_S = ~np.isnan(theirs_S), ~(np.isnan(mine_S) | np.isnan(theirs_S))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_S = np.log(mine_S[reached_S] / theirs_S[reached_S])
    log_S = log_S[np.isfinite(log_S)]
    result = paired(log_S, study.options.generator(), level=study.options.level)
    ratio, low, high = (math.exp(v) for v in (result.mean, result.ci_low, result.ci_high))
    return identity(comparison.block) | {
        "kind": "reach",
        "family": match.family,
        "method": method,
        "control": match.control,
        "summary": DOMAIN_BALANCED,
        "axis": "generated tokens",
        "n": int(known_S.sum()),
        "reached": int(reached_S.sum()),
        "control_tokens": float(theirs_S[reached_S].mean()) if reached_S.any() else math.nan,
        "tokens": float(mine_S[reached_S].mean()) if reached_S.any() else math.nan,
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "reason": result.reason,
    }


def equal_rows(study: Study, comparison: Comparison, match: Match) -> list[Row]:
    """Compare held-out scores at equal generated tokens; the methods of one control are one family (Holm)."""
    rows = [
        _equal_row(study, comparison, match, method, pairs)
        for method in match.methods
        if (pairs := _pairs(study, comparison, match, method))
    ]
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
