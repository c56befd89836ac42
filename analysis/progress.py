"""A run's progress: its score over steps, and over the tokens it generated or trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.benchmarks import Floats
from analysis.load.frame import Run
from analysis.stats.curves import cumulative, smooth
from analysis.summaries import domain_balanced, domain_scores

_VALIDATION = re.compile(r"val-core/(.+)/acc/mean@\d+$")
REWARD_WINDOW = 20  # steps; single-step rewards are too noisy to interpolate


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Score over T measured steps with the tokens spent until then. `unit` is "points" (validation) or "reward x
    100".
    """

    step_T: Floats
    score_T: Floats
    generated_T: Floats
    trained_T: Floats
    unit: str


def progress(run: Run, curves: Mapping[str, Floats]) -> Progress | None:
    """Give a run's progress: the domain-balanced validation score where it was logged at two steps or more, else the
    mean reward of all responses (trailing mean over 20 steps, times 100). None without either."""
    if "step" not in curves:
        return None
    score_T, unit = _validation(run, curves), "points"
    if score_T is None:
        reward_T = curves.get("dataflex/reward_all", curves.get("critic/rewards/mean"))
        if reward_T is None:
            return None
        score_T, unit = 100.0 * smooth(reward_T, REWARD_WINDOW), "reward x 100"
    at_T = ~np.isnan(score_T)
    return Progress(
        step_T=curves["step"][at_T],
        score_T=score_T[at_T],
        generated_T=_tokens(curves, "generated")[at_T],
        trained_T=_tokens(curves, "trained")[at_T],
        unit=unit,
    )


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
    score_T = domain_balanced(domain_scores(score_TK, domain_K, list(dict.fromkeys(domain_K))))
    return score_T if (~np.isnan(score_T)).sum() >= 2 else None
