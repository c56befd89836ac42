"""Resume: which checkpoint a run continues from, and whether it is done.

A checkpoint counts if it is whole and every step up to it has its metrics line. Whole means: our marker, written last,
names its files with their sizes, and they are all there. verl writes the checkpoint of a step before the line of that
step, so after a kill in between the newest checkpoint has no line and the one before it is used (keep two).

Nothing is cut or removed unless every marker and file was read: what the system refuses to read is an error
(UnreadableError), not a checkpoint that is not there. What is removed is newer than the newest checkpoint that counts.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from dataflex_rl.record.during import check_during
from dataflex_rl.record.evaluation import check_evaluation, has_evaluation, read_evaluation
from dataflex_rl.record.files import (
    RecordError,
    UnreadableError,
    names_in,
    read_bytes,
    read_object,
    size_of,
    sync_folder,
    write_json,
    write_text,
)
from dataflex_rl.record.metrics import cut_metrics, read_metrics
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import read_status

MARKER = "dataflex.json"
GENERATED = "dataflex/tokens_generated"  # metric of a step
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
    below = sorted(Path(at, name) for at, _, names in os.walk(folder, onerror=_refuse) for name in names)
    files = {str(path.relative_to(folder)): size_of(path) for path in below if path.name != MARKER}
    if "data.pt" not in files or not any(name.startswith("actor/") for name in files):
        raise RecordError(f"run record: checkpoint {folder} has no data.pt or no actor/; has: {', '.join(files)}")
    write_json(folder / MARKER, {"schema": 1, "step": step, "files": files, "state": state})


def _refuse(error: OSError) -> None:
    """Raise what os.walk would pass over: files of a folder that cannot be read would be missing in the marker."""
    if not isinstance(error, FileNotFoundError):
        raise UnreadableError.of("read", Path(error.filename), error) from error


def read_state(record: RunRecord, step: int) -> Any:
    """Return the `state` given to mark_checkpoint; RecordError if that checkpoint is not complete."""
    folder = checkpoint_folder(record, step)
    if not is_complete(folder):
        raise RecordError(f"run record: checkpoint {folder} is not complete")
    marker = read_object(folder / MARKER)
    assert marker is not None, "a complete checkpoint has its marker"
    return marker["state"]


def is_complete(folder: Path) -> bool:
    """Say whether a checkpoint is whole: marked, and every file the marker names is there in its size.

    Raises:
        UnreadableError: the marker or a file cannot be read, so that nobody can say.
    """
    try:
        marker = read_object(folder / MARKER)
    except UnreadableError:
        raise
    except RecordError:  # half a marker
        return False
    if marker is None or folder.name != f"{_FOLDER}{marker.get('step')}":
        return False
    files = marker.get("files")
    return isinstance(files, dict) and bool(files) and all(size_of(folder / n) == size for n, size in files.items())


def _checkpoints(record: RunRecord) -> dict[int, Path]:
    """Return the checkpoint folders by step, whole or not."""
    names = [name for name in names_in(record.checkpoints) if name.startswith(_FOLDER)]
    return {int(name[len(_FOLDER) :]): record.checkpoints / name for name in names if name[len(_FOLDER) :].isdigit()}


def find_checkpoint(record: RunRecord) -> int | None:
    """Return the step of the newest whole checkpoint that has all its metrics lines, or None; changes nothing.

    Raises:
        RecordError: metrics.jsonl is broken; UnreadableError: it, a marker or a file of a checkpoint cannot be read.
    """
    lines = len(read_metrics(record))
    whole = [step for step, folder in _checkpoints(record).items() if is_complete(folder)]
    return max((step for step in whole if step <= lines), default=None)


def resumable_checkpoint(record: RunRecord) -> int | None:
    """Make the record ready to continue, and return the step it continues from; None: from the start.

    The metrics are cut back to that step, verl's tracker file points at it, checkpoints that are newer are removed.
    Killed in between and called again, it ends the same.

    Raises:
        RecordError: as find_checkpoint, and nothing is changed then; or the disk refuses a change.
    """
    step, tracker = find_checkpoint(record), read_bytes(record.tracker)
    newer = [folder for number, folder in _checkpoints(record).items() if number > (step or 0)]
    cut_metrics(record, step or 0)
    if step is None:
        record.tracker.unlink(missing_ok=True)
    elif tracker != str(step).encode():
        write_text(record.tracker, str(step))
    for folder in newer:
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

    Done: status says so, metrics.jsonl holds exactly the steps 1..steps (up to `last_step`), the policy was applied at
    each of them, eval.json has both models on all benchmarks, the trained one after these steps, and config.yaml and
    manifest.json say of what.

    Raises:
        RecordError: a file is broken, or eval.json is not what the evaluated items count to.
    """
    status = read_status(record)
    if status.state != "done":
        return f"status is {status.state}"
    lines = [line for line in read_metrics(record) if line["data"]]
    if len(lines) != (steps := last_step(record, steps)):
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
        if size_of(path) is None:
            return f"{path.name} is missing"
    check_evaluation(record)
    check_during(record)
    return None


def last_step(record: RunRecord, steps: int) -> int:
    """Return the last step of a run of that many: an earlier one where the tokens generated by its finished steps have
    reached `stop_at_tokens` of the manifest.

    Raises:
        RecordError: metrics.jsonl or manifest.json is broken.
    """
    limit, total = (read_object(record.manifest) or {}).get("stop_at_tokens"), 0
    if limit is None:
        return steps
    for line in read_metrics(record)[:steps]:
        total += round(line["data"].get(GENERATED) or 0)
        if total >= limit:
            return int(line["step"])
    return steps


def is_done(record: RunRecord, steps: int) -> bool:
    """Say whether a run of that many steps is done: by its final metrics, not by a folder being there."""
    return why_not_done(record, steps) is None
