"""What the audit compares of a finished record: facts that must be equal, notes, and the prompts consumed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflex_rl.config.mixing import MIX_MODE, PLAIN_MODE
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
from dataflex_rl.runtime.attempt import VOLATILE
from dataflex_rl.sweep.records import contradictions
from dataflex_rl.sweep.streams import Consumed, broken

METHOD = ("dataflex.scorer", "dataflex.actuator", "dataflex.mixer", "dataflex.chain")  # what a method is
NAMES = ("method_name", *(f"actor_rollout_ref.rollout.trace.{part}_name" for part in ("project", "experiment")))
NOTED = ("ray_kwargs", "transfer_queue", "dataflex.trace")  # how a run is carried out; what is trained is the same
_MODE = "trainer.v1.trainer_mode"
METHOD_KEYS = (*METHOD, *NAMES, _MODE)  # what a method may set, and where its name goes
_UNSEEN = (*(key for key in VOLATILE if key != "host.env"), *METHOD_KEYS, *NOTED)
_SAME = ("model", "task", "regime", "seed", "steps", "host", "dataset_fingerprint", "evaluation_digest", "model_path")
_CACHED = re.compile(r"/.*/([\w.+-]+-[0-9a-f]{16}(?:/[\w.-]+)*)")  # an entry of a cache is named by its content


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
    if wrong := contradictions(manifest, run):
        raise RecordError(wrong)
    digest, mixes = manifest["prompt_stream_digest"], run["mixer"] != "none"
    if digest and broken(digest):
        raise RecordError(f"run record: {record.manifest}: prompt_stream_digest is broken")
    return Finished(
        method=run["method"],
        seed=run["seed"],
        mixes=mixes,
        facts=_facts(manifest, flat, mixes=mixes) | {"prompts": cost.get("prompts"), "items": _items(record)},
        method_facts=_below(flat, METHOD),
        notes={key: manifest.get(key) for key in ("versions", "git_revision")} | _below(flat, NOTED),
        consumed=Consumed(method=run["method"], mixes=mixes, digest=digest or None),
    )


def _facts(manifest: Mapping[str, Any], flat: Mapping[str, Any], *, mixes: bool) -> dict[str, Any]:
    """Return what must be equal at one seed: of the configuration all but the method and the record's own place."""
    facts = {key: _placeless(value) for key, value in relevant(flat, _UNSEEN).items()}
    mode = flat.get(_MODE)
    if mode != (MIX_MODE if mixes else PLAIN_MODE):  # what the method needs is no difference
        facts[_MODE] = mode
    return facts | {key: manifest.get(key) for key in _SAME}


def _items(record: RunRecord) -> dict[str, int]:
    """Return how many items of each benchmark were evaluated."""
    evaluation = read_evaluation(record)
    assert evaluation is not None, "a done run has its evaluation"
    return {name: entry["trained"]["total"] for name, entry in evaluation["benchmarks"].items()}


def _below(flat: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings at these keys and below."""
    return {key: flat[key] for key in flat if any(key == name or key.startswith(f"{name}.") for name in names)}


def _placeless(value: Any) -> Any:
    """Return a path inside a cache without where the cache lies."""
    found = _CACHED.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else value
