"""Finished run records, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.record import (
    MetricsLog,
    RunRecord,
    update_status,
    write_config,
    write_evaluation,
    write_json,
    write_manifest,
)
from dataflex_rl.record.config import config_hash
from dataflex_rl.record.pairs import METHOD_KEYS, conditions
from dataflex_rl.seeding import StreamDigest


def digest(prompts: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the stream digests of (key, domain) pairs."""
    stream = StreamDigest()
    for key, domain in prompts:
        stream.update(key, domain, 0)
    return stream.state_dict()


def entry(config: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the manifest's entry as a version with these method keys wrote it."""
    return {"digest": config_hash(conditions(config, keys)), "method_keys": list(keys)}


PROMPTS = [(f"p{n}", "math" if n % 2 == 0 else "logic") for n in range(8)]


def finished(folder: Path, method: str, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """Write a finished record of one step and return its entry of a plan.

    `changes`: keys of the manifest; `config` merges into the configuration, `prompts` are those consumed.
    """
    mixes = method in ("static", "reward_gap")
    selector = method if method == "greso_skip" else "none"
    actuator = "none" if mixes or method in ("uniform", selector) else method
    config = {
        "data": {"lr": 1, "seed": seed},
        "dataflex": {"actuator": {"name": actuator}, "prompts": {"name": selector, "params": {}}},
        "trainer": {"v1": {"trainer_mode": "dataflex_mix_sync" if mixes else "dataflex_sync"}},
    }
    prompts = changes.pop("prompts", PROMPTS)
    config |= changes.pop("config", {})
    keys = changes.pop("method_keys", METHOD_KEYS)
    values = {
        "sweep": "s", "method": method, "scorer": "none", "actuator": actuator,
        "mixer": method if mixes else "none", "prompt_selector": selector,
        "model": "m", "task": "t", "regime": "full", "seed": seed, "steps": 1,
        "host": "cpu", "config_hash": "c", "dataset_fingerprint": "d", "evaluation_digest": "e", "git_revision": None,
        "prompt_stream_digest": digest(prompts), "comparability": entry(config, keys), **changes,
    }  # fmt: skip
    record = RunRecord(folder / "m-t" / method / f"seed_{seed}").create()
    write_config(record, config)
    write_manifest(record, **values)
    MetricsLog(record).append(1, {"dataflex/reward_all": 0.5, "timing_s/step": 2.0})
    items = [
        {
            "benchmark": "math", "domain": "math", "item": f"i{n}", "correct": n < 3, "pred": "", "gold": "",
            "tokens": 1, "truncated": False,
        }
        for n in range(4)
    ]  # fmt: skip
    for phase, steps in (("untrained", 0), ("trained", 1)):
        write_evaluation(record, [{**item, "phase": phase} for item in items], steps=steps)
    tokens = {"generated": 40, "trained": 30, "dropped": 10}
    write_json(record.cost, {"prompts": 8, "tokens": tokens, "seconds": {"step": 2.0}, "gpu_seconds": 7200.0})
    update_status(record, state="done", attempts=1, step=1, steps=1)
    return {
        "method": method, "seed": seed, "model": "m", "task": "t", "regime": "full", "scorer": "none",
        "actuator": actuator, "mixer": "none" if not mixes else method, "prompt_selector": selector,
        "steps": 1, "run_dir": str(record.path),
    }  # fmt: skip
