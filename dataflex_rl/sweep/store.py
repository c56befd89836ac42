"""The sweep's own folder, `<runs_dir>/<sweep>/.sweep/`: what was planned, how each run fared, what was asked for.

    plan.json        the runs, in order; a later launch of the same sweep adds to it
    state.json       {run_dir: how it fared}, as the launcher saw it
    attempts.jsonl   one line per attempt that ended
    logs/            what each run's command printed
    lock.json        the launcher at work
    cancel           there while a cancellation is asked for
    audit.json, ledger.json   of the last audit

The records of the runs stay the source of truth; nothing here is needed to read them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError, read_json, write_json
from dataflex_rl.sweep.plan import Run, Sweep

FOLDER = ".sweep"
STATES = ("waiting", "running", "done", "failed", "refused", "interrupted")


@dataclass(frozen=True, kw_only=True)
class Fate:
    """How a run fared: `seconds` of its last attempt, `score` its average accuracy in 0..1 once done.

    `failures` and `losses` count the attempts of this launch that failed, or whose machine vanished.
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
            (self.path / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"sweep folder {self.path}: cannot be made: {error.strerror or error}") from None
        return self

    def log_of(self, run: Run) -> Path:
        """Return the file for what a run's command prints."""
        return self.path / "logs" / (run.name.replace("/", "--") + ".log")

    def write_plan(self, sweep: Sweep) -> None:
        """Write the plan: earlier runs that this one does not name stay in it."""
        plan = sweep.as_dict()
        new = {run["run_dir"] for run in plan["runs"]}
        before = read_json(self.path / "plan.json") or {"runs": []}
        plan["runs"] = [run for run in before["runs"] if run["run_dir"] not in new] + plan["runs"]
        write_json(self.path / "plan.json", plan)

    def read_plan(self) -> dict[str, Any]:
        """Return the plan; ConfigError where the sweep was never launched."""
        plan = read_json(self.path / "plan.json")
        if plan is None:
            raise ConfigError(f"sweep {self.path.parent}: was never launched (no {FOLDER}/plan.json)")
        assert isinstance(plan, dict)
        return plan

    def write_fates(self, fates: Mapping[str, Fate], *, now: bool = False) -> None:
        """Write how the runs fared; at most once per `every` seconds unless `now`."""
        if now or time.monotonic() - self._saved >= self._every:
            self._saved = time.monotonic()
            self._try(lambda: write_json(self.path / "state.json", {key: asdict(fate) for key, fate in fates.items()}))

    def read_fates(self) -> dict[str, Fate]:
        """Return how the runs fared when the last launcher wrote it."""
        return {key: Fate(**value) for key, value in (read_json(self.path / "state.json") or {}).items()}

    def add_attempt(self, **facts: Any) -> None:
        """Append the line of an attempt that ended."""

        def append() -> None:
            path = self.path / "attempts.jsonl"
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(facts) + "\n")
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


def interrupted(fates: Mapping[str, Fate]) -> dict[str, Fate]:
    """Return the fates with what a dead launcher left as running marked as interrupted."""
    return {key: replace(fate, state="interrupted") if fate.state == "running" else fate for key, fate in fates.items()}
