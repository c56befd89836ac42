"""eval.json and eval_items.jsonl: the untrained and the trained model on the same items.

eval.json is counted from the per-item lines, never from logged means. The untrained model is measured once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataflex_rl.record.files import RecordError, read_bytes, read_object, write_json, write_text
from dataflex_rl.record.paths import RunRecord

PHASES = ("untrained", "trained")
ITEM_KEYS = ("phase", "benchmark", "domain", "item", "correct", "pred", "gold", "tokens", "truncated")


def read_evaluation(record: RunRecord) -> dict[str, Any] | None:
    """Return eval.json, or None if nothing was evaluated yet; RecordError if it is broken."""
    value = read_object(record.eval)
    if value is not None and not isinstance(value.get("benchmarks"), dict):
        raise RecordError(f"run record: {record.eval} has no benchmarks")
    for name, entry in ({} if value is None else value["benchmarks"]).items():
        if not isinstance(entry, dict):
            raise RecordError(f"run record: {record.eval}: {name} is {entry!r}, expected the counts of both models")
    return value


def has_evaluation(record: RunRecord, phase: str) -> bool:
    """Say whether a phase (untrained or trained) is measured, on every benchmark."""
    assert phase in PHASES, f"unknown phase {phase!r}"
    value = read_evaluation(record)
    benchmarks = {} if value is None else value["benchmarks"]
    return bool(benchmarks) and all(phase in entry for entry in benchmarks.values())


def write_evaluation(record: RunRecord, items: Sequence[Mapping[str, Any]], *, steps: int) -> dict[str, Any]:
    """Write the per-item results of one phase and the counts; returns eval.json.

    Args:
        items: {phase, benchmark, domain, item, correct, pred, gold, tokens, truncated}, all of one phase, each
            (benchmark, item) once. `correct` is a bool.
        steps: how many steps the trained model was trained; 0 for the untrained one. eval.json's "steps".

    Raises:
        RecordError: the untrained phase is there already (it is measured once), or its items are lost; the trained one
            has other items than the untrained; an item lacks a key, occurs twice or has no bool `correct`. Nothing is
            written then.
    """
    phase = check_items(record, items)
    if phase == "untrained" and has_evaluation(record, phase):
        raise RecordError(f"run record: {record.eval} has the untrained model already; it is measured once")
    others = [item for item in read_items(record) if item["phase"] != phase]
    lost = [other for other in PHASES if other != phase and not others and has_evaluation(record, other)]
    if lost:
        raise RecordError(f"run record: {record.eval} has the {lost[0]} model, but {record.eval_items.name} has not")
    _check_same(record, others, items)
    merged = sorted([*others, *items], key=lambda item: PHASES.index(item["phase"]))
    lines = [json.dumps({key: item[key] for key in ITEM_KEYS}, allow_nan=False) + "\n" for item in merged]
    kept = {key: value for key, value in (read_evaluation(record) or {}).items() if key == "during"}
    summary = {"schema": 1, "benchmarks": count_items(merged), "steps": steps, **kept}
    write_text(record.eval_items, "".join(lines))
    write_json(record.eval, summary)
    return summary


def check_items(record: RunRecord, items: Sequence[Mapping[str, Any]]) -> str:
    """Return the one phase of the items; RecordError if any of them is not as promised."""
    place = f"run record: {record.eval_items}"
    if not items:
        raise RecordError(f"{place}: no items to write")
    seen: set[tuple[str, str]] = set()
    for item in items:
        missing = [key for key in ITEM_KEYS if key not in item]
        if missing:
            raise RecordError(f"{place}: an item lacks {', '.join(missing)}; expected {', '.join(ITEM_KEYS)}")
        if item["phase"] != items[0]["phase"] or item["phase"] not in PHASES:
            raise RecordError(f"{place}: phase {item['phase']!r}; expected one of {', '.join(PHASES)} for all items")
        if not isinstance(item["benchmark"], str):
            raise RecordError(f"{place}: item {item['item']!r}: benchmark={item['benchmark']!r}, expected a name")
        if not isinstance(item["correct"], bool):
            raise RecordError(f"{place}: item {item['item']!r}: correct={item['correct']!r}, expected true or false")
        if (item["benchmark"], str(item["item"])) in seen:
            raise RecordError(f"{place}: item {item['item']!r} of {item['benchmark']} is there twice")
        seen.add((item["benchmark"], str(item["item"])))
    return str(items[0]["phase"])


def _names(items: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    """Return what identifies the items of a phase."""
    return {(item["benchmark"], item["domain"], str(item["item"])) for item in items}


def _check_same(record: RunRecord, others: Sequence[Mapping[str, Any]], items: Sequence[Mapping[str, Any]]) -> None:
    """Refuse two phases on different items."""
    different = sorted(_names(others) ^ _names(items)) if others else []
    if different:
        benchmark, _, item = different[0]
        raise RecordError(
            f"run record: {record.eval_items}: {len(different)} items are not in both phases, the first is {item!r} of "
            f"{benchmark}; untrained and trained are measured on the same items"
        )


def count_items(items: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return {benchmark: {"domain": ..., phase: {"correct": k, "total": N, "accuracy": k / N}}}, sorted by name."""
    counts: dict[str, dict[str, Any]] = {}
    for item in items:
        entry = counts.setdefault(item["benchmark"], {"domain": item["domain"]})
        if entry["domain"] != item["domain"]:
            raise RecordError(f"benchmark {item['benchmark']} has two domains: {entry['domain']}, {item['domain']}")
        phase = entry.setdefault(item["phase"], {"correct": 0, "total": 0, "accuracy": 0.0})
        phase["correct"] += int(item["correct"])
        phase["total"] += 1
        phase["accuracy"] = phase["correct"] / phase["total"]
    return dict(sorted(counts.items()))


def read_items(record: RunRecord) -> list[dict[str, Any]]:
    """Return the per-item lines of both phases; none where the file is missing, RecordError where it is broken."""
    items = []
    for number, line in enumerate((read_bytes(record.eval_items) or b"").splitlines(), start=1):
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"run record: {record.eval_items}:{number} is no JSON ({error})") from error
    return items


def check_evaluation(record: RunRecord) -> None:
    """Refuse an eval.json that is not counted from the items beside it; RecordError names the first that differs."""
    written, items = (read_evaluation(record) or {"benchmarks": {}})["benchmarks"], read_items(record)
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict) or item.get("phase") not in PHASES:
            raise RecordError(f"run record: {record.eval_items}:{number} is no item of {' or '.join(PHASES)}")
    for phase in PHASES:
        if mine := [item for item in items if item["phase"] == phase]:
            check_items(record, mine)
    counted = count_items(items)
    for name in sorted(written.keys() | counted.keys()):
        if written.get(name) != counted.get(name):
            raise RecordError(
                f"run record: {record.eval}: {name} is {json.dumps(written.get(name))}, but {record.eval_items.name} "
                f"counts {json.dumps(counted.get(name))}"
            )


def domain_scores(evaluation: Mapping[str, Any], phase: str) -> dict[str, float | None]:
    """Return {domain: mean accuracy of its benchmarks, ..., "average": mean of the domains}, in 0..1.

    A domain with a benchmark that was not measured has None, and so has the average then.
    """
    domains: dict[str, list[float | None]] = {}
    for entry in evaluation["benchmarks"].values():
        domains.setdefault(entry["domain"], []).append(entry[phase]["accuracy"] if phase in entry else None)
    scores = {domain: _mean(values) for domain, values in sorted(domains.items())}
    return {**scores, "average": _mean(list(scores.values()))}


def _mean(values: list[float | None]) -> float | None:
    """Return the mean, None if any value is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
