"""One look of a running study: a pure function of the design, its boundaries, the scores so far and the look before.

Taken again, after any kill, it decides alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.benchmarks import Floats
from analysis.errors import AnalysisError
from analysis.stats.boundaries import Boundaries
from analysis.stats.decisions import DONE, UNDECIDED, WORDS, Cells, Decision, Look, blockers, runs_needed
from analysis.stats.design import EACH, Design
from analysis.stats.guards import levene_p, refusal
from analysis.stats.sequential import (
    OPEN,
    SUPERIOR,
    Moments,
    Status,
    Summary,
    decide,
    interval,
    paired_summary,
    summarise,
)
from analysis.stats.simulation import fallback_bounds


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """The bounds of this look (a column of them), what they are compared with, and whether they may decide."""

    bounds: Boundaries
    column: int
    seen: Summary
    active: bool


def take_look(
    design: Design,
    bounds: Boundaries,
    look: int,
    *,
    arms: Sequence[str],
    control: str,
    seeds: Sequence[int],
    cells: Cells,
    before: Look | None = None,
    suspects: int = 0,
) -> Look:
    """Decide after look `look` (from 1). `suspects`: runs of this study whose evaluation is suspect.

    Once a guard refuses the pooled boundary no arm stops any more, and after the last look the arms still open are
    decided by paired t tests over their seeds. Raises AnalysisError naming the runs that block the look, for a look out
    of turn, and as runs_needed does.
    """
    if look != (1 if before is None else before.look + 1) or look > design.looks:
        raise AnalysisError(
            f"look {look} after {'none' if before is None else before.look}; {design.looks} are planned"
        )
    blocked = blockers(runs_needed(design, look, arms, control, seeds, before), cells)
    if blocked:
        raise AnalysisError(f"look {look} waits for {', '.join(blocked)}")
    score = {m: _scores(cells, m, seeds, before, look, design) for m in arms}
    theirs = _values(cells, control, seeds[: design.controls_J[look - 1]])
    refused = before.refused if before is not None else ""
    if not refused and not design.pairs:
        groups = [_real(g) for g in (*score.values(), theirs)]
        refused = refusal(levene_p(groups), suspects, sum(len(g) for g in groups))
    if design.pairs:
        rule = _Rule(bounds=bounds, column=0, seen=_pairs(score, theirs), active=True)
    elif refused and look == design.looks:
        used = fallback_bounds(design, _fewest(score, theirs, arms, before))
        rule = _Rule(bounds=used, column=0, seen=_pairs(score, theirs), active=True)
    else:
        rule = _Rule(bounds=bounds, column=look - 1, seen=_pooled(design, score, theirs), active=not refused)
    kept = {d.arm: d for d in before.decisions if not d.open} if before is not None else {}
    decisions = _decisions(design, rule, look, score, len(_real(theirs)), kept)
    return Look(look=look, decisions=tuple(decisions), refused=refused)


def _decisions(
    design: Design, rule: _Rule, look: int, score: Mapping[str, Floats], controls: int, kept: Mapping[str, Decision]
) -> list[Decision]:
    """Decide every open arm; arms decided before keep their decision."""
    number = {word: code for code, word in WORDS.items()}
    before_RM = np.array([[number[kept[a].verdict] if a in kept else OPEN for a in score]])
    after_RM = decide(design, rule.bounds, rule.column, rule.seen, before_RM) if rule.active else before_RM
    left_M = _left(design, rule.seen, before_RM, after_RM)
    found = []
    for i, (arm, score_S) in enumerate(score.items()):
        delta, se, left = float(rule.seen.delta_RM[0, i]), float(rule.seen.se_RM[0, i]), left_M[i]
        bound = rule.bounds.one_J[rule.column] if design.family == EACH else rule.bounds.family(left, rule.column)
        low, high = interval(rule.bounds, delta, se)
        undecided = look == design.looks and after_RM[0, i] == OPEN
        decision = Decision(
            arm=arm,
            verdict=UNDECIDED if undecided else WORDS[int(after_RM[0, i])],
            look=look,
            n=len(_real(score_S)),
            planned=design.runs_J[look - 1],
            controls=controls,
            delta=delta,
            se=se,
            needed=bound * se,
            low=low,
            high=high,
            left=left,
        )
        found.append(kept.get(arm, decision))
    return found


def _left(design: Design, seen: Summary, status_RM: Status, new_RM: Status) -> list[int]:
    """Give, per arm, how many arms were left at its step: after the larger ones that this look found superior."""
    t_M = np.nan_to_num(seen.delta_RM[0] / seen.se_RM[0], nan=-np.inf)
    fresh_M = (new_RM[0] == SUPERIOR) & (status_RM[0] == OPEN)
    before = design.arms - int((status_RM[0] == SUPERIOR).sum())
    above = [int((fresh_M & (t_M > t if fresh else fresh_M)).sum()) for t, fresh in zip(t_M, fresh_M, strict=True)]
    return [max(before - a, 1) for a in above]


def _values(cells: Cells, method: str, seeds: Sequence[int]) -> Floats:
    """Give a method's scores by seed; NaN for a run that failed for good."""
    return np.array([cells[(method, s)].score if cells[(method, s)].state == DONE else np.nan for s in seeds])


def _scores(cells: Cells, arm: str, seeds: Sequence[int], before: Look | None, look: int, design: Design) -> Floats:
    """Give an arm's scores up to this look, or up to the one at which it stopped."""
    stopped = before is not None and not before.of(arm).open
    at = before.of(arm).look if before is not None and stopped else look
    return _values(cells, arm, seeds[: design.runs_J[at - 1]])


def _real(score_S: Floats) -> Floats:
    return score_S[~np.isnan(score_S)]


def _pooled(design: Design, score: Mapping[str, Floats], theirs: Floats) -> Summary:
    groups = [_real(g) for g in score.values()]
    control = _real(theirs)
    paired = [_mean(theirs[: len(g)][~np.isnan(g) & ~np.isnan(theirs[: len(g)])]) for g in score.values()]
    return summarise(
        design,
        Moments(
            n_RM=np.array([[float(len(g)) for g in groups]]),
            mean_RM=np.array([[_mean(g) for g in groups]]),
            square_RM=np.array([[_square(g) for g in groups]]),
            control_n_R=np.array([float(len(control))]),
            control_mean_R=np.array([_mean(control)]),
            control_square_R=np.array([_square(control)]),
            paired_RM=np.array([paired]),
        ),
    )


def _pairs(score: Mapping[str, Floats], theirs: Floats) -> Summary:
    n = max(len(g) for g in score.values())
    arm_RMn = np.full((1, len(score), n), np.nan)
    for i, g in enumerate(score.values()):
        arm_RMn[0, i, : len(g)] = g
    return paired_summary(arm_RMn, theirs[None, :n])


def _fewest(score: Mapping[str, Floats], theirs: Floats, arms: Sequence[str], before: Look | None) -> int:
    """Give the smallest number of pairs of an open arm: its quantile holds for all, on the safe side."""
    going = [a for a in arms if before is None or before.of(a).open]
    return min(int((~np.isnan(score[a] + theirs[: len(score[a])])).sum()) for a in going)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _square(values: Floats) -> float:
    return float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0
