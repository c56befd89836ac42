"""gain: what training itself gives, untrained against the control, paired within each run."""

from __future__ import annotations

import math

import numpy as np

from analysis import paper
from analysis.blocks import Block
from analysis.compare import Comparison, identity
from analysis.load import describe
from analysis.options import Options
from analysis.stats.paired import paired
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.table import Row, Table, View, columns, unique

_COLUMNS = columns(
    "model",
    "campaign|campaign or task",
    "regime",
    "steps||int",
    "method",
    "n||int",
    "control_score|untrained|score",
    "score|trained|score",
    "delta|gain|delta",
    "ci_low,ci_high|CI (t)|interval",
    "p_t|p (t)|p",
    "paper_untrained|paper untrained|score",
    "paper_score|paper trained|score",
    "paper_delta|paper gain|delta",
)
_BLOCK = ("model", "campaign", "regime", "steps", "evaluation")
_NO_UNTRAINED = "the source has no untrained scores"


def build(study: Study) -> Table:
    """One row per block, control and endpoint; control_score is the untrained model, delta the gain."""
    rows = [
        _row(c, control, e, study.options)
        for c in study.comparisons
        for control in _controls(c, study.options)
        for e in c.block.endpoints
    ]
    primary = tuple(r for r in rows if r["summary"] == DOMAIN_BALANCED)
    notes = [
        "Unit: points. Gain = trained minus untrained of the same run; paired t interval, "
        f"{100 * study.options.level:g}%, over seeds.",
        *(f"{r['model']} / {r['campaign']}: {r['reason']}" for r in primary if r["reason"]),
        *(
            f"{describe(tuple(r[k] for k in _BLOCK))}: {r['method']}: seeds without a trained or an untrained score "
            f"left out: {', '.join(map(str, r['dropped_seeds']))}"
            for r in primary
            if r["dropped_seeds"]
        ),
    ]
    if any(r["paper_score"] is not None for r in primary):
        notes.append("paper: the study's figures (12 seeds), shown where model, steps, regime and benchmarks match.")
    return Table(
        name="gain",
        title="Training gain",
        rows=tuple(rows),
        views=(View(title="", columns=_COLUMNS, rows=primary),) if primary else (),
        notes=unique(notes if rows else ["no control in this source: no gain to show"]),
    )


def _controls(comparison: Comparison, options: Options) -> list[str]:
    """List the controls that were run, whether or not a method was compared with them."""
    named = [options.control] if options.control else [c for f in options.families for c in f.controls]
    return [c for c in dict.fromkeys(named) if c in comparison.block.methods]


def _row(comparison: Comparison, control: str, endpoint: str, options: Options) -> Row:
    block = comparison.block
    trained_S, untrained_S = _scores(block, control, endpoint)
    whole_S = ~(np.isnan(trained_S) | np.isnan(untrained_S))
    result = paired((trained_S - untrained_S)[whole_S], options.generator(), level=options.level)
    known = paper.gain(block) if endpoint == DOMAIN_BALANCED and control in ("uniform", "baseline") else None
    kept = trained_S[whole_S] if whole_S.any() else trained_S
    dropped = [s for s, ok in zip(block.seeds_of(control), whole_S, strict=True) if not ok] if whole_S.any() else []
    return identity(block) | {
        "method": control,
        "control": "untrained",
        "summary": endpoint,
        "dropped_seeds": dropped,
        "n": result.n if whole_S.any() else len(trained_S),
        "score": float(kept.mean()),
        "control_score": float(untrained_S[whole_S].mean()) if whole_S.any() else math.nan,
        "delta": result.mean,
        "sd": result.sd,
        "ci_low": result.ci_low,
        "ci_high": result.ci_high,
        "p_t": result.p_t,
        "paper_untrained": known[0] if known else None,
        "paper_score": known[1] if known else None,
        "paper_delta": known[1] - known[0] if known else None,
        "reason": _NO_UNTRAINED if np.isnan(block.untrained_MSK).all() else result.reason,
    }


def _scores(block: Block, method: str, endpoint: str) -> tuple[np.ndarray, np.ndarray]:
    at = [block.seeds.index(s) for s in block.seeds_of(method)]
    row = block.row(method)
    return block.endpoints[endpoint][row, at], block.untrained[endpoint][row, at]
