"""A run's progress: its score over steps, and over the tokens it generated or trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.benchmarks import Floats
from analysis.load.evaluations import Recorded, recorded
from analysis.load.frame import Run
from analysis.stats.curves import cumulative, on_grid, smooth
from analysis.summaries import domain_balanced, domain_scores

_VALIDATION = re.compile(r"val-core/(.+)/acc/mean@\d+$")
REWARD_WINDOW = 20  # steps; single-step rewards are too noisy to interpolate


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Score over T measured steps with the tokens spent until then. `unit` is "points" (held-out) or "training
    reward x 100".
    """

    step_T: Floats
    score_T: Floats
    generated_T: Floats
    trained_T: Floats
    unit: str


def held_out(run: Run, curves: Mapping[str, Floats]) -> Progress | None:
    """Give the domain-balanced held-out score over the evaluations during training, two or more; None without.

    They come from the record, else from verl's validation metrics. Raises AnalysisError naming the file for an entry
    that does not fit.
    """
    kept = recorded(run)
    if kept is None and "step" not in curves:
        return None
    step_T, score_T = (kept.step_T, _balanced(kept)) if kept else (curves["step"], _validation(run, curves))
    if score_T is None or (~np.isnan(score_T)).sum() < 2:
        return None
    at_T = ~np.isnan(score_T)
    tokens = {k: _tokens_at(step_T, curves, k) for k in ("generated", "trained")} | (dict(kept.tokens) if kept else {})
    return Progress(
        step_T=step_T[at_T],
        score_T=score_T[at_T],
        generated_T=tokens["generated"][at_T],
        trained_T=tokens["trained"][at_T],
        unit="points",
    )


def progress(run: Run, curves: Mapping[str, Floats]) -> Progress | None:
    """Give a run's progress for a figure: the held-out score where there is one, else the mean reward of all responses
    to its own training prompts (trailing mean over 20 steps, times 100), which is no score. None without either."""
    found = held_out(run, curves)
    reward_T = curves.get("dataflex/reward_all", curves.get("critic/rewards/mean"))
    if found is not None or reward_T is None or "step" not in curves:
        return found
    score_T = 100.0 * smooth(reward_T, REWARD_WINDOW)
    at_T = ~np.isnan(score_T)
    return Progress(
        step_T=curves["step"][at_T],
        score_T=score_T[at_T],
        generated_T=_tokens(curves, "generated")[at_T],
        trained_T=_tokens(curves, "trained")[at_T],
        unit="training reward x 100",
    )


def _balanced(kept: Recorded) -> Floats:
    domain_K = list(kept.domain_K)
    return domain_balanced(domain_scores(kept.score_TK, domain_K, list(dict.fromkeys(domain_K))))


def _tokens_at(step_T: Floats, curves: Mapping[str, Floats], which: str) -> Floats:
    """Give the tokens spent until each step, from the metrics; NaN where a step is not among them."""
    if "step" not in curves:
        return np.full(len(step_T), np.nan)
    return on_grid(curves["step"], _tokens(curves, which), step_T)


def _tokens(curves: Mapping[str, Floats], which: str) -> Floats:
    found = curves.get(f"dataflex/tokens_{which}")
    return cumulative(found) if found is not None else np.full(len(curves["step"]), np.nan)


def _validation(run: Run, curves: Mapping[str, Floats]) -> Floats | None:
    domain_of = {s.benchmark: s.domain for s in run.trained}
    found = {m[1]: y for key, y in curves.items() if (m := _VALIDATION.match(key)) and m[1] in domain_of}
    if set(found) != set(domain_of):
        return None
    names = list(found)
    score_TK = 100.0 * np.stack([found[b] for b in names], axis=-1)
    domain_K = [domain_of[b] for b in names]
    return domain_balanced(domain_scores(score_TK, domain_K, list(dict.fromkeys(domain_K))))
