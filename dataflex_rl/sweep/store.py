"""The sweep's own folder, `<runs_dir>/<sweep>/.sweep/`: what was planned, how each run fared, what was asked for.

    plans/           the plan of each run, as its command takes it
    plan.json        the runs, in order; a later launch of the same sweep adds to it
    state.json       {run_dir: how it fared}, as the launcher saw it
    attempts.jsonl   one line per attempt that ended
    logs/            what each run's command printed
    lock.json        the launcher at work
    cancel           there once a cancellation is asked for, until the next launch
    audit.json, ledger.json   of the last audit

The records of the runs stay the source of truth; nothing here is needed to read them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError, UnreadableError, write_json
from dataflex_rl.record.files import read_object
from dataflex_rl.sweep.plan import Run, Sweep

FOLDER = ".sweep"
STATES = ("waiting", "running", "done", "failed", "refused", "interrupted")


@dataclass(frozen=True, kw_only=True)
class RunState:
    """The state of a run in its sweep: `seconds` of its last attempt, `score` its average accuracy in 0..1 once done.

    `failures` counts the attempts of this launch that failed, `losses` those whose machine vanished or whose record
    another process held.
    """

    state: str = "waiting"
    attempts: int = 0
    failures: int = 0
    losses: int = 0
    error: str | None = None
    node: str = ""
    started: float | None = None
    seconds: float | None = None
    score: float | None = None


def plan_file(run_dir: str) -> Path:
    """Return the file that holds the plan of the run whose record is there."""
    place = Path(run_dir)
    return place.parents[2] / FOLDER / "plans" / ("--".join(place.parts[-3:]) + ".json")


class Store:
    """The folder of one sweep. A disk that refuses is kept in `problem`, once, and does not stop the launcher."""

    def __init__(self, folder: Path, *, every: float = 1.0) -> None:
        self.path = folder / FOLDER
        self.problem: str | None = None
        self._every, self._saved = every, -float("inf")

    @property
    def lock(self) -> Path:
        """The file that says which launcher is at work."""
        return self.path / "lock.json"

    @property
    def cancel(self) -> Path:
        """The file whose presence asks the launcher to stop."""
        return self.path / "cancel"

    def create(self) -> Store:
        """Make the folder; ConfigError where that is impossible."""
        try:
            for name in ("logs", "plans"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"sweep folder {self.path}: cannot be made: {error.strerror or error}") from None
        return self

    def log_of(self, run: Run) -> Path:
        """Return the file for what a run's command prints."""
        return self.path / "logs" / (run.name.replace("/", "--") + ".log")

    def write_plan(self, sweep: Sweep) -> None:
        """Write the plan of the sweep and of each run: earlier runs that this one does not name stay in it."""
        for run_dir, planned in sweep.plans.items():
            planned.write(plan_file(run_dir))
        plan = sweep.as_dict()
        new = {run["run_dir"] for run in plan["runs"]}
        before = self._plan()
        earlier = [] if before is None else before["runs"]
        plan["runs"] = [run for run in earlier if run["run_dir"] not in new] + plan["runs"]
        write_json(self.path / "plan.json", plan)

    def read_plan(self) -> dict[str, Any]:
        """Return the plan; ConfigError where the sweep was never launched."""
        plan = self._plan()
        if plan is None:
            raise ConfigError(f"sweep {self.path.parent}: was never launched (no {FOLDER}/plan.json)")
        return plan

    def _plan(self) -> dict[str, Any] | None:
        plan = self._object("plan.json")
        if plan is None or ("sweep" in plan and _are_runs(plan.get("runs"))):
            return plan
        raise self._broken("plan.json", "lacks the sweep or its runs")

    def _object(self, name: str) -> dict[str, Any] | None:
        """Return the JSON object in a file of the folder, None without one; UnreadableError, ConfigError if broken."""
        try:
            return read_object(self.path / name)
        except UnreadableError:
            raise
        except RecordError as error:
            raise self._broken(name, str(error).partition(": ")[2]) from None

    def _broken(self, name: str, why: str) -> ConfigError:
        return ConfigError(
            f"sweep {self.path.parent}: {FOLDER}/{name} is broken ({why}); remove it: launch writes it anew, and the "
            "records say what is done"
        )

    def write_states(self, run_states: Mapping[str, RunState], *, now: bool = False) -> None:
        """Write how the runs fared; at most once per `every` seconds unless `now`."""
        if now or time.monotonic() - self._saved >= self._every:
            self._saved = time.monotonic()
            self._try(
                lambda: write_json(
                    self.path / "state.json", {key: asdict(run_state) for key, run_state in run_states.items()}
                )
            )

    def read_states(self) -> dict[str, RunState]:
        """Return how the runs fared when the last launcher wrote it."""
        found = self._object("state.json") or {}
        try:
            run_states = {key: RunState(**value) for key, value in found.items()}
        except TypeError as error:
            raise self._broken("state.json", str(error)) from None
        for key, run_state in run_states.items():
            if wrong := _other_kind(run_state):
                raise self._broken("state.json", f"{key}: {wrong} is {getattr(run_state, wrong)!r}")
        return run_states

    def add_attempt(self, **facts: Any) -> None:
        """Append the line of an attempt that ended."""

        def append() -> None:
            path = self.path / "attempts.jsonl"
            try:
                with path.open("ab") as file:
                    file.write(b"\n" * _ends_torn(path) + json.dumps(facts).encode() + b"\n")
            except OSError as error:
                raise RecordError.of("write", path, error) from error

        self._try(append)

    def keep(self, name: str, value: Any) -> None:
        """Write another JSON file of the sweep."""
        self._try(lambda: write_json(self.path / name, value))

    def _try(self, action: Any) -> None:
        try:
            action()
        except RecordError as error:
            self.problem = self.problem or str(error)


def _other_kind(run_state: RunState) -> str | None:
    """Return a field of a run_state that is not of its kind."""
    for name in ("started", "seconds", "score"):
        value = getattr(run_state, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            return name
    kinds = {"state": str, "attempts": int, "failures": int, "losses": int, "node": str}
    found = next((name for name, kind in kinds.items() if type(getattr(run_state, name)) is not kind), None)
    if found is None and run_state.state not in STATES:
        return "state"
    return found if run_state.error is None or isinstance(run_state.error, str) else "error"


def _are_runs(value: object) -> bool:
    expected = {"method": str, "seed": int, "run_dir": str, "steps": int}
    return isinstance(value, list) and all(
        isinstance(run, dict) and all(type(run.get(key)) is kind for key, kind in expected.items()) for run in value
    )


def _ends_torn(path: Path) -> bool:
    """Say whether a file ends in the middle of a line, as a kill may leave it."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
