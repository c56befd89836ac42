"""Resume: which checkpoint a run continues from, and whether it is done.

A checkpoint counts if it is whole and every step up to it has its metrics line. Whole means: our marker, written last,
names its files with their sizes, and they are all there. verl writes the checkpoint of a step before the line of that
step, so after a kill in between the newest checkpoint has no line and the one before it is used (keep two).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from dataflex_rl.record.evaluation import check_evaluation, has_evaluation, read_evaluation
from dataflex_rl.record.files import RecordError, read_object, sync_folder, write_json, write_text
from dataflex_rl.record.metrics import cut_metrics, read_metrics
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import read_status

MARKER = "dataflex.json"
_FOLDER = "global_step_"


def checkpoint_folder(record: RunRecord, step: int) -> Path:
    """Return where verl keeps the checkpoint of a step."""
    return record.checkpoints / f"{_FOLDER}{step}"


def mark_checkpoint(record: RunRecord, step: int, state: Any = None) -> None:
    """Declare the checkpoint of a step complete; call it last, when verl has written everything.

    `state` (plain JSON) travels with it: see `read_state`.

    Raises:
        RecordError: verl's data.pt or actor/ is not there.
    """
    folder = checkpoint_folder(record, step)
    files = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MARKER
    }
    if "data.pt" not in files or not any(name.startswith("actor/") for name in files):
        raise RecordError(f"run record: checkpoint {folder} has no data.pt or no actor/; has: {', '.join(files)}")
    write_json(folder / MARKER, {"schema": 1, "step": step, "files": files, "state": state})


def read_state(record: RunRecord, step: int) -> Any:
    """Return the `state` given to mark_checkpoint; RecordError if that checkpoint is not complete."""
    folder = checkpoint_folder(record, step)
    if not is_complete(folder):
        raise RecordError(f"run record: checkpoint {folder} is not complete")
    marker = read_object(folder / MARKER)
    assert marker is not None, "a complete checkpoint has its marker"
    return marker["state"]


def is_complete(folder: Path) -> bool:
    """Say whether a checkpoint is whole: marked, and every file the marker names is there in its size."""
    try:
        marker = read_object(folder / MARKER)
    except RecordError:
        return False
    if marker is None or folder.name != f"{_FOLDER}{marker.get('step')}":
        return False
    files = {folder / name: size for name, size in marker.get("files", {}).items()}
    return bool(files) and all(path.is_file() and path.stat().st_size == size for path, size in files.items())


def _checkpoints(record: RunRecord) -> dict[int, Path]:
    """Return the checkpoint folders by step, whole or not."""
    found = record.checkpoints.glob(f"{_FOLDER}*")
    return {int(path.name.removeprefix(_FOLDER)): path for path in found if path.name[len(_FOLDER) :].isdigit()}


def find_checkpoint(record: RunRecord) -> int | None:
    """Return the step of the newest whole checkpoint that has all its metrics lines, or None; changes nothing."""
    lines = len(read_metrics(record))
    steps = [step for step, folder in _checkpoints(record).items() if step <= lines and is_complete(folder)]
    return max(steps, default=None)


def resumable_checkpoint(record: RunRecord) -> int | None:
    """Make the record ready to continue, and return the step it continues from; None: from the start.

    The metrics are cut back to that step, verl's tracker file points at it, checkpoints that are newer or not whole
    are removed. Killed in between and called again, it ends the same.
    """
    step = find_checkpoint(record)
    cut_metrics(record, step or 0)
    if step is None:
        record.tracker.unlink(missing_ok=True)
    elif not record.tracker.exists() or record.tracker.read_text() != str(step):
        write_text(record.tracker, str(step))
    for number, folder in _checkpoints(record).items():
        if step is None or number > step or not is_complete(folder):
            _remove(folder)
    return step


def _remove(folder: Path) -> None:
    """Remove a checkpoint, its marker first: half removed, it must not look whole."""
    try:
        (folder / MARKER).unlink(missing_ok=True)
        sync_folder(folder)
        shutil.rmtree(folder)
    except OSError as error:
        raise RecordError.of("remove", folder, error) from error


def why_not_done(record: RunRecord, steps: int) -> str | None:
    """Return what a run of that many steps still lacks, in a few words; None if it is done.

    Done: status says so, metrics.jsonl holds exactly the steps 1..steps, the policy was applied at each of them,
    eval.json has both models on all benchmarks, the trained one after these steps, and config.yaml and manifest.json
    say of what.

    Raises:
        RecordError: a file is broken, or eval.json is not what the evaluated items count to.
    """
    status = read_status(record)
    if status.state != "done":
        return f"status is {status.state}"
    lines = [line for line in read_metrics(record) if line["data"]]
    if len(lines) != steps:
        return f"{len(lines)} of {steps} steps have metrics"
    if without := [line["step"] for line in lines if line.get("applied") is False]:
        return f"the policy was not applied at step {without[0]}"
    for phase in ("untrained", "trained"):
        if not has_evaluation(record, phase):
            return f"the {phase} model is not evaluated"
    evaluation = read_evaluation(record)
    if evaluation is None or evaluation.get("steps") != steps:
        return "the trained model was evaluated after another number of steps"
    for path in (record.config, record.manifest):
        if not path.is_file():
            return f"{path.name} is missing"
    check_evaluation(record)
    return None


def is_done(record: RunRecord, steps: int) -> bool:
    """Say whether a run of that many steps is done: by its final metrics, not by a folder being there."""
    return why_not_done(record, steps) is None
