"""What a user can set, with the defaults that every caption prints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.errors import AnalysisError
from analysis.load.evaluations import LAST, parse_score
from dataflex_rl.record.pairs import CONTROLS


@dataclass(frozen=True, kw_only=True)
class Family:
    """Methods compared with one control. `methods` None means: every method that no other family names. `mixers` and
    `prompts` also take the methods whose records say that they only mix, or only select prompts.
    """

    name: str
    controls: tuple[str, ...]
    methods: tuple[str, ...] | None = None


SELECT_REWEIGHT = Family(name="select_reweight", controls=(CONTROLS["policy"], "baseline"))
PROMPTS = Family(name="prompts", controls=(CONTROLS["prompts"], "baseline"), methods=())
MIXERS = Family(name="mixers", controls=(CONTROLS["mixer"],), methods=("reward_gap", "dump_ucb", "tscl"))
DEFAULTS = (SELECT_REWEIGHT, MIXERS, PROMPTS)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of a comparison.

    margin [points] of the equivalence test and of "within margin"; level of the t interval; alpha of every test;
    control: one name for all methods, or None for each family's own; mismatch: what happens to a pair whose
    recorded prompt streams differ ("refuse" leaves the pair out, "flag" keeps and names it);
    allow_differences: keys of the configuration, each with all below it, in which the runs of a pair may differ;
    score: what a run is scored by, its "last" evaluation or "mean:K", the mean of its last K;
    holm: the family of the Holm correction, the methods of one "block" or of all blocks together ("all");
    resamples and seed drive the bootstraps; z_joint, z_single are the thresholds of the suspect search.
    Raises AnalysisError for a value outside its range.
    """

    margin: float = 1.0
    level: float = 0.95
    alpha: float = 0.05
    control: str | None = None
    families: tuple[Family, ...] = field(default=DEFAULTS)
    mismatch: str = "refuse"
    allow_differences: tuple[str, ...] = ()
    score: str = LAST
    holm: str = "block"
    resamples: int = 5000
    seed: int = 0
    z_joint: float = 3.0
    z_single: float = 6.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        _between("margin", self.margin, 0.0, 100.0)
        _between("level", self.level, 0.5, 1.0)
        _between("alpha", self.alpha, 0.0, 0.5)
        parse_score(self.score)
        if self.mismatch not in ("refuse", "flag"):
            raise AnalysisError(f"mismatch={self.mismatch!r}; expected refuse or flag")
        if self.holm not in ("block", "all"):
            raise AnalysisError(f"holm={self.holm!r}; expected block or all")
        if self.resamples < 100:
            raise AnalysisError(f"resamples={self.resamples}; expected at least 100")
        if not 0 < self.z_joint <= self.z_single:
            raise AnalysisError(
                f"z_joint={self.z_joint:g}, z_single={self.z_single:g}; expected 0 < z_joint <= z_single"
            )

    def generator(self) -> np.random.Generator:
        """Give a fresh generator: equal options give equal resamples, whatever was computed before."""
        return np.random.default_rng(self.seed)


def _between(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise AnalysisError(f"{name}={value!r}; expected a number strictly between {low:g} and {high:g}")


def parse_family(text: str) -> Family:
    """Read `NAME=CONTROL:METHOD,METHOD` (methods left out: all that no other family names).

    Raises AnalysisError naming the text when the form does not fit.
    """
    name, equals, rest = text.partition("=")
    control, _, methods = rest.partition(":")
    if not (equals and name.strip() and control.strip()):
        raise AnalysisError(f"family {text!r}; expected NAME=CONTROL or NAME=CONTROL:METHOD,METHOD")
    listed = tuple(m.strip() for m in methods.split(",") if m.strip())
    return Family(name=name.strip(), controls=(control.strip(),), methods=listed or None)
