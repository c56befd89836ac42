"""A run's progress: its score over steps, and over the tokens it generated or trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.benchmarks import Floats
from analysis.errors import AnalysisError
from analysis.load.frame import Run
from analysis.load.records import read_json
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

    They come from the record (eval.json, key "during": a list of {"step", "benchmarks": {name: {"correct", "total"}}}
    and, where known, "tokens": {"generated", "trained"} spent until then), else from verl's validation metrics. Raises
    AnalysisError naming the file for an entry that does not fit.
    """
    recorded = _recorded(run)
    if recorded is None and "step" not in curves:
        return None
    step_T, score_T = recorded[:2] if recorded is not None else (curves["step"], _validation(run, curves))
    if score_T is None or (~np.isnan(score_T)).sum() < 2:
        return None
    at_T = ~np.isnan(score_T)
    tokens = {k: _tokens_at(step_T, curves, k) for k in ("generated", "trained")} | (recorded[2] if recorded else {})
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


def _recorded(run: Run) -> tuple[Floats, Floats, dict[str, Floats]] | None:
    """Read the record's evaluations during training: steps, scores, and tokens where every entry has them."""
    path = run.path / "eval.json" if run.path is not None else None
    entries = read_json(path).get("during") if path is not None and path.exists() else None
    if not entries:
        return None
    domain_of = {s.benchmark: s.domain for s in run.trained}
    names, domains = list(domain_of), list(dict.fromkeys(domain_of.values()))
    step_T, score_TK = np.empty(len(entries)), np.full((len(entries), len(names)), np.nan)
    tokens: dict[str, list[float]] = {"generated": [], "trained": []}
    for t, entry in enumerate(entries):
        try:
            step_T[t] = entry["step"]
            cells = [entry["benchmarks"][b] for b in names]
            score_TK[t] = [100.0 * c["correct"] / c["total"] for c in cells]
            spent = entry.get("tokens", {})
            for key, values in tokens.items():
                values += [float(spent[key])] if key in spent else []
        except (KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            expected = f"step and benchmarks with correct and total of {', '.join(names)}"
            raise AnalysisError(f"{path}: key 'during', entry {t}: {error!r}; expected {expected}") from error
    if (np.diff(step_T) <= 0).any():
        raise AnalysisError(f"{path}: key 'during': steps {step_T.tolist()}; expected growing steps")
    score_T = domain_balanced(domain_scores(score_TK, [domain_of[b] for b in names], domains))
    return step_T, score_T, {k: np.array(v) for k, v in tokens.items() if len(v) == len(entries)}


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
