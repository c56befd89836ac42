"""What a look of a running study needs, what it decided, and a sentence per arm that can be quoted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.errors import AnalysisError
from analysis.stats.design import EACH, Design
from analysis.stats.sequential import INFERIOR, NO_GAIN, OPEN, SUPERIOR

DONE, LOST = "done", "failed for good"
WORDS = {OPEN: "open", SUPERIOR: "superior", NO_GAIN: "no gain", INFERIOR: "inferior"}
UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run. state: "done" with a score [points], "failed for good", or whatever else it is (which blocks a look)."""

    state: str
    score: float = math.nan


Cells = Mapping[tuple[str, int], Cell]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Where one arm stands after a look (from 1). verdict: open, superior, no gain, inferior, undecided.

    n of `planned` runs, against `controls` runs; low and high: delta +- the last look's bound * se; needed: the
    difference that superiority asked for at this look [points].
    """

    arm: str
    verdict: str
    look: int
    n: int
    planned: int
    controls: int
    delta: float
    se: float
    needed: float
    low: float
    high: float
    left: int

    @property
    def open(self) -> bool:
        """Say whether the arm goes on."""
        return self.verdict == WORDS[OPEN]


@dataclass(frozen=True, kw_only=True)
class Look:
    """All decisions after a look (from 1), and why the pooled boundary was refused ("" where it was not)."""

    look: int
    decisions: tuple[Decision, ...]
    refused: str

    def of(self, arm: str) -> Decision:
        """Give one arm's decision."""
        return next(d for d in self.decisions if d.arm == arm)


def runs_needed(
    design: Design, look: int, arms: Sequence[str], control: str, seeds: Sequence[int], before: Look | None
) -> list[tuple[str, int]]:
    """List the runs (method, seed) that a look (from 1) needs: its controls, and its runs of every open arm.

    Raises AnalysisError where the design asks for more seeds than there are, or for another number of arms.
    """
    runs, controls = design.runs_J[look - 1], design.controls_J[look - 1]
    if len(arms) != design.arms or len(set(arms) - {control}) != len(arms):
        raise AnalysisError(f"arms {', '.join(arms)}; expected {design.arms} different ones, none of them {control}")
    if len(set(seeds)) < controls:
        raise AnalysisError(f"{len(set(seeds))} seeds; look {look} wants {controls} for the control {control}")
    going = [a for a in arms if before is None or before.of(a).open]
    if not going:
        return []
    return [(control, s) for s in seeds[:controls]] + [(a, s) for a in going for s in seeds[:runs]]


def blockers(needed: Sequence[tuple[str, int]], cells: Cells) -> list[str]:
    """Name the needed runs that are neither done nor failed for good: while there is one, the look waits."""
    named = []
    for method, seed in needed:
        cell = cells.get((method, seed), Cell(state="missing"))
        if cell.state not in (DONE, LOST):
            named.append(f"{method} seed {seed} ({cell.state})")
        elif cell.state == DONE and not math.isfinite(cell.score):
            named.append(f"{method} seed {seed} (no score)")
    return named


def sentence(design: Design, decision: Decision, control: str, *, refused: str = "") -> str:
    """Say what an arm's last look shows, so that it can be quoted alone. `refused`: the look's reason, if any."""
    d = decision
    if math.isnan(d.delta):
        return f"{d.arm} has no usable run at look {d.look} of {design.looks}: {d.n} of {d.planned} are finished."
    runs = f"{d.n} of {d.planned} runs, the others failed for good" if d.n < d.planned else f"{d.n} runs"
    where = f"at look {d.look} of {design.looks} ({runs} against {d.controls} of {control})"
    seen = f"{d.delta:+.2f} points {where}, interval [{d.low:+.2f}, {d.high:+.2f}]"
    family = "for this arm alone" if design.family == EACH else f"by {design.family.capitalize()}, {d.left} arms left"
    said = {
        WORDS[SUPERIOR]: f"{d.arm} is superior to {control}: {seen}; {d.needed:+.2f} was needed {family}. An estimate "
        "after stopping for superiority is biased upwards.",
        WORDS[NO_GAIN]: f"A gain of {design.margin:g} points over {control} is ruled out for {d.arm}: {seen}. This "
        "does not say that there is no difference; an estimate after stopping for it is biased downwards.",
        WORDS[INFERIOR]: f"{d.arm} is inferior to {control}: {seen}; {-d.needed:+.2f} was needed {family}. An estimate "
        "after stopping for inferiority is biased downwards.",
        UNDECIDED: f"{d.arm} against {control} is undecided after the last look: {seen}; {d.needed:+.2f} was needed "
        f"{family}.",
        WORDS[OPEN]: f"{d.arm} against {control} is open: {seen}; {d.needed:+.2f} was needed {family}. It goes on.",
    }[d.verdict]
    return said + (f" The pooled boundary was refused: {refused}." if refused and d.verdict != WORDS[NO_GAIN] else "")
