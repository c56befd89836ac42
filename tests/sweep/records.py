"""Finished run records, written by hand."""

from __future__ import annotations

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
from dataflex_rl.record.pairs import comparability
from dataflex_rl.seeding import StreamDigest


def digest(prompts: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the stream digests of (key, domain) pairs."""
    stream = StreamDigest()
    for key, domain in prompts:
        stream.update(key, domain, 0)
    return stream.state_dict()


PROMPTS = [(f"p{n}", "math" if n % 2 == 0 else "logic") for n in range(8)]


def finished(folder: Path, method: str, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """Write a finished record of one step and return its entry of a plan.

    `changes`: keys of the manifest; `config` merges into the configuration, `prompts` are those consumed.
    """
    mixes = method in ("static", "reward_gap")
    actuator = "none" if mixes or method == "uniform" else method
    config = {
        "data": {"lr": 1, "seed": seed},
        "dataflex": {"actuator": {"name": actuator}},
        "trainer": {"v1": {"trainer_mode": "dataflex_mix_sync" if mixes else "dataflex_sync"}},
    }
    prompts = changes.pop("prompts", PROMPTS)
    config |= changes.pop("config", {})
    values = {
        "sweep": "s", "method": method, "scorer": "none", "actuator": actuator,
        "mixer": method if mixes else "none", "model": "m", "task": "t", "regime": "full", "seed": seed, "steps": 1,
        "host": "cpu", "config_hash": "c", "dataset_fingerprint": "d", "evaluation_digest": "e", "git_revision": None,
        "prompt_stream_digest": digest(prompts), "comparability": comparability(config), **changes,
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
        "actuator": actuator, "mixer": "none" if not mixes else method, "steps": 1, "run_dir": str(record.path),
    }  # fmt: skip
