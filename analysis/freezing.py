"""What a running study asks of its design: what to fix before the first run, and the scores that a look needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.blocks import blocks
from analysis.compare import flags_of
from analysis.errors import AnalysisError, unknown
from analysis.load import records
from analysis.load.evaluations import LAST, parse_score, scored
from analysis.load.frame import checked
from analysis.options import Options
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import DONE, LOST, Look, runs_needed
from analysis.stats.design import design
from analysis.stats.protocol import Protocol, changes, read
from analysis.stats.suspects import suspect_runs
from analysis.summaries import DOMAIN_BALANCED

_SETTINGS = ("design", "arms", "control", "seeds", "margin", "family", "beta", "inferior", "score")
_BOUNDS = "bounds."
_MONTE_CARLO = 0.02  # relative; boundaries of another version of numpy may differ by their simulation's error


def freeze(settings: Mapping[str, Any], against: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give {"protocol", "needs", "most"}: what is fixed, the runs of the first look, and all that may be asked for.

    settings: design, arms, control, seeds (in the order of their use; more are counted up from the largest where the
    design wants more), and margin, family, beta, inferior, score where not the design's own. With `against`, a protocol
    of before, that one is kept; raises AnalysisError naming what changed, as for a setting that does not fit.
    """
    wrong = [name for name in settings if name not in _SETTINGS]
    if wrong:
        raise unknown("setting of a design", wrong[0], _SETTINGS)
    parse_score(settings.get("score", LAST))
    arms = tuple(settings["arms"])
    chosen = {k: settings[k] for k in ("margin", "family", "beta", "inferior") if settings.get(k) is not None}
    made = design(settings["design"], len(arms), **chosen)
    protocol = Protocol(
        design=made,
        bounds=boundaries(made, np.random.default_rng(0)),
        arms=arms,
        control=settings["control"],
        score=f"{DOMAIN_BALANCED} {settings.get('score', LAST)}",
        seeds=_seeds(settings["seeds"], made.controls_J[-1]),
    )
    if against is not None:
        protocol = _unchanged(read(against), protocol)
    last = runs_needed(made, made.looks, arms, protocol.control, protocol.seeds, None)
    return {"protocol": protocol.as_json(), "needs": needs(protocol, None), "most": [list(run) for run in last]}


def _seeds(given: Sequence[int], wanted: int) -> tuple[int, ...]:
    more = itertools.count(max(given) + 1)
    return (*given, *itertools.islice(more, max(wanted - len(given), 0)))[:wanted]


def _unchanged(before: Protocol, now: Protocol) -> Protocol:
    """Give the protocol of before; AnalysisError where anything in it is another one now."""
    named = [line for line in changes(before, now) if not line.startswith(_BOUNDS)]
    then, today = (np.concatenate([np.ravel(p.bounds.one_J), np.ravel(p.bounds.family_LJ)]) for p in (before, now))
    if not named and not np.allclose(then, today, rtol=_MONTE_CARLO):
        named = [f"boundaries: {before.bounds.one_J} are not those of the design, {now.bounds.one_J}"]
    if named:
        raise AnalysisError(f"what was fixed before the first run has changed: {'; '.join(named)}; that is a new study")
    return before


def needs(protocol: Protocol, before: Look | None) -> list[list[Any]]:
    """List the runs [method, seed] of the look after `before`; none where nothing is open or no look is left."""
    number = 1 if before is None else before.look + 1
    if number > protocol.design.looks:
        return []
    runs = runs_needed(protocol.design, number, protocol.arms, protocol.control, protocol.seeds, before)
    return [list(run) for run in runs]


def cells_of(runs: Mapping[str, Any], score: str) -> dict[str, Any]:
    """Give {"cells": {method: {seed: {"state", "score"}}}, "suspects"}: scores [points] of the finished records.

    runs: {method: {seed: {"state": "done" or "failed for good", "record": folder}}}. Raises AnalysisError naming a
    record that cannot be read, has not the score, or was measured otherwise than the others.
    """
    count = parse_score(score)
    flat = {(m, s): cell for m, seeds in runs.items() for s, cell in seeds.items()}
    for (method, seed), cell in flat.items():
        if cell.get("state") not in (DONE, LOST):
            raise AnalysisError(f"{method} seed {seed} is {cell.get('state')!r}; expected {DONE!r} or {LOST!r}")
    loaded = {k: scored(records.read(Path(c["record"])), count) for k, c in flat.items() if c["state"] == DONE}
    found = blocks(checked(loaded.values(), []))
    if len(found) != 1:
        raise AnalysisError(
            f"{len(found)} blocks ({', '.join(b.name for b in found) or 'no finished run'}); expected 1"
        )
    score_MS = found[0].endpoints[DOMAIN_BALANCED]
    cells: dict[str, dict[str, Any]] = {}
    for (method, seed), cell in flat.items():
        run = loaded.get((method, seed))
        value = None if run is None else float(score_MS[found[0].row(run.method), found[0].seeds.index(run.seed)])
        if value is not None and math.isnan(value):
            raise AnalysisError(
                f"{method} seed {seed}: {cell['record']} lacks a benchmark: it has no {DOMAIN_BALANCED}"
            )
        cells.setdefault(method, {})[seed] = {"state": cell["state"], "score": value}
    return {"cells": cells, "suspects": len(suspect_runs(flags_of(found[0], Options())))}
