"""One W&B run (config, summary, history) to a Run; shared by the online and the offline loader.

Identity: the manifest's keys (method, seed, model, task, regime, steps, ...) in the config under `record` or
`manifest`, or at its top level. Scores: `eval/<phase>/<benchmark>/correct` and `.../total` in the summary (phase
untrained or trained), else the first and last logged `val-core/<benchmark>/acc/mean@n`, which a run of verl itself
logs. Domains: `eval/<benchmark>/domain`, else the study's table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from analysis.benchmarks import DOMAINS, PAPER, Floats
from analysis.errors import AnalysisError
from analysis.load.frame import Run, Score
from analysis.load.metrics import WANTED
from dataflex_rl.record.pairs import FIELD

_VALIDATION = re.compile(r"val-core/(.+)/acc/mean@\d+$")
_COUNT = re.compile(r"eval/(untrained|trained)/(.+)/(correct|total)$")
_IDENTITY = (
    "method", "seed", "model", "task", "steps", "regime", "prompt_stream_digest", "evaluation_digest",
    "dataset_fingerprint", FIELD,
)  # fmt: skip


def build_run(
    config: Mapping[str, Any], summary: Mapping[str, Any], history: Iterable[Mapping[str, Any]], source: str
) -> Run:
    """Make a Run. Raises AnalysisError naming the run when it says nothing of its method, seed, model or task, or has
    no scores.
    """
    manifest = _manifest(config, source)
    curves = _curves(history)
    trained, untrained = _from_summary(summary, source)
    if not trained:
        trained, untrained = _from_curves(curves, summary, source)
    if not trained:
        raise AnalysisError(
            f"{source}: no eval/trained/<benchmark>/correct and no val-core/<benchmark>/acc/mean@n logged"
        )
    steps = manifest.get("steps")
    return Run(
        run_id=source.rsplit("/", 1)[-1],
        source=source,
        model=str(manifest["model"]),
        task=str(manifest["task"]),
        regime=None if manifest.get("regime") in (None, "") else str(manifest["regime"]),
        steps=int(steps) if steps is not None else int(curves["step"][-1]) if len(curves["step"]) else None,
        evaluation=str(manifest.get("evaluation_digest") or ", ".join(s.benchmark for s in trained)),
        method=str(manifest["method"]),
        seed=int(manifest["seed"]),
        trained=trained,
        untrained=untrained,
        domains=tuple(dict.fromkeys(s.domain for s in trained)),
        manifest=manifest,
        curves=curves,
    )


def _manifest(config: Mapping[str, Any], source: str) -> dict[str, Any]:
    for candidate in (config.get("record"), config.get("manifest"), config):
        if isinstance(candidate, Mapping) and all(
            candidate.get(k) is not None for k in ("method", "seed", "model", "task")
        ):
            return {k: candidate[k] for k in (*_IDENTITY, "mixer", "actuator", "prompt_selector") if k in candidate}
    raise AnalysisError(
        f"{source}: config lacks method, seed, model or task; found {', '.join(sorted(config)) or '(nothing)'}"
    )


def _curves(history: Iterable[Mapping[str, Any]]) -> dict[str, Floats]:
    """Merge rows by step: W&B logs one step in several rows, and a resumed run logs steps again (the later one
    counts).
    """
    by_step: dict[int, dict[str, float]] = {}
    for row in history:
        step = row.get("_step")
        if isinstance(step, int):
            expected = {k: v for k, v in row.items() if WANTED.match(k) and isinstance(v, (int, float))}
            by_step.setdefault(step, {}).update(expected)
    steps = sorted(by_step)
    keys = sorted({k for row in by_step.values() for k in row})
    columns = {k: np.array([by_step[s].get(k, np.nan) for s in steps], dtype=np.float64) for k in keys}
    return {"step": np.array(steps, dtype=np.float64), **columns}


def _from_summary(summary: Mapping[str, Any], source: str) -> tuple[tuple[Score, ...], tuple[Score, ...]]:
    cells: dict[tuple[str, str], dict[str, int]] = {}
    for key, value in summary.items():
        if (found := _COUNT.match(key)) and isinstance(value, (int, float)):
            cells.setdefault((found[1], found[2]), {})[found[3]] = int(value)
    scores: dict[str, list[Score]] = {"trained": [], "untrained": []}
    for (phase, name), cell in cells.items():
        if set(cell) != {"correct", "total"} or not 0 <= cell["correct"] <= cell["total"] or not cell["total"]:
            raise AnalysisError(
                f"{source}: eval/{phase}/{name}: {cell}; expected correct and total, 0 <= correct <= total"
            )
        percent = 100.0 * cell["correct"] / cell["total"]
        domain = _domain(name, summary, source)
        scores[phase].append(Score(benchmark=name, domain=domain, accuracy=percent, **cell))
    return tuple(scores["trained"]), tuple(scores["untrained"])


def _from_curves(
    curves: Mapping[str, Floats], summary: Mapping[str, Any], source: str
) -> tuple[tuple[Score, ...], tuple[Score, ...]]:
    trained, untrained = [], []
    for key, value_T in curves.items():
        found = _VALIDATION.match(key)
        at = np.flatnonzero(~np.isnan(value_T)) if found else np.array([], dtype=int)
        if found is None or not len(at):
            continue
        name, domain = found[1], _domain(found[1], summary, source)
        items = PAPER[name].items if name in PAPER else None
        trained.append(Score(benchmark=name, domain=domain, accuracy=100.0 * float(value_T[at[-1]]), total=items))
        first = float(value_T[at[0]]) if curves["step"][at[0]] == 0 else math.nan
        untrained.append(Score(benchmark=name, domain=domain, accuracy=100.0 * first, total=items))
    return tuple(trained), tuple(s for s in untrained if not math.isnan(s.accuracy))


def _domain(name: str, summary: Mapping[str, Any], source: str) -> str:
    logged = summary.get(f"eval/{name}/domain")
    if isinstance(logged, str):
        return logged
    if name in PAPER:
        return PAPER[name].domain
    if name in DOMAINS:
        return name
    raise AnalysisError(
        f"{source}: unknown benchmark {name!r}: no eval/{name}/domain logged; known: {', '.join(PAPER)}"
    )
