"""What every loader gives: runs with their scores, and one checked frame over all of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.errors import AnalysisError
from dataflex_rl.record import RunRecord, read_config
from dataflex_rl.record.pairs import FIELD, Terms, acts

COLUMNS = (
    "model",
    "task",
    "regime",
    "steps",
    "evaluation",
    "method",
    "seed",
    "phase",
    "benchmark",
    "domain",
    "correct",
    "total",
    "accuracy",
    "run_id",
    "source",
)


@dataclass(frozen=True, kw_only=True)
class Score:
    """One cell. accuracy [percent] is NaN when missing; correct and total are None where only a percentage is known."""

    benchmark: str
    domain: str
    accuracy: float
    correct: int | None = None
    total: int | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One trained model: where it stands in the comparison, and its scores.

    model, task, regime, steps and method are verbatim from the source (task is the campaign of a published file).
    `evaluation` names what was evaluated; runs of two evaluations never meet in one block. `domains` are the domains
    the evaluation declares. `kind` is "mixer", "policy", "prompts" or None (unknown). `streams` maps "all" and each
    domain to the digests of the consumed prompt stream; `budget` what the run was given. `path` is the record's folder,
    if any.
    """

    run_id: str
    source: str
    model: str
    task: str
    regime: str | None
    steps: int | None
    evaluation: str
    method: str
    seed: int
    trained: tuple[Score, ...]
    untrained: tuple[Score, ...] = ()
    domains: tuple[str, ...] = ()
    kind: str | None = None
    path: Path | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)
    cost: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Any] | None = None

    @property
    def mixes(self) -> bool:
        """Whether the record names a mixer: its prompts then depend on its shares."""
        return self._has("mixer")

    @property
    def selects(self) -> bool:
        """Whether the record names a prompt selector: its prompts are then its own choice."""
        return self._has("prompt_selector")

    @property
    def stops_early(self) -> bool:
        """Whether generated tokens end it: two runs then differ in steps and prompts by design."""
        return self.manifest.get("stop_at_tokens") is not None

    def _has(self, part: str) -> bool:
        component = self.manifest.get(part)
        return acts(component.get("name") if isinstance(component, dict) else component)

    @property
    def terms(self) -> Terms:
        """What the record says of its conditions; its config.yaml is read where the manifest does not settle it."""
        folder = self.path
        entry = self.manifest.get(FIELD)
        return Terms(
            entry=entry if isinstance(entry, Mapping) else None,
            config=lambda: None if folder is None else read_config(RunRecord(folder)),
        )

    @property
    def block(self) -> tuple[str, str, str | None, int | None, str]:
        """The block this run belongs to: model, task, regime, steps, evaluation."""
        return (self.model, self.task, self.regime, self.steps, self.evaluation)


class Broken(str):
    """The note on a record that was left out because it is broken or cannot be read; its text names it and says why."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A run that was planned and has no usable result. `state` is the record's own word: failed, running, ...; "broken"
    where a file is missing.
    """

    model: str
    task: str
    regime: str | None
    steps: int
    method: str
    seed: int
    state: str

    def belongs(self, block: tuple[str, str, str | None, int | None, str]) -> bool:
        """Say whether it was planned for this block (its evaluation is not known)."""
        return (self.model, self.task, self.regime, self.steps) == block[:4]


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Everything loaded: runs, one line per thing that was left out or is odd, and the runs that have no result."""

    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The notes on records that could not be used."""
        return tuple(note for note in self.notes if isinstance(note, Broken))

    def frame(self) -> pd.DataFrame:
        """Give the long frame (COLUMNS), one row per run, phase and benchmark."""
        rows = [
            (
                *run.block,
                run.method,
                run.seed,
                phase,
                s.benchmark,
                s.domain,
                s.correct,
                s.total,
                s.accuracy,
                run.run_id,
                run.source,
            )
            for run in self.runs
            for phase, scores in (("untrained", run.untrained), ("trained", run.trained))
            for s in scores
        ]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.astype({"correct": "Int64", "total": "Int64", "steps": "Int64", "accuracy": "float64"})


def checked(runs: Iterable[Run], notes: Iterable[str], left_out: Iterable[LeftOut] = ()) -> Runs:
    """Check ranges and uniqueness over all sources together.

    A run found twice under the same source is one run. Raises AnalysisError for an accuracy outside 0..100, and for two
    different runs with the same (method, seed) in one block; both name the sources.
    """
    seen: dict[tuple[Any, ...], Run] = {}
    by_source: dict[str, Run] = {}
    for run in runs:
        if run.source in by_source:
            continue
        by_source[run.source] = run
        _check_range(run)
        key = (*run.block, run.method, run.seed)
        if key in seen:
            raise AnalysisError(
                f"duplicate run: method {run.method!r}, seed {run.seed} twice in {describe(run.block)}: "
                f"{seen[key].source} and {run.source}; give one of them as --runs"
            )
        seen[key] = run
    ordered = tuple(seen.values())
    said = (*notes, *_two_evaluations(ordered), *_uneven(ordered))
    return Runs(runs=ordered, notes=said, left_out=tuple(dict.fromkeys(left_out)))


def unconstrained(regime: str | None) -> bool:
    """Say whether a regime means none at all: not given, `none`, or `full` (all data, clean labels)."""
    return regime is None or regime.lower() in ("none", "full")


def describe(block: tuple[str, str, str | None, int | None, str]) -> str:
    """Name a block in one phrase: `Qwen / main / 300 steps` (regime only where there is one)."""
    model, task, regime, steps, _ = block
    shown = [] if regime is None or unconstrained(regime) else [regime]
    parts = [model, task, *shown, *([f"{steps} steps"] if steps is not None else [])]
    return " / ".join(parts)


def _check_range(run: Run) -> None:
    for score in (*run.untrained, *run.trained):
        if math.isnan(score.accuracy):
            continue
        if not 0.0 <= score.accuracy <= 100.0:
            raise AnalysisError(
                f"{run.source}: column {score.benchmark!r}: accuracy {score.accuracy!r} is outside 0..100 percent"
            )


def _two_evaluations(runs: tuple[Run, ...]) -> list[str]:
    evaluations: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for run in runs:
        evaluations[run.block[:4]].add(run.evaluation)
    return [
        f"{describe((*key, ''))}: {len(found)} evaluations ({', '.join(sorted(found))}); they are never paired"
        for key, found in evaluations.items()
        if len(found) > 1
    ]


def _uneven(runs: tuple[Run, ...]) -> list[str]:
    """Name the benchmarks that some records of a block have and others lack (a CSV file names its own blanks)."""
    recorded: dict[tuple[str, str, str | None, int | None, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.manifest:
            recorded[run.block].append(run)
    return [
        f"{describe(block)}: {benchmark} is missing in {len(lacking)} of {len(found)} runs "
        f"({', '.join(sorted(f'{r.method} seed {r.seed}' for r in lacking))}): averages over it are refused"
        for block, found in recorded.items()
        for benchmark in dict.fromkeys(s.benchmark for r in found for s in r.trained)
        if 0 < len(lacking := [r for r in found if not _has(r, benchmark)]) < len(found)
    ]


def _has(run: Run, benchmark: str) -> bool:
    return any(s.benchmark == benchmark and not math.isnan(s.accuracy) for s in run.trained)
