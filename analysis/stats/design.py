"""Designs of a study: how many runs of an arm and of the control at each look, and which rules decide.

sequential   looks at 4, 6 and 8 runs per arm; controls about sqrt(arms) times as many; Holm over the arms left
screen       looks at 3, 4 and 5 runs per arm; the same share of controls; Dunnett's maximum over the arms left
fixed        one look at 12 runs per arm and control, paired by seed; Holm over the arms

More controls than runs of an arm are most of the gain: with k arms the best is about sqrt(k) controls per run.
Source: Dunnett, doi 10.1080/01621459.1955.10501294.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.errors import AnalysisError, unknown

EACH, HOLM, DUNNETT = "each", "holm", "dunnett"
POOLED, LARGER = "pooled", "larger"
_RUNS = {"sequential": (4, 6, 8), "screen": (3, 4, 5), "fixed": (12,)}
_FAMILY = {"sequential": HOLM, "screen": DUNNETT, "fixed": HOLM}


@dataclass(frozen=True, kw_only=True)
class Design:
    """A design of J looks. Everything here is fixed before the first run; a change is a new study.

    runs_J and controls_J grow; margin [points] is the gain to rule out; alpha is one-sided. family: "each" arm by
    itself, or over all arms by "holm" or "dunnett". beta: share of the control's same-seed runs used as covariate, see
    `guards.covariate_beta`. variance: "larger" of an arm's own and the pooled variance, or "pooled". inferior: decide
    that too, by the same bounds. pairs: one look, paired t (the fixed design). Raises AnalysisError for what does not
    fit.
    """

    name: str
    arms: int
    runs_J: tuple[int, ...]
    controls_J: tuple[int, ...]
    margin: float = 1.0
    alpha: float = 0.025
    family: str = HOLM
    beta: float = 0.0
    variance: str = LARGER
    inferior: bool = False
    pairs: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        looks = zip(self.runs_J, self.controls_J, strict=False)
        if len(self.runs_J) != len(self.controls_J) or not self.runs_J:
            raise AnalysisError(f"runs {self.runs_J} and controls {self.controls_J}; expected one of each per look")
        if min(self.runs_J) < 3 or any(c < n for n, c in looks):
            raise AnalysisError(
                f"runs {self.runs_J}, controls {self.controls_J}; expected 3 runs or more, and as many controls or more"
            )
        for name, value_J in (("runs", self.runs_J), ("controls", self.controls_J)):
            if list(value_J) != sorted(set(value_J)):
                raise AnalysisError(f"{name} {value_J}; expected growing numbers")
        if self.family not in (EACH, HOLM, DUNNETT):
            raise unknown("family rule", self.family, (EACH, HOLM, DUNNETT))
        if self.variance not in (POOLED, LARGER):
            raise unknown("variance", self.variance, (POOLED, LARGER))
        for name, value, low, high in (
            ("margin", self.margin, 0.0, 100.0),
            ("alpha", self.alpha, 0.0, 0.5),
            ("beta", self.beta, -1e-12, 1.0),
        ):
            if not low < value < high:
                raise AnalysisError(f"{name}={value!r}; expected a number between {max(low, 0):g} and {high:g}")
        if self.arms < 1:
            raise AnalysisError(f"arms={self.arms!r}; expected 1 or more")

    @property
    def looks(self) -> int:
        """Number of looks."""
        return len(self.runs_J)

    @property
    def most_runs(self) -> int:
        """Runs where no arm is decided before the last look, controls included."""
        return self.arms * self.runs_J[-1] + self.controls_J[-1]

    def variance_factor(self, n: float, controls: float) -> float:
        """Give f: the variance of a difference over that of a run, (1 - beta^2) / n + (1 - beta)^2 / controls."""
        return (1 - self.beta**2) / n + (1 - self.beta) ** 2 / controls

    def degrees(self, look: int) -> int:
        """Give the degrees of freedom of the pooled variance where all arms go on."""
        return self.arms * (self.runs_J[look] - 1) + self.controls_J[look] - 1

    def information(self, look: int) -> float:
        """Give the share of the last look's information."""
        last, now = (self.variance_factor(self.runs_J[j], self.controls_J[j]) for j in (-1, look))
        return last / now


def design(
    name: str,
    arms: int,
    *,
    margin: float = 1.0,
    family: str | None = None,
    beta: float = 0.0,
    variance: str = LARGER,
    inferior: bool = False,
    runs: int | None = None,
) -> Design:
    """Give a named design for a number of arms; `runs` replaces the 12 of the fixed one. family None: the design's own.

    Raises AnalysisError for an unknown name, and for settings that do not fit.
    """
    if name not in _RUNS:
        raise unknown("design", name, _RUNS)
    if arms < 1:
        raise AnalysisError(f"arms={arms!r}; expected 1 or more")
    fixed = name == "fixed"
    if runs is not None and not fixed:
        raise AnalysisError(f"runs={runs!r} with design {name!r}; only the fixed design takes a number of runs")
    runs_J = (runs,) if runs is not None else _RUNS[name]
    return Design(
        name=name,
        arms=arms,
        runs_J=runs_J,
        controls_J=runs_J if fixed else tuple(max(n, round(math.sqrt(arms) * n)) for n in runs_J),
        margin=margin,
        family=family or _FAMILY[name],
        beta=beta,
        variance=variance,
        inferior=inferior,
        pairs=fixed,
    )
