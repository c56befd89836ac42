"""The untrained model's evaluation, measured once per machine: in a study it is the same for every method of a seed.

An evaluation may be used again only if everything that makes its numbers is the same: the model's files, the items and
their limits, sampling (and the seed, where answers are drawn), the rollout engine's settings, the verifier, and the
versions of what computes. All of that is in the name of its entry.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import dataflex_rl
from dataflex_rl import record as rec
from dataflex_rl.data.cache import default_root, entry_path
from dataflex_rl.record.evaluation import read_items
from dataflex_rl.record.files import write_text

_PHASE = "untrained"
_LIBRARIES = ("torch", "transformers", "verl")


def use_known(record: rec.RunRecord, config: Mapping[str, Any], evaluation: str) -> bool:
    """Write a known evaluation of the untrained model into a record; return whether there was one.

    config: resolved, with the paths of model and data. evaluation: the digest of what is measured.
    """
    entry = _entry(config, evaluation)
    if entry is None or not entry.is_file():
        return False
    items = [json.loads(line) for line in entry.read_text(encoding="utf-8").splitlines()]
    rec.write_evaluation(record, items, steps=0)
    return True


def remember(record: rec.RunRecord, config: Mapping[str, Any], evaluation: str) -> None:
    """Keep the record's evaluation of the untrained model for other runs."""
    entry = _entry(config, evaluation)
    if entry is None or entry.is_file():
        return
    entry.parent.mkdir(parents=True, exist_ok=True)
    items = [item for item in read_items(record) if item["phase"] == _PHASE]
    write_text(entry, "".join(json.dumps(item) + "\n" for item in items))


def _entry(config: Mapping[str, Any], evaluation: str) -> Path | None:
    """Return the file of an evaluation; None where the model is no folder here, and so not known to stay the same."""
    rollout = config["actor_rollout_ref"]["rollout"]
    model = Path(config["actor_rollout_ref"]["model"]["path"])
    if not model.is_dir():
        return None
    draws = bool(rollout["val_kwargs"]["do_sample"]) or float(rollout["val_kwargs"]["temperature"] or 0) > 0
    facts = {
        "evaluation": evaluation,
        "model": _files(model),
        "seed": config["data"].get("seed") if draws else None,
        "engine": {
            key: rollout.get(key) for key in ("name", "dtype", "engine_kwargs", "prompt_length", "max_model_len")
        },
        "prompts": config["data"]["max_prompt_length"],
        "threads": os.environ.get("OMP_NUM_THREADS") or (config["host"].get("env") or {}).get("OMP_NUM_THREADS"),
        "verifier": config["reward"]["custom_reward_function"],
        "code": _code(),
        "versions": {name: metadata.version(name) for name in _LIBRARIES},
    }
    return entry_path(default_root() / "evaluations", _PHASE, facts).with_suffix(".jsonl")


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Return name, size and time of change of a model's files."""
    return sorted(
        (str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if path.is_file()
    )


def _code() -> str:
    """Return a digest of this package's own code: a change anywhere may change an answer or its grade."""
    root = Path(dataflex_rl.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
