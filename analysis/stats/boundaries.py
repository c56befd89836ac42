"""Boundaries of a sequential design by Monte Carlo on the t scale: no sigma enters.

The one-sided error is spent as alpha(t) = 2 - 2 Phi(z(1 - alpha / 2) / sqrt(t)) at information t: little early, what
O'Brien and Fleming's bounds spend. Source: Lan and DeMets, doi 10.1093/biomet/70.3.659.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.benchmarks import Floats
from analysis.stats.design import DUNNETT, EACH, Design

_CHUNK = 50_000


@dataclass(frozen=True, kw_only=True)
class Boundaries:
    """Critical values of a design: one_J for one arm, family_LJ by the number of arms left (row 0: one left)."""

    one_J: tuple[float, ...]
    family_LJ: tuple[tuple[float, ...], ...]

    def family(self, left: int, look: int) -> float:
        """Give the critical value at a look (from 0) while `left` arms are not yet superior."""
        return self.family_LJ[left - 1][look]


def spend(alpha: float, information: float) -> float:
    """Give the one-sided error spent until a share of the information is in."""
    return float(2 * stats.norm.sf(stats.norm.isf(alpha / 2) / math.sqrt(information)))


def boundaries(design: Design, rng: np.random.Generator, *, paths: int = 1_000_000) -> Boundaries:
    """Compute every critical value of a design.

    One look of pairs: Student's quantiles, exact. Else `paths` simulated studies without any effect, each used with
    both signs: for one arm at alpha and, with Holm, at alpha / arms left; with Dunnett the maximum over the arms left,
    from a tenth of the paths.
    """
    left_L = range(1, design.arms + 1)
    if design.pairs:
        quantile_L = tuple((float(stats.t.isf(design.alpha / left, design.runs_J[0] - 1)),) for left in left_L)
        return Boundaries(one_J=quantile_L[0], family_LJ=quantile_L if design.family != EACH else quantile_L[:1])
    single_RJ = _paths(design, 1, paths, rng)[:, 0]
    one_J = _critical(single_RJ, design, design.alpha, exact=True)
    if design.family == EACH:
        return Boundaries(one_J=one_J, family_LJ=(one_J,) * design.arms)
    if design.family == DUNNETT:
        most_RLJ = np.maximum.accumulate(_paths(design, design.arms, paths // 10, rng), axis=1)
        family = tuple(_critical(most_RLJ[:, left - 1], design, design.alpha, exact=False) for left in left_L)
    else:
        family = tuple(_critical(single_RJ, design, design.alpha / left, exact=True) for left in left_L)
    return Boundaries(one_J=one_J, family_LJ=family)


def _critical(t_RJ: Floats, design: Design, alpha: float, *, exact: bool) -> tuple[float, ...]:
    """Find, look by look, the value that the paths not yet stopped exceed as often as may be spent there."""
    open_R = np.ones(len(t_RJ), dtype=bool)
    found: list[float] = []
    for j in range(design.looks):
        allowed = spend(alpha, design.information(j))
        if j == 0 and exact:
            found.append(float(stats.t.isf(allowed, design.degrees(0))))
        else:
            new = max(1, round(allowed * len(t_RJ)) - int((~open_R).sum()))
            value_R = t_RJ[open_R, j]
            found.append(float(np.partition(value_R, len(value_R) - new)[len(value_R) - new]))
        open_R &= t_RJ[:, j] < found[-1]
    return tuple(found)


def _paths(design: Design, arms: int, paths: int, rng: np.random.Generator) -> Floats:
    """Simulate t statistics of `arms` arms at every look, without effects: (paths, arms, J), half of them mirrored."""
    parts = []
    for start in range(0, paths // 2, _CHUNK):
        t_RAJ = _simulated(design, arms, min(_CHUNK, paths // 2 - start), rng)
        parts += [t_RAJ, -t_RAJ]
    return np.concatenate(parts)


def _simulated(design: Design, arms: int, paths: int, rng: np.random.Generator) -> Floats:
    """Draw batch means of the arms and the control, the variance within batches, and of the other arms theirs.

    What batch means add to the pooled variance goes in as it does in a study, so few arms are handled exactly.
    """
    mean_RAJ, square_RJ = _batches(rng.standard_normal((paths, arms, design.looks)), design.runs_J)
    control_RAJ, other_RJ = _batches(rng.standard_normal((paths, 1, design.looks)), design.controls_J)
    t_RAJ = np.empty((paths, arms, design.looks))
    within_R = np.zeros(paths)
    free = 0
    for j in range(design.looks):
        between = (arms + 1) * j  # degrees of freedom that the batch means hold
        df = design.degrees(j)
        new = df - between - free  # none where every batch is a single run
        within_R = within_R + (rng.chisquare(new, paths) if new else 0.0)
        free = df - between
        s_R = np.sqrt((within_R + square_RJ[:, j] + other_RJ[:, j]) / df)
        factor = 1 / design.runs_J[j] + 1 / design.controls_J[j]
        t_RAJ[:, :, j] = (mean_RAJ[:, :, j] - control_RAJ[:, :, j]) / (s_R * math.sqrt(factor))[:, None]
    return t_RAJ


def _batches(z_RAJ: Floats, size_J: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Give running means of standard normal runs that come in batches up to size_J, and the sum of squares between
    the batches, summed over arms: (R, A, J) and (R, J).
    """
    step_J = np.diff([0, *size_J])
    batch_RAJ = z_RAJ / np.sqrt(step_J)
    mean_RAJ = np.cumsum(batch_RAJ * step_J, axis=2) / np.array(size_J)
    square_RAJ = np.cumsum(step_J * batch_RAJ**2, axis=2) - np.array(size_J) * mean_RAJ**2
    return mean_RAJ, np.asarray(square_RAJ.sum(axis=1))
