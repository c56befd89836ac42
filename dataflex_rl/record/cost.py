"""cost.json: what a run cost, summed from its metrics lines.

The lines survive every kill, so the sums lose nothing and count nothing twice over a resume: a step that was cut and
redone counts once. Time spent on steps that a kill threw away, and on starting up, is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataflex_rl.record.config import flatten
from dataflex_rl.record.during import read_during, read_during_items
from dataflex_rl.record.files import RecordError, read_object, write_json
from dataflex_rl.record.metrics import read_metrics
from dataflex_rl.record.paths import RunRecord

_TOKENS = ("generated", "trained", "dropped")


def cost_of(lines: Iterable[Mapping[str, Any]], *, prompts_per_step: int, gpus: int) -> dict[str, Any]:
    """Return the cost of the steps of a run.

    Keys: schema, steps, prompts, tokens {generated, trained, dropped} (None where some step did not log it: no sum
    over whichever steps did), seconds {phase: sum over the steps of verl's timing_s/<phase>; `step` contains the
    others}, gpu_seconds (seconds of `step` times the number of GPUs; 0 on a CPU).

    Args:
        lines: lines of metrics.jsonl.
        prompts_per_step: prompts consumed by one step.
        gpus: how many GPUs the run held.
    """
    data = [line["data"] for line in lines]
    tokens = {name: _total([step.get(f"dataflex/tokens_{name}") for step in data]) for name in _TOKENS}
    seconds: dict[str, float] = {}
    for step in data:
        for key, value in step.items():
            if key.startswith("timing_s/") and value is not None:
                phase = key.removeprefix("timing_s/")
                seconds[phase] = seconds.get(phase, 0.0) + float(value)
    return {
        "schema": 1,
        "steps": len(data),
        "prompts": prompts_per_step * len(data),
        "tokens": tokens,
        "seconds": dict(sorted(seconds.items())),
        "gpu_seconds": seconds.get("step", 0.0) * gpus,
    }


def evaluation_cost(record: RunRecord, lines: Sequence[Mapping[str, Any]], *, gpus: int) -> dict[str, Any]:
    """Return what the evaluations during training cost: {"count", "tokens", "seconds", "gpu_seconds"}.

    The last step's, which every run has, is not among them. tokens: generated in them; seconds: verl's
    timing_s/testing at their steps, which is not part of timing_s/step; None where one was not logged.

    Args:
        lines: lines of metrics.jsonl.
        gpus: how many GPUs the run held.
    """
    steps = {entry["step"] for entry in read_during(record) if entry["step"] < len(lines)}
    seconds = [line["data"].get("timing_s/testing") for line in lines if line["step"] in steps]
    total = None if None in seconds else float(sum(seconds))
    return {
        "count": len(steps),
        "tokens": sum(item["tokens"] for item in read_during_items(record) if item["step"] in steps),
        "seconds": total,
        "gpu_seconds": None if total is None else total * gpus,
    }


def _total(values: list[Any]) -> int | None:
    """Return the sum, or None if any value is missing."""
    return None if any(value is None for value in values) else round(sum(values))


def read_cost(record: RunRecord) -> dict[str, Any] | None:
    """Return cost.json, or None if there is none; RecordError if it is broken or holds anything but numbers.

    What is None or not there was not recorded.
    """
    cost = read_object(record.cost)
    for key, value in flatten(cost or {}).items():
        if value is not None and value != {} and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise RecordError(f"run record: {record.cost}: {key} is {value!r}, expected a number")
    return cost


def write_cost(
    record: RunRecord, *, prompts_per_step: int, gpus: int, evaluation_seconds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Write the cost of all finished steps, and beside it that of the evaluations during training; returns it.

    `evaluation_seconds` ({"untrained": seconds, "trained": seconds}) is kept from earlier attempts where not given
    again; it is not part of gpu_seconds.
    """
    before = (read_cost(record) or {}).get("evaluation_seconds") or {}
    lines = read_metrics(record)
    cost = cost_of(lines, prompts_per_step=prompts_per_step, gpus=gpus)
    cost["evaluations_during"] = evaluation_cost(record, lines, gpus=gpus)
    cost["evaluation_seconds"] = {**before, **(evaluation_seconds or {})}
    write_json(record.cost, cost)
    return cost
