"""What a look decides, for R studies at once: arms that are superior, that cannot have the gain, or inferior.

Arrays: R studies (one, in a real study), M arms. A status is OPEN until a look decides; decided arms stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.benchmarks import Floats
from analysis.stats.boundaries import Boundaries
from analysis.stats.design import EACH, LARGER, Design

Status = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

OPEN, SUPERIOR, NO_GAIN, INFERIOR = 0, 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a look sees of each arm: difference to the control and its standard error [points]."""

    delta_RM: Floats
    se_RM: Floats


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Runs so far: number, mean and sum of squares about the mean, per arm and of the control.

    paired_RM: mean of the control's runs at the arm's own seeds, read only where the design has a beta.
    """

    n_RM: Floats
    mean_RM: Floats
    square_RM: Floats
    control_n_R: Floats
    control_mean_R: Floats
    control_square_R: Floats
    paired_RM: Floats


def summarise(design: Design, runs: Moments) -> Summary:
    """Give delta and standard error per arm.

    delta = mean(arm) - beta mean(control at the arm's seeds) - (1 - beta) mean(control). The variance of a run is
    pooled within all arms and the control, stopped arms too; with variance "larger" an arm whose own is larger gets its
    own. An arm without runs, or a study with one run per arm, gives NaN.
    """
    df_R = (runs.n_RM - 1).clip(min=0).sum(axis=1) + (runs.control_n_R - 1).clip(min=0)
    total_R = runs.square_RM.sum(axis=1) + runs.control_square_R
    pooled_R = np.divide(total_R, df_R, out=np.full(len(df_R), np.nan), where=df_R > 0)
    variance_RM = np.broadcast_to(pooled_R[:, None], runs.n_RM.shape)
    if design.variance == LARGER:
        own_RM = np.divide(runs.square_RM, runs.n_RM - 1, out=np.zeros(runs.n_RM.shape), where=runs.n_RM > 1)
        variance_RM = np.maximum(variance_RM, own_RM)
    usable_RM = (runs.n_RM > 0) & (runs.control_n_R > 0)[:, None]
    n_RM, c_R1 = np.where(usable_RM, runs.n_RM, np.nan), runs.control_n_R[:, None]
    factor_RM = (1 - design.beta**2) / n_RM + (1 - design.beta) ** 2 / np.where(c_R1 > 0, c_R1, np.nan)
    other_RM = runs.control_mean_R[:, None] * (1 - design.beta) + (design.beta * runs.paired_RM if design.beta else 0.0)
    return Summary(delta_RM=runs.mean_RM - other_RM, se_RM=np.sqrt(variance_RM * factor_RM))


def decide(design: Design, bounds: Boundaries, look: int, seen: Summary, status_RM: Status) -> Status:
    """Give the status after a look (from 0).

    Superior: delta / se at or above the bound, for each arm or stepping down over the arms not yet superior (an arm
    that stopped for another reason still counts as left). No gain: delta + one arm's bound * se at or below the margin;
    it never means "no difference". Superior goes first. Inferior, if the design asks: as superior, by symmetry. An arm
    with NaN stays open.
    """
    one, superior = bounds.one_J[look], _superior(design, bounds, look, seen, status_RM, SUPERIOR)
    reach_RM = seen.delta_RM + one * seen.se_RM
    result_RM = np.where((status_RM == OPEN) & (reach_RM <= design.margin), NO_GAIN, status_RM)
    if design.inferior:
        mirrored = Summary(delta_RM=-seen.delta_RM, se_RM=seen.se_RM)
        result_RM = np.where(_superior(design, bounds, look, mirrored, status_RM, INFERIOR), INFERIOR, result_RM)
    return np.asarray(np.where(superior, SUPERIOR, result_RM))


def _superior(design: Design, bounds: Boundaries, look: int, seen: Summary, status_RM: Status, word: int) -> Bools:
    """Step down from the largest t while it reaches the bound for the number of arms left."""
    t_RM = np.where(status_RM == OPEN, seen.delta_RM / seen.se_RM, -np.inf)
    t_RM = np.where(np.isnan(t_RM), -np.inf, t_RM)
    if design.family == EACH:
        return np.asarray(t_RM >= bounds.one_J[look])
    order_RM = np.argsort(-t_RM, axis=1, kind="stable")
    left_R1 = design.arms - (status_RM == word).sum(axis=1, keepdims=True)
    critical_L = np.array([bounds.family(left, look) for left in range(1, design.arms + 1)])
    left_RM = np.maximum(left_R1 - np.arange(t_RM.shape[1]), 1)
    passed_RM = np.take_along_axis(t_RM, order_RM, axis=1) >= critical_L[left_RM - 1]
    result_RM = np.zeros(t_RM.shape, dtype=bool)
    np.put_along_axis(result_RM, order_RM, np.logical_and.accumulate(passed_RM, axis=1), axis=1)
    return result_RM


def interval(bounds: Boundaries, delta: float, se: float) -> tuple[float, float]:
    """Give delta +- the last look's bound for one arm * se.

    Over studies it covers about 95% (simulated: 93 to 96% at effects of 0 to 2 margins), not given that a study stopped
    early: delta at a stop for superiority is too large on average, at a stop for no gain too small.
    """
    half = bounds.one_J[-1] * se
    return delta - half, delta + half


def paired_summary(arm_RMn: Floats, control_Rn: Floats) -> Summary:
    """Give delta and standard error of a paired t test over the last axis, the same seeds on both sides. NaN: a seed
    without its pair, left out.
    """
    delta_RMn = arm_RMn - control_Rn[:, None, :]
    n_RM = (~np.isnan(delta_RMn)).sum(axis=2)
    whole_RM = n_RM > 1
    mean_RM = np.divide(np.nansum(delta_RMn, axis=2), n_RM, out=np.full(n_RM.shape, np.nan), where=n_RM > 0)
    square_RM = np.nansum((delta_RMn - mean_RM[:, :, None]) ** 2, axis=2)
    sd_RM = np.sqrt(np.divide(square_RM, n_RM - 1, out=np.full(n_RM.shape, np.nan), where=whole_RM))
    return Summary(delta_RM=mean_RM, se_RM=sd_RM / np.sqrt(np.where(whole_RM, n_RM, np.nan)))
