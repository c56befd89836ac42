"""W&B offline run folders: `offline-run-*/run-*.wandb`, read without the W&B service.

The file is a LevelDB-style log (blocks of 32 KiB, chunks with a 7-byte header) of protobuf records. A run that was
killed leaves a cut-off tail: everything before it is read, and the cut is named. The last steps may be missing from
such a file; the run record's metrics.jsonl is the complete source.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.load.frame import Broken, Run
from analysis.load.wandb_run import build_run

_BLOCK, _HEADER, _MAGIC = 32 * 1024, 7, b":W&B"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def find(root: Path) -> list[Path]:
    """List the *.wandb files under root, in name order; links (W&B's latest-run) are not followed."""
    return sorted(p for p in root.rglob("*.wandb") if not any(q.is_symlink() for q in (p, *p.parents)))


def load(root: Path) -> tuple[list[Run], list[str]]:
    """Read all offline runs under root; the parts of a resumed run (same run id) are joined in name order.

    A run whose file is no W&B file, cannot be read or holds no usable run is left out by name (Broken).
    """
    parts: dict[str, list[Path]] = {}
    for path in find(root):
        parts.setdefault(path.stem, []).append(path)
    runs: list[Run] = []
    notes: list[str] = []
    for files in parts.values():
        config: dict[str, Any] = {}
        summary: dict[str, Any] = {}
        history: list[dict[str, Any]] = []
        try:
            for path in files:
                notes += _read(path, config, summary, history)
            runs.append(build_run(config, summary, history, str(files[0])))
        except (AnalysisError, OSError) as error:
            notes.append(Broken(f"{files[0]}: left out: {error}"))
    return runs, notes


def _read(path: Path, config: dict[str, Any], summary: dict[str, Any], history: list[dict[str, Any]]) -> list[str]:
    """Add one file's records to config, summary and history; give notes."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # with wandb: seconds to import
    from wandb.proto import wandb_internal_pb2

    data = path.read_bytes()
    notes: list[str] = []
    if data[:4] != _MAGIC:
        raise AnalysisError(f"{path}: not a W&B run file (starts with {data[:4]!r}, expected {_MAGIC!r})")
    for chunk in log_records(data, notes):
        record = wandb_internal_pb2.Record()
        try:
            record.ParseFromString(chunk)
        except DecodeError as error:
            raise AnalysisError(f"{path}: a record is damaged: {error}") from error
        _apply(record, config, summary, history)
    return [f"{path}: {note}" for note in notes]


def _apply(record: Any, config: dict[str, Any], summary: dict[str, Any], history: list[dict[str, Any]]) -> None:
    kind = record.WhichOneof("record_type")
    if kind == "run":
        _update(config, record.run.config.update)
    elif kind == "config":
        _update(config, record.config.update)
    elif kind == "summary":
        _update(summary, record.summary.update)
    elif kind == "history":
        row: dict[str, Any] = {}
        _update(row, record.history.item)
        row.setdefault("_step", int(record.history.step.num))
        history.append(row)


def _update(target: dict[str, Any], items: Any) -> None:
    for item in items:
        target[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)


def log_records(data: bytes, notes: list[str]) -> Iterator[bytes]:
    """Give the records of a log file; a cut-off tail ends the records and adds a note."""
    position, parts = _HEADER, b""
    while position < len(data):
        left = _BLOCK - position % _BLOCK
        if left < _HEADER:
            position += left
            continue
        if position + _HEADER > len(data):
            break
        _, length, kind = struct.unpack_from("<IHB", data, position)
        end = position + _HEADER + length
        if kind == 0 and length == 0:
            position += left
            continue
        if end > len(data) or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            notes.append("the file is cut off (a killed run): later records are missing")
            return
        parts = (b"" if kind in (_FULL, _FIRST) else parts) + data[position + _HEADER : end]
        if kind in (_FULL, _LAST):
            yield parts
        position = end
    if parts and position < len(data):
        notes.append("the file is cut off (a killed run): later records are missing")
