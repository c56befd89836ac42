"""What the launcher and `status` read of the runs' own records, and how a run is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dataflex_rl.config.inputs import other_configuration
from dataflex_rl.record import (
    RecordError,
    RunRecord,
    Status,
    read_evaluation,
    read_manifest,
    read_status,
    why_not_done,
)
from dataflex_rl.record.evaluation import domain_scores
from dataflex_rl.record.owner import holder_alive
from dataflex_rl.runtime.processes import interpreter
from dataflex_rl.sweep.overview import state_now
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.store import RunState, plan_file

_IDENTITY = ("method", "seed", "model", "task", "regime", "steps", "host", "scorer", "actuator", "mixer",
             "prompt_selector")  # fmt: skip


def run_command(run: Run) -> list[str]:
    """Return the command of a run: it takes the plan that was written when the sweep was launched."""
    return [interpreter(), "-m", "dataflex_rl.run", f"plan={plan_file(run.run_dir)}"]


def lacking(run: Run) -> str | None:
    """Return what a run lacks to be done, in a few words; None if it is done. An unreadable record lacks itself."""
    record = RunRecord(Path(run.run_dir))
    try:
        return why_not_done(record, run.steps) or contradictions(read_manifest(record) or {}, asdict(run)) or None
    except (RecordError, OSError) as error:
        return str(error)


def contradictions(manifest: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Return in what a manifest is that of another run than the planned one; "" if in nothing."""
    both = [key for key in _IDENTITY if key in manifest and key in run]
    wrong = [f"{key} {manifest[key]!r}, the plan {run[key]!r}" for key in both if manifest[key] != run[key]]
    return f"its manifest.json says {'; '.join(wrong)}" if wrong else ""


def other_run(sweep: Sweep, run: Run) -> str:
    """Return how the record at a run's place is not that of the run as it is planned now; "" if it is, or is empty.

    Raises:
        RecordError: config.yaml or manifest.json is broken.
    """
    record = RunRecord(Path(run.run_dir))
    if not any(path.exists() for path in (record.config, record.manifest, record.metrics)):
        return ""
    difference = other_configuration(record, sweep.plans[run.run_dir].settings)
    return difference or contradictions(read_manifest(record) or {}, asdict(run))


def statuses_of(run_dirs: Iterable[str]) -> tuple[dict[str, Status], list[str]]:
    """Return the statuses in records by their folder, and why some could not be read; a missing one is `pending`."""
    found: dict[str, Status] = {}
    problems = []
    for run_dir in run_dirs:
        try:
            found[run_dir] = read_status(RunRecord(Path(run_dir)))
        except RecordError as error:
            problems.append(str(error))
    return found, problems


def joined(
    run_states: Mapping[str, RunState], statuses: Mapping[str, Status], *, launcher_alive: bool
) -> dict[str, RunState]:
    """Return the states of all runs, joined with the statuses that are known and whether a process holds the record."""
    known = {
        key: state_now(run_states.get(key, RunState()), status, launcher_alive=launcher_alive, held=_held(key, status))
        for key, status in statuses.items()
    }
    return {**run_states, **known}


def _held(run_dir: str, status: Status) -> bool | None:
    """Return whether a living process holds a running record; None for one that is not, or whose lock is broken."""
    try:
        return holder_alive(RunRecord(Path(run_dir))) if status.state == "running" else None
    except RecordError:
        return None


def score_of(run: Run) -> float | None:
    """Return the average accuracy of a done run's trained model, in 0..1."""
    try:
        evaluation = read_evaluation(RunRecord(Path(run.run_dir)))
    except RecordError:
        return None
    return None if evaluation is None else domain_scores(evaluation, "trained")["average"]
