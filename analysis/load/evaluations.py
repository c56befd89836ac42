"""A record's evaluations during training, its last step included: eval.json, key "during"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.benchmarks import Floats
from analysis.errors import AnalysisError
from analysis.load.frame import Run, Score
from analysis.load.records import read_json

LAST = "last"
_KINDS = ("generated", "trained")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """T evaluations on K benchmarks. Scores in percent.

    `tokens` has {"generated": (T,), "trained": (T,)}, what was spent until each; without a key where one is not known.
    """

    benchmarks: tuple[str, ...]
    domain_K: tuple[str, ...]
    step_T: Floats
    score_TK: Floats
    tokens: Mapping[str, Floats]


def recorded(run: Run) -> Recorded | None:
    """Give a run's evaluations during training, the last step's included; None where its record has none.

    An entry of "during" is {"step", "benchmarks": {name: {"correct", "total"}}} and, where known, "tokens":
    {"generated", "trained"} spent until then. Raises AnalysisError naming the file for an entry that does not fit.
    """
    path = run.path / "eval.json" if run.path is not None else None
    entries = read_json(path).get("during") if path is not None and path.exists() else None
    if not entries:
        return None
    names = tuple(s.benchmark for s in run.trained)
    rows = [_entry(entry, names, f"{path}: key 'during', entry {t}") for t, entry in enumerate(entries)]
    step_T = np.array([row[0] for row in rows])
    if (np.diff(step_T) <= 0).any():
        raise AnalysisError(f"{path}: key 'during': steps {step_T.tolist()}; expected growing steps")
    return Recorded(
        benchmarks=names,
        domain_K=tuple(s.domain for s in run.trained),
        step_T=step_T,
        score_TK=np.array([row[1] for row in rows]),
        tokens={k: np.array([row[2][k] for row in rows]) for k in _KINDS if all(k in row[2] for row in rows)},
    )


def _entry(entry: Any, names: Sequence[str], at: str) -> tuple[float, list[float], dict[str, float]]:
    """Give step, scores and tokens of one entry."""
    try:
        cells = [entry["benchmarks"][b] for b in names]
        spent = {k: float(v) for k, v in entry.get("tokens", {}).items() if k in _KINDS and v is not None}
        return float(entry["step"]), [100.0 * c["correct"] / c["total"] for c in cells], spent
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        expected = f"step and benchmarks with correct and total of {', '.join(names)}"
        raise AnalysisError(f"{at}: {error!r}; expected {expected}") from error


def parse_score(text: str) -> int:
    """Read `last` (1) or `mean:K` (K >= 2): how many of the last evaluations the score is the mean of.

    Raises AnalysisError for anything else.
    """
    kind, _, count = text.partition(":")
    if text == LAST:
        return 1
    if kind == "mean" and count.isdecimal() and int(count) >= 2:
        return int(count)
    raise AnalysisError(f"score {text!r}; expected last or mean:K, with K the number of last evaluations, 2 or more")


def scored(run: Run, count: int) -> Run:
    """Give a run whose trained scores are the means over its last evaluations, the one at the end included.

    Raises AnalysisError naming a run that has fewer.
    """
    if count == 1:
        return run
    kept = recorded(run)
    found = 1 if kept is None else len(kept.step_T)
    if kept is None or found < count:
        raise AnalysisError(
            f"score mean:{count}: {run.source} has {found} evaluation{'s' if found > 1 else ''} of trained models; "
            "expected that many in each run, as trainer.test_freq= keeps them"
        )
    mean_K = kept.score_TK[-count:].mean(axis=0)
    trained = tuple(
        Score(benchmark=s.benchmark, domain=s.domain, accuracy=float(mean), total=s.total)
        for s, mean in zip(run.trained, mean_K, strict=True)
    )
    return replace(run, trained=trained)
