"""A sequential design on the finished runs of a fixed study: what would it have decided, in many orders of the runs?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analysis.benchmarks import Floats
from analysis.errors import AnalysisError
from analysis.stats.boundaries import Boundaries
from analysis.stats.design import Design
from analysis.stats.sequential import NO_GAIN, SUPERIOR, Bools, Status
from analysis.stats.simulation import Outcome, play


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Shares over R orders, per arm: same verdict as the fixed study, the opposite one (superior against no gain), and
    each verdict; mean runs used, and those of the fixed study.
    """

    fixed_M: Status
    agrees_M: Floats
    contradicts_M: Floats
    share_VM: dict[int, Floats]
    runs: float
    fixed_runs: int
    refused: float


def fitted(design: Design, runs: int, controls: int) -> Design:
    """Fit a design to the runs that a finished study has: where controls are fewer, all looks have fewer in proportion.

    Raises AnalysisError where an arm or the control has fewer runs than the last look wants of an arm.
    """
    most = design.runs_J[-1]
    if min(runs, controls) < most:
        raise AnalysisError(
            f"{runs} runs of an arm and {controls} of the control; design {design.name} wants {most} or more"
        )
    if controls >= design.controls_J[-1]:
        return design
    share = controls / design.controls_J[-1]
    fewer_J = tuple(max(n, round(c * share)) for n, c in zip(design.runs_J, design.controls_J, strict=True))
    return replace(design, controls_J=fewer_J)


def orders(
    design: Design, score_MS: Floats, control_S: Floats, rng: np.random.Generator, count: int
) -> tuple[Floats, Floats]:
    """Draw the runs of a study in `count` orders, without replacement: (R, M, runs) and (R, controls).

    Seeds keep together where the design has a beta or the study its pairs; else each method has its own order.
    """
    n, c = design.runs_J[-1], design.controls_J[-1]
    m, s = score_MS.shape
    shared = bool(design.beta) or design.pairs
    if shared:
        pick_RS = rng.permuted(np.tile(np.arange(s), (count, 1)), axis=1)
        return score_MS[np.arange(m)[None, :, None], pick_RS[:, None, :n]], control_S[pick_RS[:, :c]]
    pick_RMS = rng.permuted(np.broadcast_to(np.arange(s), (count, m, s)).copy(), axis=2)
    pick_RC = rng.permuted(np.tile(np.arange(len(control_S)), (count, 1)), axis=1)
    return score_MS[np.arange(m)[None, :, None], pick_RMS[:, :, :n]], control_S[pick_RC[:, :c]]


def replay(
    design: Design,
    bounds: Boundaries,
    fixed_M: Status,
    fixed_runs: int,
    score_MS: Floats,
    control_S: Floats,
    rng: np.random.Generator,
    *,
    count: int = 1000,
    guards: bool = True,
) -> Replay:
    """Replay a design over many orders and compare with the verdicts of the fixed study on all its runs."""
    found: Outcome = play(design, bounds, *orders(design, score_MS, control_S, rng, count), guards=guards)
    fixed_1M = fixed_M[None, :]
    opposite: Bools = np.asarray(
        ((found.status_RM == SUPERIOR) & (fixed_1M == NO_GAIN))
        | ((found.status_RM == NO_GAIN) & (fixed_1M == SUPERIOR))
    )
    return Replay(
        fixed_M=fixed_M,
        agrees_M=np.asarray((found.status_RM == fixed_1M).mean(axis=0)),
        contradicts_M=np.asarray(opposite.mean(axis=0)),
        share_VM={status: found.share(status) for status in range(4)},
        runs=float(found.runs_R.mean()),
        fixed_runs=fixed_runs,
        refused=float(found.refused_R.mean()),
    )
