"""What the audit compares of a finished record: facts that must be equal, notes, and the prompts consumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.record import (
    RecordError,
    RunRecord,
    read_config,
    read_cost,
    read_evaluation,
    read_manifest,
    read_status,
    relevant,
    why_not_done,
)
from dataflex_rl.record.pairs import CARRIED_OUT, FIELD, acts, conditions, is_written_with, method_settings
from dataflex_rl.record.streams import is_broken
from dataflex_rl.sweep.records import contradictions
from dataflex_rl.sweep.streams import Consumed

_SAME = ("model", "task", "regime", "seed", "steps", "host", "dataset_fingerprint", "evaluation_digest", "model_path")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A finished run: `facts` are equal in all runs of a seed, `method_facts` in all seeds of a method."""

    method: str
    seed: int
    mixes: bool
    facts: Mapping[str, Any]
    method_facts: Mapping[str, Any]
    notes: Mapping[str, Any]
    consumed: Consumed


def read_finished(run: Mapping[str, Any]) -> Finished | None:
    """Return what is compared of a run of a plan, None if it is not done.

    Raises:
        RecordError: its files are broken, say done of what is not, or are those of another run.
    """
    record = RunRecord(Path(run["run_dir"]))
    if read_status(record).state != "done":
        return None
    if lacking := why_not_done(record, run["steps"]):
        raise RecordError(f"it says done, but {lacking}")
    manifest, config, cost = read_manifest(record), read_config(record), read_cost(record) or {}
    assert manifest is not None, "a done run has a manifest"
    assert config is not None, "a done run has a configuration"
    flat = relevant(config)
    entry = manifest.get(FIELD)
    if entry is not None and not is_written_with(entry, config):
        raise RecordError(f"run record: {record.config} is not what {record.manifest.name} was written with ({FIELD})")
    if wrong := contradictions(manifest, run):
        raise RecordError(wrong)
    early = manifest.get("stop_at_tokens") is not None  # then runs end after different steps, by design
    digest, mixes = manifest["prompt_stream_digest"], acts(run["mixer"]) or early
    if digest and is_broken(digest):
        raise RecordError(f"run record: {record.manifest}: prompt_stream_digest is broken")
    return Finished(
        method=run["method"],
        seed=run["seed"],
        mixes=mixes,
        facts=conditions(config)
        | {key: manifest.get(key) for key in _SAME}
        | {"prompts": None if early else cost.get("prompts"), "items": _items(record)},
        method_facts=method_settings(config),
        notes={key: manifest.get(key) for key in ("versions", "git_revision")} | _below(flat, CARRIED_OUT),
        consumed=Consumed(
            method=run["method"], mixes=mixes, selects=acts(manifest.get("prompt_selector")), digest=digest or None
        ),
    )


def _items(record: RunRecord) -> dict[str, int]:
    """Return how many items of each benchmark were evaluated."""
    evaluation = read_evaluation(record)
    assert evaluation is not None, "a done run has its evaluation"
    return {name: entry["trained"]["total"] for name, entry in evaluation["benchmarks"].items()}


def _below(flat: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings at these keys and below."""
    return {key: flat[key] for key in flat if any(key == name or key.startswith(f"{name}.") for name in names)}
