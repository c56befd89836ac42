"""A full disk, for everything that a run writes into its record: one error, the old file, nothing half written."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from dataflex_rl.record import (
    MetricsLog,
    RecordError,
    RunRecord,
    begin_attempt,
    cut_metrics,
    mark_checkpoint,
    update_manifest,
    update_status,
    write_config,
    write_cost,
    write_evaluation,
)
from dataflex_rl.record.evaluation import read_items
from dataflex_rl.record.owner import acquire, holder_alive, join
from tests.record.disks import file_limit, full, small
from tests.sweep.records import finished

SmallDisk = Callable[[Path], AbstractContextManager[Path]]


def evaluate(record: RunRecord) -> None:
    write_evaluation(record, [item for item in read_items(record) if item["phase"] == "trained"], steps=9)


# what a run writes -> (the file that the error names, how)
WRITERS: dict[str, tuple[str, Callable[[RunRecord], Any]]] = {
    "manifest": ("manifest.json", lambda record: update_manifest(record, finished="now")),
    "status": ("status.json", lambda record: update_status(record, state="failed", error="no luck")),
    "attempt": ("status.json", lambda record: begin_attempt(record, steps=1)),
    "configuration": ("config.yaml", lambda record: write_config(record, {"trainer": {"lr": 2}})),
    "metrics": ("metrics.jsonl", lambda record: MetricsLog(record).append(2, {f"key/{i}": i for i in range(999)})),
    "cut": ("metrics.jsonl", lambda record: cut_metrics(record, 1)),
    "evaluation": ("eval_items.jsonl", evaluate),
    "cost": ("cost.json", lambda record: write_cost(record, prompts_per_step=8, gpus=1)),
    "checkpoint": ("global_step_1/dataflex.json", lambda record: mark_checkpoint(record, 1)),
    "lock": ("lock.json", acquire),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a record but those of the disk's own filling."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".filling")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def a_record(disk: Path) -> RunRecord:
    """Write a finished record with a checkpoint of one step, and no lock."""
    record = RunRecord(Path(finished(disk, "ar")["run_dir"]))
    (record.checkpoints / "global_step_1" / "actor").mkdir(parents=True)
    for name in ("data.pt", "actor/w"):
        (record.checkpoints / "global_step_1" / name).write_bytes(b"1")
    return record


@small
@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_is_one_error_and_the_old_files(
    tmp_path: Path, small_disk: SmallDisk, reason: str, writer: str
) -> None:
    name, write = WRITERS[writer]
    with small_disk(tmp_path / "disk") as disk:
        record = a_record(disk)
        before = contents(record.path)
        with full(disk), pytest.raises(RecordError) as caught:
            write(record)
        said = str(caught.value)
        assert re.fullmatch(
            rf"run record: cannot (write|append to) {record.path}/(checkpoints/)?{name}: {reason}", said
        )
        after = contents(record.path)
        assert after.pop("lock.json", b"") == b""  # a lock that could not be written holds nothing
        assert after == before
        write(record)  # with room again it works
        assert contents(record.path) != before or writer == "cut"


def test_a_lock_that_cannot_be_changed_stays_as_it_was(tmp_path: Path) -> None:
    """The change is refused after its first 8 bytes."""
    with file_limit(tmp_path / "disk") as disk:
        record = RunRecord(disk)
        held = acquire(record)
        before = record.lock.read_bytes()
        with full(disk):
            for change in (lambda: held.add_process(1), lambda: join(record)):
                with pytest.raises(RecordError, match=rf"cannot write {record.lock}: File too large \(EFBIG\)"):
                    change()
                assert record.lock.read_bytes() == before
            assert holder_alive(record)
            held.release()  # needs no room
        assert not holder_alive(record)
        assert record.lock.read_bytes() == b""
