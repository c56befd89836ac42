"""Synthetic run records and published CSV files. A numpy generator is passed in: the same seed, the same files."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PAPER = {
    "math500": ("math", 500),
    "aime24": ("math", 30),
    "olympiadbench": ("math", 675),
    "minerva_math": ("math", 272),
    "gsm8k": ("math", 1319),
    "kk_hard": ("logic", 200),
    "bbh_logical_deduction": ("logic", 750),
    "bbh_tracking": ("logic", 750),
    "zebra_logic_mc": ("logic", 500),
    "gpqa_diamond": ("science", 198),
    "mmlu_pro_chemistry": ("science", 500),
    "mmlu_pro_physics": ("science", 500),
}
TOY = {"math": ("math", 100), "logic": ("logic", 100), "science": ("science", 100)}
METHODS = ("uniform", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband")
MIXERS = ("static", "reward_gap", "dump_ucb", "tscl")
_SELECT = ("difffilter", "maxvar", "gfpo", "topk")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What to write. Scores are base + effect[method] + seed noise + run noise [points]."""

    methods: Sequence[str] = METHODS
    seeds: Sequence[int] = (0, 1, 2)
    benchmarks: Mapping[str, tuple[str, int]] = field(default_factory=lambda: dict(TOY))
    model: str = "tiny"
    task: str = "toy3"
    regime: str | None = None
    steps: int = 60
    base: float = 60.0
    untrained: float = 40.0
    effect: Mapping[str, float] = field(default_factory=dict)
    seed_sd: float = 1.0
    run_sd: float = 1.0
    metrics: bool = True
    items: bool = False
    prompts_per_step: int = 64


def write_sweep(root: Path, sweep: Sweep, rng: np.random.Generator) -> Path:
    """Write all records of a sweep under root; returns root."""
    shared = {s: rng.normal(0, sweep.seed_sd) for s in sweep.seeds}
    for method in sweep.methods:
        for seed in sweep.seeds:
            level = sweep.base + sweep.effect.get(method, 0.0) + shared[seed]
            write_run(root, sweep, method, seed, level, rng)
    return root


def write_run(root: Path, sweep: Sweep, method: str, seed: int, level: float, rng: np.random.Generator) -> Path:
    """Write one record whose scores lie around `level` percent; returns its folder."""
    folder = root / "sweep" / f"{sweep.model}-{sweep.task}" / method / f"seed_{seed}"
    folder.mkdir(parents=True)
    benchmarks, lines = {}, []
    for name, (domain, total) in sweep.benchmarks.items():
        entry: dict[str, Any] = {"domain": domain}
        for phase, centre, noise in (("untrained", sweep.untrained, 0.0), ("trained", level, sweep.run_sd)):
            share = min(max((centre + rng.normal(0, noise)) / 100, 0.0), 1.0)
            correct = round(share * total)
            entry[phase] = {"correct": correct, "total": total, "accuracy": correct / total}
            lines += item_lines(phase, name, domain, correct, total, rng) if sweep.items else []
        benchmarks[name] = entry
    dump(folder / "eval.json", {"schema": 1, "benchmarks": benchmarks, "steps": sweep.steps})
    dump(folder / "manifest.json", manifest(sweep, method, seed))
    dump(
        folder / "status.json",
        {"state": "done", "attempts": 1, "step": sweep.steps, "steps": sweep.steps, "error": None},
    )
    dump(folder / "cost.json", cost(sweep, method))
    if lines:
        (folder / "eval_items.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    if sweep.metrics:
        (folder / "metrics.jsonl").write_text("".join(metric_lines(sweep, method, rng)))
    return folder


def item_lines(
    phase: str, name: str, domain: str, correct: int, total: int, rng: np.random.Generator
) -> Iterable[dict[str, Any]]:
    """Give item results with `correct` of `total` right; easier items (low numbers) are solved more often."""
    order = np.argsort(np.arange(total) + rng.normal(0, total / 4, total))
    solved = set(order[:correct].tolist())
    for i in range(total):
        yield {
            "phase": phase,
            "benchmark": name,
            "domain": domain,
            "item": f"{name}/{i}",
            "correct": i in solved,
            "pred": "x",
            "gold": "y",
            "tokens": 10,
            "truncated": False,
        }


def manifest(sweep: Sweep, method: str, seed: int) -> dict[str, Any]:
    """Give a manifest with the keys of the run record's contract."""
    mixes = method in MIXERS
    return {
        "schema": 1,
        "sweep": "sweep",
        "method": method,
        "scorer": "none",
        "actuator": "none" if mixes or method == "uniform" else method,
        "mixer": method if mixes else "none",
        "model": sweep.model,
        "task": sweep.task,
        "regime": sweep.regime,
        "seed": seed,
        "steps": sweep.steps,
        "host": "cpu",
        "versions": {"python": "3.11"},
        "config_hash": "c0",
        "dataset_fingerprint": "d0",
        "prompt_stream_digest": stream(seed, sweep.steps if not mixes else sweep.steps - len(method)),
        "evaluation_digest": "e0",
        "git_revision": None,
        "started": "2025-01-01T00:00:00Z",
        "finished": "2025-01-01T01:00:00Z",
    }


def stream(seed: int, count: int, domains: Sequence[str] = ("math", "logic", "science")) -> dict[str, Any]:
    """Give a prompt-stream digest: chained digests with a mark every 4 prompts, the same prefix for the same seed."""
    return {
        "all": chained(f"{seed}", count * len(domains)),
        "domains": {d: chained(f"{seed} {d}", count) for d in domains},
    }


def chained(name: str, count: int, every: int = 4) -> dict[str, Any]:
    """Give one stream {"count", "digest", "every", "marks"}."""
    digest, marks = "", []
    for i in range(1, count + 1):
        digest = hashlib.blake2b(f"{name} {digest} {i}".encode(), digest_size=8).hexdigest()
        if i % every == 0:
            marks.append(digest)
    return {"count": count, "digest": digest, "every": every, "marks": marks}


def cost(sweep: Sweep, method: str) -> dict[str, Any]:
    """Give a cost.json: 1000 tokens per step generated, half of them trained by a selector."""
    generated = 1000 * sweep.steps
    trained = generated // 2 if method in _SELECT else generated
    tokens = {"generated": generated, "trained": trained, "dropped": generated - trained}
    seconds = {"step": 2.0 * sweep.steps, "gen": 1.0 * sweep.steps}
    return {"schema": 1, "steps": sweep.steps, "prompts": sweep.prompts_per_step * sweep.steps, "tokens": tokens,
            "seconds": seconds, "gpu_seconds": 0.0}  # fmt: skip


def metric_lines(sweep: Sweep, method: str, rng: np.random.Generator) -> Iterable[str]:
    """Give metrics lines: a reward that rises to a plateau, token counts, policy metrics, and filler keys as verl
    logs.
    """
    kept = 0.5 if method in _SELECT else 1.0
    noise_T = rng.normal(0, 0.02, sweep.steps)
    for step in range(1, sweep.steps + 1):
        data: dict[str, Any] = {
            "dataflex/reward_all": 0.8 - 0.5 * np.exp(-step / 20) + noise_T[step - 1],
            "dataflex/reward_effective": 0.5,
            "dataflex/kept_frac": kept,
            "dataflex/weight_mean": 1.0,
            "dataflex/weight_std": 0.0 if kept == 1.0 else 0.5,
            "dataflex/ess": kept,
            "dataflex/tokens_generated": 1000,
            "dataflex/tokens_trained": 1000 * kept,
            "dataflex/tokens_dropped": 1000 * (1 - kept),
            "timing_s/step": 2.0,
            "actor/grad_norm": None,
        }
        if method in MIXERS:
            for i, domain in enumerate(("math", "logic", "science")):
                data[f"dataflex/share_target/{domain}"] = (1 + 0.1 * i) / 3.3
                data[f"dataflex/share_realised/{domain}"] = (1 + 0.1 * i) / 3.3
        data |= {f"actor/filler_{i}": 0.123456 * i for i in range(40)}
        yield json.dumps({"step": step, "data": data}) + "\n"


def dump(path: Path, value: Any) -> None:
    """Write JSON."""
    path.write_text(json.dumps(value, indent=1))


def csv_rows(sweep: Sweep, rng: np.random.Generator, campaign: str = "main") -> list[dict[str, Any]]:
    """Give rows in the published runs layout, percent with one decimal on the math benchmarks."""
    shared = {s: rng.normal(0, sweep.seed_sd) for s in sweep.seeds}
    rows = []
    for method in sweep.methods:
        for seed in sweep.seeds:
            row: dict[str, Any] = {"run_id": f"{campaign}_{sweep.model}_{method}_s{seed}", "campaign": campaign}
            row |= {
                "model": sweep.model,
                "method": method,
                "seed": seed,
                "steps": sweep.steps,
                "regime": sweep.regime or "",
            }
            for name, (domain, total) in PAPER.items():
                level = sweep.base + sweep.effect.get(method, 0.0) + shared[seed] + rng.normal(0, sweep.run_sd)
                share = 100 * round(min(max(level, 0), 100) / 100 * total) / total
                row[name] = round(share, 1) if domain == "math" else share
            rows.append(row)
    return rows


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows with their keys as header; returns path."""
    with path.open("w", newline="") as stream_:
        writer = csv.DictWriter(stream_, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
