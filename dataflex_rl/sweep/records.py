"""What the launcher and `status` read of the runs' own records, and how a run is started."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from dataflex_rl.console import domain_scores
from dataflex_rl.record import RecordError, RunRecord, Status, read_evaluation, read_status, why_not_done
from dataflex_rl.sweep.overview import fate_now
from dataflex_rl.sweep.plan import Run
from dataflex_rl.sweep.store import Fate


def run_command(run: Run) -> list[str]:
    """Return the command of a run."""
    return [sys.executable, "-m", "dataflex_rl.run", *run.arguments]


def lacking(run: Run) -> str | None:
    """Return what a run lacks to be done, in a few words; None if it is done. An unreadable record lacks itself."""
    try:
        return why_not_done(RunRecord(Path(run.run_dir)), run.steps)
    except (RecordError, OSError) as error:
        return str(error)


def status_of(run_dir: str) -> Status:
    """Return the status in a record; a broken or missing one is that of a run that has not begun."""
    try:
        return read_status(RunRecord(Path(run_dir)))
    except RecordError:
        return Status()


def joined(fates: Mapping[str, Fate], statuses: Mapping[str, Status], *, launcher_alive: bool) -> dict[str, Fate]:
    """Return the fates of all runs that have a status, joined with it."""
    return {
        key: fate_now(fates.get(key, Fate()), status, launcher_alive=launcher_alive) for key, status in statuses.items()
    }


def score_of(run: Run) -> float | None:
    """Return the average accuracy of a done run's trained model, in 0..1."""
    try:
        evaluation = read_evaluation(RunRecord(Path(run.run_dir)))
    except RecordError:
        return None
    return None if evaluation is None else domain_scores(evaluation, "trained")["average"]
