"""Evaluations during training: eval.json's `during`, and eval_during.jsonl with the items of each.

An entry of `during` is {"step", "benchmarks": {name: {"correct", "total"}}, "tokens": {"generated", "trained"}}: the
held-out counts after a step, the last one included, and the tokens spent until then (None where not logged).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dataflex_rl.record.evaluation import ITEM_KEYS, check_items, count_items, read_evaluation
from dataflex_rl.record.files import RecordError, read_bytes, write_json, write_text
from dataflex_rl.record.paths import RunRecord

FIELD = "during"
_KEYS = tuple(key for key in ITEM_KEYS if key != "phase")


def read_during(record: RunRecord) -> list[dict[str, Any]]:
    """Return the evaluations during training by step; RecordError where eval.json is broken."""
    found = (read_evaluation(record) or {}).get(FIELD, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) and "step" in entry for entry in found):
        raise RecordError(f"run record: {record.eval}: {FIELD} is no list of evaluations with their step")
    return found


def read_during_items(record: RunRecord) -> list[dict[str, Any]]:
    """Return the items of all evaluations during training, each with its step; RecordError where a line is broken."""
    return [json.loads(line) for line in _lines_until(record, None)]


def write_during(
    record: RunRecord, items: Sequence[Mapping[str, Any]], *, step: int, tokens: Mapping[str, int | None]
) -> None:
    """Add the evaluation after a step; one of the same step or later ones are replaced.

    Args:
        items: as of `write_evaluation`, their phase apart.
        tokens: {"generated": ..., "trained": ...} spent until the end of the step.

    Raises:
        RecordError: items are not as promised; nothing is written then.
    """
    checked = [{**item, "phase": "trained"} for item in items]
    check_items(record, checked)
    counts = {
        name: {key: entry["trained"][key] for key in ("correct", "total")}
        for name, entry in count_items(checked).items()
    }
    lines = _lines_until(record, step - 1)
    lines += [json.dumps({"step": step} | {key: item[key] for key in _KEYS}, allow_nan=False) for item in items]
    entry = {"step": step, "benchmarks": counts, "tokens": dict(tokens)}
    _write(record, [*_until(record, step - 1), entry], lines)


def cut_during(record: RunRecord, step: int) -> None:
    """Drop the evaluations after a step; RecordError where they cannot be read (nothing is changed then)."""
    if len(kept := _until(record, step)) < len(read_during(record)):
        _write(record, kept, _lines_until(record, step))


def check_during(record: RunRecord) -> None:
    """Refuse a `during` that is not counted from the items beside it; RecordError names the first step."""
    counted: dict[int, list[dict[str, Any]]] = {}
    for line in _lines_until(record, None):
        item = json.loads(line)
        counted.setdefault(item["step"], []).append({**item, "phase": "trained"})
    for entry in read_during(record):
        found = count_items(counted.pop(entry["step"], []))
        made = {name: {key: value["trained"][key] for key in ("correct", "total")} for name, value in found.items()}
        if made != entry["benchmarks"]:
            raise RecordError(
                f"run record: {record.eval}: {FIELD}, step {entry['step']} is {json.dumps(entry['benchmarks'])}, but "
                f"{record.eval_during.name} counts {json.dumps(made)}"
            )


def _until(record: RunRecord, step: int) -> list[dict[str, Any]]:
    return [entry for entry in read_during(record) if entry["step"] <= step]


def _lines_until(record: RunRecord, step: int | None) -> list[str]:
    """Return the lines of items up to a step, None for all; the rest of a torn one is dropped with its step."""
    content = (read_bytes(record.eval_during) or b"").decode()
    kept = []
    for number, line in enumerate(content[: content.rfind("\n") + 1].splitlines(), start=1):
        try:
            if step is None or json.loads(line)["step"] <= step:
                kept.append(line)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise RecordError(f"run record: {record.eval_during}:{number} is no item of a step ({error})") from error
    return kept


def _write(record: RunRecord, entries: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> None:
    """Write the items, then the counts."""
    before = read_evaluation(record) or {"schema": 1, "benchmarks": {}, "steps": 0}
    write_text(record.eval_during, "".join(f"{line}\n" for line in lines))
    write_json(record.eval, {**before, FIELD: list(entries)})
