"""The looks of a sweep with a design: which runs are asked for now, and what a look decides.

    .sweep/design.json               what was fixed before the first run, with a digest per family
    .sweep/looks/FAMILY-J-runs.json  the runs and scores that look J saw, written before it decides
    .sweep/looks/FAMILY-J.json       its decisions, a sentence per arm, and the runs that it asks for next

Each is written to a temporary file and renamed, and a look decides from its own file of runs alone: killed at any
moment and launched again, it decides the same. A run that a look saw as failed stays failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError, UnreadableError, write_json
from dataflex_rl.record.files import read_object
from dataflex_rl.sweep.design import ask, freeze
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.store import RunState, Store

_FILE, _FOLDER = "design.json", "looks"
_DONE, _LOST = "done", "failed for good"  # as the analysis calls them
_ENDED = {"done": _DONE, "failed": _LOST}  # by the launcher's state of a run


class Gate(Protocol):
    """What the launcher asks before it starts a run."""

    def asks_for(self, run: Run) -> bool:
        """Say whether a run is asked for now."""

    def advance(self, run_states: Mapping[str, RunState]) -> list[str]:
        """Take the looks whose runs have all ended; return what they say."""


class Open:
    """The gate of a sweep without a design: all runs, no looks."""

    def asks_for(self, run: Run) -> bool:
        """Every run is."""
        return True

    def advance(self, run_states: Mapping[str, RunState]) -> list[str]:
        """Decide nothing."""
        return []


class Looks:
    """The gate of a sweep with a design. RecordError, ConfigError where a file is broken or was edited."""

    def __init__(self, folder: Path, design: Mapping[str, Any], runs: Sequence[Run]) -> None:
        self._folder, self._score = folder, str(design["settings"].get("score", "last"))
        self._at = {(run.method, run.seed): run for run in runs}
        self._families = [_Family(folder, name, part) for name, part in design["families"].items()]

    def asks_for(self, run: Run) -> bool:
        """Say whether an open look needs a run, and no earlier one saw it fail."""
        return any(family.asks_for(run.method, run.seed) for family in self._families)

    def advance(self, run_states: Mapping[str, RunState]) -> list[str]:
        """Take the looks whose runs have all ended; return a sentence per arm.

        Raises:
            ConfigError: the analysis refuses, and says why; RecordError: a file cannot be written.
        """
        said = []
        for family in self._families:
            while states := family.ended(self._at, run_states):
                said += family.look(self._folder, states, self._score)
        return said


class _Family:
    """One family of arms with its control: its looks so far, and the runs that the next one needs."""

    def __init__(self, folder: Path, name: str, part: Mapping[str, Any]) -> None:
        self._name, self._protocol = name, part["protocol"]
        self._needs = [tuple(run) for run in part["needs"]]
        self._before: dict[str, Any] | None = None
        self._cells: dict[str, dict[str, Any]] = {}
        self._number = 1
        while (decided := _read(self._file(folder, ""))) is not None:
            seen = _read(self._file(folder, "-runs"))
            if seen is None:
                raise ConfigError(f"sweep {folder.parent}: look {self._number} of {name} has lost the runs that it saw")
            self._take(seen, decided)

    def _file(self, folder: Path, ending: str) -> Path:
        return folder / _FOLDER / f"{self._name}-{self._number}{ending}.json"

    def _take(self, seen: Mapping[str, Any], decided: dict[str, Any]) -> None:
        self._cells, self._before = seen["cells"], decided
        self._needs = [tuple(run) for run in decided["needs"]]
        self._number += 1

    def asks_for(self, method: str, seed: int) -> bool:
        return (method, seed) in self._needs and self._seen(method, seed).get("state") != _LOST

    def _seen(self, method: str, seed: int) -> dict[str, Any]:
        """Return what an earlier look saw of a run, {} if none did."""
        found: dict[str, Any] = self._cells.get(method, {}).get(str(seed), {})
        return found

    def ended(
        self, at: Mapping[tuple[str, int], Run], run_states: Mapping[str, RunState]
    ) -> dict[str, dict[str, Any]] | None:
        """Return {method: {seed: {"state", "record"}}} of the needed runs once all have ended, None before."""
        found: dict[str, dict[str, Any]] = {}
        for method, seed in self._needs:
            run = at[method, seed]
            state = self._seen(method, seed).get("state") or _ENDED.get(run_states[run.run_dir].state)
            if state is None:
                return None
            found.setdefault(method, {})[str(seed)] = {"state": state, "record": run.run_dir}
        return found or None

    def look(self, folder: Path, states: Mapping[str, Any], score: str) -> list[str]:
        """Take a look: keep what it sees, decide from that, keep the decisions."""
        runs, decisions = self._file(folder, "-runs"), self._file(folder, "")
        runs.parent.mkdir(exist_ok=True)
        seen = _read(runs)
        if seen is None:
            everything = {m: {**self._earlier(m, states), **states.get(m, {})} for m in {**self._cells, **states}}
            seen = ask("cells", "--score", score, runs=everything)
            seen["cells"] = {
                m: {s: self._seen(m, int(s)) or cell for s, cell in cells.items()} for m, cells in seen["cells"].items()
            }
            write_json(runs, seen)
        before = {} if self._before is None else {"before": self._before}
        settings = ("--look", str(self._number), "--suspects", str(seen["suspects"]))
        decided = ask("look", *settings, protocol=self._protocol, cells=seen["cells"], **before)
        write_json(decisions, decided)
        self._take(seen, decided)
        return [f"look {decided['look']}, {self._name}: {line}" for line in decided["sentences"]]

    def _earlier(self, method: str, states: Mapping[str, Any]) -> dict[str, Any]:
        """Return the runs of a method that an earlier look saw, with the record beside those of this look."""
        one = next(cell["record"] for cells in states.values() for cell in cells.values())
        place = Path(one).parents[1] / method
        cells = self._cells.get(method, {})
        return {s: {"state": cell["state"], "record": str(place / f"seed_{s}")} for s, cell in cells.items()}


def open_gate(sweep: Sweep, store: Store) -> Gate:
    """Fix a sweep's design before its first run, or hold it against what was fixed; return its gate.

    Raises:
        ConfigError: a design, boundary, margin, score or method list other than the one that was fixed, with the
            reason; or a sweep that was started without one.
    """
    path = store.path / _FILE
    kept = _read(path)
    if sweep.design is None:
        if kept is not None:
            raise ConfigError(f"sweep {sweep.name!r} was started with design={kept['settings']['name']}; give it again")
        return Open()
    if kept is None:
        started = next((run.name for run in sweep.runs if Path(run.run_dir, "metrics.jsonl").exists()), None)
        if started is not None:
            raise ConfigError(
                f"sweep {sweep.name!r} has runs already ({started}); a design is fixed before the first: new_sweep=NAME"
            )
        write_json(path, sweep.design)
        return Looks(store.path, sweep.design, sweep.runs)
    _unchanged(sweep, kept)
    return Looks(store.path, kept, sweep.runs)


def _unchanged(sweep: Sweep, kept: Mapping[str, Any]) -> None:
    """Refuse a design that is not the one that was fixed."""
    design = sweep.design or {}
    for name in sorted({*kept["families"], *design["families"]}):
        both = [value["families"].get(name) for value in (kept, design)]
        if None in both:
            what = "gone" if both[1] is None else "new"
            raise ConfigError(f"sweep {sweep.name!r}: its {name} methods are {what} since its design was fixed")
        freeze(design["settings"], both[1]["family"], both[1]["seeds"], before=both[0]["protocol"])


def asked_for(store: Store, runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the runs of a launched sweep that its looks have asked for; all of them without a design."""
    kept = _read(store.path / _FILE)
    if kept is None:
        return list(runs)
    wanted = {(str(run[0]), int(run[1])) for part in kept["families"].values() for run in part["needs"]}
    for name in kept["families"]:
        for number in range(1, 1000):
            decided = _read(store.path / _FOLDER / f"{name}-{number}.json")
            if decided is None:
                break
            wanted |= {(str(run[0]), int(run[1])) for run in decided["needs"]}
    return [run for run in runs if (run["method"], run["seed"]) in wanted]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_object(path)
    except UnreadableError:
        raise
    except RecordError as error:
        raise ConfigError(f"{error}; it belongs to the design of a study and is never written anew") from None
