"""The cost ledger: what each method generated, trained on, dropped and took, summed over its finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from dataflex_rl.record import RecordError, RunRecord, Status, read_cost
from dataflex_rl.sweep.records import statuses_of

_COLUMNS = ("runs", "prompts", "generated", "trained", "dropped", "seconds", "gpu_hours")


def ledger(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return {method: {runs, prompts, generated, trained, dropped [tokens], seconds [s], gpu_hours}} of finished runs.

    `seconds` is the time of the training steps, evaluations at the end included and start-up not. A sum is None where
    a run did not record the number, or its file is broken (the audit names it); a method without finished runs has 0
    of all.
    """
    costs: dict[str, list[Mapping[str, Any]]] = {run["method"]: [] for run in runs}
    statuses, _ = statuses_of(run["run_dir"] for run in runs)
    for run in runs:
        if statuses.get(run["run_dir"], Status()).state == "done":
            costs[run["method"]].append(_cost(RunRecord(Path(run["run_dir"]))))
    return {method: _sums(found) for method, found in costs.items()}


def _cost(record: RunRecord) -> Mapping[str, Any]:
    try:
        return read_cost(record) or {}
    except RecordError:
        return {}


def _sums(costs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    def total(*keys: str) -> float | None:
        values = [_get(cost, keys) for cost in costs]
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    gpu_seconds = total("gpu_seconds")
    return {
        "runs": len(costs),
        "prompts": total("prompts"),
        **{name: total("tokens", name) for name in ("generated", "trained", "dropped")},
        "seconds": total("seconds", "step"),
        "gpu_hours": None if gpu_seconds is None else gpu_seconds / 3600,
    }


def _get(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def ledger_table(entries: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Return the ledger as a table."""
    table = Table(title="cost (dropped tokens were generated and paid for)", title_justify="left", padding=(0, 0, 0, 1))
    table.add_column("method", overflow="fold")
    for name in _COLUMNS:
        table.add_column({"gpu_hours": "GPU-hours"}.get(name, name), justify="right", overflow="fold")
    for method, entry in entries.items():
        cells = (entry[name] for name in _COLUMNS)
        digits = (0, 0, 0, 0, 0, 1, 2)
        table.add_row(method, *("missing" if v is None else f"{v:,.{d}f}" for v, d in zip(cells, digits, strict=True)))
    return table
