"""A read that fails is an error of its own: nothing is deleted, cut or overwritten because of it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dataflex_rl.record import (
    MetricsLog,
    RecordError,
    RunRecord,
    UnreadableError,
    changed,
    cut_metrics,
    find_checkpoint,
    is_done,
    mark_checkpoint,
    read_config,
    read_cost,
    read_evaluation,
    read_manifest,
    read_metrics,
    read_status,
    resumable_checkpoint,
    update_status,
    write_config,
    write_evaluation,
    write_json,
)
from dataflex_rl.record.evaluation import read_items
from dataflex_rl.record.metrics import cut_trace
from dataflex_rl.record.resume import checkpoint_folder, is_complete
from tests.record.faults import REASONS, refused, tree
from tests.record.test_record_resume import checkpoint, items, steps

CONFIG = {"actor": {"lr": 1e-6}}


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    """Ten steps, whole checkpoints at 4 and 8, half a one at 12, and every other file that a run writes."""
    made = RunRecord(tmp_path / "run").create()
    steps(made, 10)
    for step in (4, 8):
        checkpoint(made, step)
    checkpoint(made, 12, mark=False)
    write_config(made, CONFIG)
    write_json(made.cost, {"prompts": 8})
    write_evaluation(made, items("untrained"), steps=0)
    made.trace.write_text("".join(f'{{"step": {step}}}\n' for step in range(1, 11)))
    update_status(made, state="interrupted", step=10, steps=20)
    return made


def looked_at(record: RunRecord) -> list[Path]:
    """Return every path that the choice of a checkpoint rests on."""
    whole = [folder for step in (4, 8) for folder in sorted(checkpoint_folder(record, step).rglob("*"))]
    markers = [checkpoint_folder(record, step) / "dataflex.json" for step in (4, 8, 12)]
    files = [path for path in whole if path.is_file()]
    return [record.metrics, record.checkpoints, record.tracker, *dict.fromkeys([*markers, *files])]


@pytest.mark.parametrize("reason", REASONS)
def test_no_checkpoint_and_no_line_goes_when_a_look_at_it_fails(record: RunRecord, reason: int) -> None:
    before = tree(record.path)
    for path in looked_at(record):
        name = errno.errorcode[reason]
        with refused(path, reason), pytest.raises(UnreadableError, match=rf"cannot read {path}: .* \({name}\)"):
            resumable_checkpoint(record)
        assert tree(record.path) == before, path
    assert resumable_checkpoint(record) == 8  # and once the disk is back, all is as it was


def test_an_outage_of_all_markers_costs_nothing(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(record.path)

    def stale(path: Path) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", stale)
        with pytest.raises(UnreadableError, match=r"Stale file handle \(ESTALE\)"):
            resumable_checkpoint(record)
    assert tree(record.path) == before


@pytest.mark.parametrize("reason", REASONS)
def test_an_unreadable_checkpoint_is_neither_whole_nor_broken(record: RunRecord, reason: int) -> None:
    folder = checkpoint_folder(record, 8)
    with refused(folder / "actor" / "model.pt", reason), pytest.raises(UnreadableError):
        is_complete(folder)
    with refused(folder / "dataflex.json", reason), pytest.raises(UnreadableError):
        find_checkpoint(record)
    assert is_complete(folder)
    (folder / "dataflex.json").write_text('{"schema"')
    assert not is_complete(folder)  # read, and half of it


def test_only_what_is_newer_goes(record: RunRecord) -> None:
    """Half a checkpoint that is older than the one that counts is no danger, and nobody knows what it is for."""
    (checkpoint_folder(record, 4) / "data.pt").unlink()
    assert resumable_checkpoint(record) == 8
    assert sorted(path.name for path in record.checkpoints.iterdir() if path.is_dir()) == [
        "global_step_4",
        "global_step_8",
    ]


READERS: list[tuple[str, Callable[[RunRecord], Any]]] = [
    ("config", read_config),
    ("manifest", read_manifest),
    ("metrics", read_metrics),
    ("metrics", MetricsLog),
    ("metrics", lambda record: cut_metrics(record, 3)),
    ("metrics", lambda record: is_done(record, 10)),
    ("trace", lambda record: cut_trace(record, 3)),
    ("status", read_status),
    ("status", lambda record: update_status(record, state="done")),
    ("cost", read_cost),
    ("eval", read_evaluation),
    ("eval", lambda record: write_evaluation(record, items("untrained"), steps=0)),
    ("eval_items", read_items),
    ("eval_items", lambda record: write_evaluation(record, items("trained"), steps=10)),
    ("config", lambda record: changed(record, CONFIG)),
    ("manifest", lambda record: changed(record, CONFIG)),
]


@pytest.mark.parametrize("reason", REASONS)
def test_every_reader_tells_unreadable_from_missing_and_changes_nothing(record: RunRecord, reason: int) -> None:
    update_status(record, state="done")
    before = tree(record.path)
    for name, read in READERS:
        path = getattr(record, name)
        with refused(path, reason), pytest.raises(UnreadableError, match=str(path)):
            read(record)
        assert tree(record.path) == before, name


def test_checkpoints_without_configuration_and_manifest_are_nobodys_to_remove(record: RunRecord) -> None:
    record.config.unlink()
    record.metrics.unlink()
    assert changed(record, CONFIG) == "it has steps but neither config.yaml nor manifest.json"


def test_counts_of_a_model_whose_items_are_gone_are_not_overwritten(record: RunRecord) -> None:
    record.eval_items.unlink()
    before = record.eval.read_bytes()
    with pytest.raises(RecordError, match=r"eval\.json has the untrained model, but eval_items\.jsonl has not"):
        write_evaluation(record, items("trained"), steps=10)
    assert record.eval.read_bytes() == before


def test_a_marker_names_every_file_or_is_not_written(record: RunRecord) -> None:
    folder = checkpoint_folder(record, 12)
    with refused(folder / "actor" / "hf", errno.EACCES), pytest.raises(UnreadableError, match="actor/hf"):
        mark_checkpoint(record, 12)
    assert not (folder / "dataflex.json").exists()


def test_a_trace_is_cut_as_the_metrics_are(record: RunRecord) -> None:
    with record.trace.open("a") as file:
        file.write('{"step": 11, "wei')
    cut_trace(record, 3)
    assert record.trace.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    record.trace.write_text('{"step": 1}\n{"ste\n')
    with pytest.raises(RecordError, match="has a line that is none of a step"):
        cut_trace(record, 0)
    assert record.trace.read_text() == '{"step": 1}\n{"ste\n'
