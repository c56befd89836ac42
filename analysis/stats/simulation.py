"""Operating characteristics of a design, by simulated studies that the shipped rules decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats
from analysis.stats.boundaries import Boundaries
from analysis.stats.design import EACH, Design
from analysis.stats.guards import LEVENE_ALPHA, MOST_SUSPECT, levene_p_moments
from analysis.stats.sequential import (
    INFERIOR,
    NO_GAIN,
    OPEN,
    SUPERIOR,
    Bools,
    Moments,
    Status,
    Summary,
    decide,
    paired_summary,
    summarise,
)

Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]
_FAR = 5.0  # robust sd below its arm's median: a collapsed run


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Draw standard normal noise."""
    return rng.standard_normal(shape)


@dataclass(frozen=True, kw_only=True)
class World:
    """What is true in simulated studies: effect per arm and sd of a run [points], spread of each arm relative to the
    control's, correlation between runs of one seed, shape of the noise (sd 1).
    """

    effect_M: Floats
    sigma: float = 1.0
    scale_M: Floats | float = 1.0
    correlation: float = 0.0
    noise: Noise = normal


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Decisions and costs over R studies, and what each arm's last look saw (unpaired, but for the fixed design).

    refused_R: studies in which a guard refused the pooled boundary.
    """

    status_RM: Status
    delta_RM: Floats
    se_RM: Floats
    runs_R: Floats
    refused_R: Bools

    def share(self, status: int) -> Floats:
        """Give the share of studies in which each arm ended with a status, (M,)."""
        return np.asarray((self.status_RM == status).mean(axis=0))

    def any_share(self, status: int, arms: list[int]) -> float:
        """Give the share of studies in which any of the arms ended with a status."""
        return float((self.status_RM[:, arms] == status).any(axis=1).mean())


def simulate(
    design: Design, bounds: Boundaries, world: World, rng: np.random.Generator, *, studies: int, guards: bool = True
) -> Outcome:
    """Run studies by the design's rules. `guards` applies Levene's test and the search for collapsed runs."""
    arm_RMn, control_Rn = _scores(design, world, rng, studies)
    return play(design, bounds, arm_RMn, control_Rn, guards=guards)


def play(design: Design, bounds: Boundaries, arm_RMn: Floats, control_Rn: Floats, *, guards: bool = True) -> Outcome:
    """Decide R studies from the scores that each would get: (R, M, runs) and (R, controls), in order, none missing."""
    studies = len(arm_RMn)
    status_RM = np.full((studies, design.arms), OPEN)
    if design.pairs:
        seen = paired_summary(arm_RMn, control_Rn)
        return Outcome(
            status_RM=decide(design, bounds, 0, seen, status_RM),
            delta_RM=seen.delta_RM,
            se_RM=seen.se_RM,
            runs_R=np.full(studies, float(design.most_runs)),
            refused_R=np.zeros(studies, dtype=bool),
        )
    at_RM = np.zeros((studies, design.arms), dtype=np.int64)
    control_R = np.zeros(studies, dtype=np.int64)
    refused_R = np.zeros(studies, dtype=bool)
    delta_RM, se_RM = np.zeros(status_RM.shape), np.zeros(status_RM.shape)
    views = [_View(arm_RMn[:, :, :n], control_Rn[:, :c]) for n, c in zip(design.runs_J, design.controls_J, strict=True)]
    for j, view in enumerate(views):
        open_RM = status_RM == OPEN
        at_RM, control_R = np.where(open_RM, j, at_RM), np.where(open_RM.any(axis=1), j, control_R)
        if guards:
            refused_R |= open_RM.any(axis=1) & _refused(design, views, at_RM, j)
        now = _seen(design, views, at_RM, j, view)
        delta_RM, se_RM = np.where(open_RM, now.delta_RM, delta_RM), np.where(open_RM, now.se_RM, se_RM)
        new_RM = decide(design, bounds, j, now, status_RM)
        status_RM = np.where(refused_R[:, None], status_RM, new_RM)
    if refused_R.any():
        status_RM[refused_R] = _paired(design, arm_RMn[refused_R], control_Rn[refused_R], status_RM[refused_R])
    runs_R = np.array(design.runs_J)[at_RM].sum(axis=1) + np.array(design.controls_J)[control_R]
    return Outcome(
        status_RM=status_RM, delta_RM=delta_RM, se_RM=se_RM, runs_R=runs_R.astype(np.float64), refused_R=refused_R
    )


def fallback_bounds(design: Design, runs: int) -> Boundaries:
    """Give the bounds of the paired t test that decides a study whose pooled boundary was refused."""
    quantile = [float(stats.t.isf(design.alpha / left, max(runs - 1, 1))) for left in range(1, design.arms + 1)]
    family = [quantile[0]] * design.arms if design.family == EACH else quantile
    return Boundaries(one_J=(quantile[0],), family_LJ=tuple((q,) for q in family))


def _paired(design: Design, arm_RMn: Floats, control_Rn: Floats, status_RM: Status) -> Status:
    n = design.runs_J[-1]
    return decide(design, fallback_bounds(design, n), 0, paired_summary(arm_RMn, control_Rn[:, :n]), status_RM)


def _scores(design: Design, world: World, rng: np.random.Generator, studies: int) -> tuple[Floats, Floats]:
    """Draw the scores of all runs that a study can make; runs of one number share a seed."""
    n, c = design.runs_J[-1], design.controls_J[-1]
    scale_M1 = np.broadcast_to(np.asarray(world.scale_M, dtype=np.float64), (design.arms,))[:, None]
    arm_RMn, control_Rn = world.noise(rng, (studies, design.arms, n)), world.noise(rng, (studies, c))
    if world.correlation:
        own, shared_Rn = np.sqrt(1 - world.correlation), np.sqrt(world.correlation) * world.noise(rng, (studies, c))
        arm_RMn, control_Rn = own * arm_RMn + shared_Rn[:, None, :n], own * control_Rn + shared_Rn
    effect_M1 = np.broadcast_to(np.asarray(world.effect_M, dtype=np.float64), (design.arms,))[:, None]
    return effect_M1 + world.sigma * scale_M1 * arm_RMn, world.sigma * control_Rn


class _View:
    """Sums over the runs of a look, each computed once."""

    def __init__(self, arm_RMn: Floats, control_Rc: Floats) -> None:
        self.n, self.controls = arm_RMn.shape[2], control_Rc.shape[1]
        self.mean_RM, self.square_RM = _moments(arm_RMn)
        self.control_mean_R, self.control_square_R = _moments(control_Rc)
        self.paired_R = control_Rc[:, : self.n].mean(axis=1)
        self._arm_RMn, self._control_Rc = arm_RMn, control_Rc

    def deviations(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Give mean, sum of squares, median of |run - median|, and the lowest run - median; control in the last
        column.
        """
        arm, control = (x - np.median(x, axis=-1, keepdims=True) for x in (self._arm_RMn, self._control_Rc))
        parts = [
            (*_moments(np.abs(x)), np.median(np.abs(x), axis=-1), np.asarray(x)) for x in (arm, control[:, None, :])
        ]
        mean, square, middle = (np.concatenate([p[i] for p in parts], axis=1) for i in range(3))
        scale_R11 = (1.4826 * middle.mean(axis=1))[:, None, None]
        far = np.concatenate([(p[3] < -_FAR * scale_R11).sum(axis=2) for p in parts], axis=1)
        return mean, square, middle, far


def _moments(x: Floats) -> tuple[Floats, Floats]:
    return x.mean(axis=-1), x.var(axis=-1) * x.shape[-1]


def _seen(design: Design, views: list[_View], at_RM: Status, j: int, view: _View) -> Summary:
    """Summarise a look; an arm that stopped before keeps the runs that it had then."""
    runs_J = np.array(design.runs_J, dtype=np.float64)
    mean_RM, square_RM = (_pick([getattr(v, k) for v in views[: j + 1]], at_RM) for k in ("mean_RM", "square_RM"))
    ones_R = np.ones(len(at_RM))
    return summarise(
        design,
        Moments(
            n_RM=runs_J[at_RM],
            mean_RM=mean_RM,
            square_RM=square_RM,
            control_n_R=view.controls * ones_R,
            control_mean_R=view.control_mean_R,
            control_square_R=view.control_square_R,
            paired_RM=np.repeat(view.paired_R[:, None], design.arms, axis=1),
        ),
    )


def _pick(value_JRM: list[Floats], at_RM: Status) -> Floats:
    return np.asarray(np.take_along_axis(np.stack(value_JRM), at_RM[None], axis=0)[0])


def _refused(design: Design, views: list[_View], at_RM: Status, j: int) -> Bools:
    """Say in which studies a guard refuses the pooled boundary at a look."""
    at_RG = np.column_stack([at_RM, np.full(len(at_RM), j)])
    found = [v.deviations() for v in views[: j + 1]]
    mean, square, far = (_pick([f[i] for f in found], at_RG) for i in (0, 1, 3))
    n_RG = np.column_stack([np.array(design.runs_J)[at_RM], np.full(len(at_RM), design.controls_J[j])])
    unequal_R = levene_p_moments(n_RG.astype(np.float64), mean, square) < LEVENE_ALPHA
    return np.asarray(unequal_R | (far.sum(axis=1) > MOST_SUSPECT * n_RG.sum(axis=1)))


@dataclass(frozen=True, kw_only=True)
class Operating:
    """What a plan promises at one true effect of all arms: shares per arm, mean and largest number of runs."""

    effect: float
    superior: float
    no_gain: float
    inferior: float
    undecided: float
    runs: float
    most_runs: int


def operating(
    design: Design,
    bounds: Boundaries,
    effects: tuple[float, ...],
    sigma: float,
    rng: np.random.Generator,
    *,
    studies: int = 2000,
    guards: bool = True,
) -> list[Operating]:
    """Simulate a plan at several effects [points] that all arms share."""
    rows = []
    for effect in effects:
        world = World(effect_M=np.full(design.arms, effect), sigma=sigma)
        found = simulate(design, bounds, world, rng, studies=studies, guards=guards)
        superior, no_gain, inferior, undecided = (
            float(found.share(s).mean()) for s in (SUPERIOR, NO_GAIN, INFERIOR, OPEN)
        )
        rows.append(
            Operating(
                effect=effect,
                superior=superior,
                no_gain=no_gain,
                inferior=inferior,
                undecided=undecided,
                runs=float(found.runs_R.mean()),
                most_runs=design.most_runs,
            )
        )
    return rows
