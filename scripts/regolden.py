"""Write tests/golden: ten steps of each method on the CPU host, and print what changed. The only writer of that folder.

    python scripts/regolden.py                # all methods of conf/method, a quarter of a minute each on 2 cores
    python scripts/regolden.py uniform per    # some

Numbers depend on the processor's floating-point kernels through sampling: each file names the kind it was written on.
"""

from __future__ import annotations

import argparse
import difflib
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.start.owner import serving

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
STEPS = 10
COLUMNS = {
    "reward": "dataflex/reward_all",
    "effective": "dataflex/reward_effective",
    "kept": "dataflex/kept_frac",
    "kept_tokens": "dataflex/kept_token_frac",
    "weight_std": "dataflex/weight_std",
    "ess": "dataflex/ess",
    "tokens": "dataflex/tokens_generated",
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
}


def methods() -> list[str]:
    """Return the methods of the study, uniform first."""
    names = sorted(path.stem for path in (ROOT / "conf" / "method").glob("*.yaml"))
    return sorted(names, key=lambda name: name != "uniform")


def arguments(method: str) -> list[str]:
    """Return the overrides of a golden run. `diffband` needs a reward that is not 0/1 within its band to act."""
    extra = {"diffband": ["dataflex.actuator.params.low_q=0.6", "dataflex.actuator.params.high_q=0.9"]}
    return [f"method={method}", f"trainer.total_training_steps={STEPS}", *extra.get(method, [])]


def render(method: str, record: Path) -> str:
    """Return the golden text of a finished run: one row per step, then shares, prompts and evaluation."""
    lines = [json.loads(line) for line in (record / "metrics.jsonl").read_text().splitlines()]
    rows = [["step", *COLUMNS]]
    rows += [[str(line["step"]), *(number(line["data"].get(key)) for key in COLUMNS.values())] for line in lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = [f"# {' '.join(arguments(method))}", processor_line()]
    out += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    last = lines[-1]["data"]
    out += [f"{key} {number(value)}" for key, value in sorted(last.items()) if key.startswith("dataflex/share_")]
    digest = json.loads((record / "manifest.json").read_text())["prompt_stream_digest"]
    out.append(f"prompts {digest['all']['count']} {digest['all']['digest']}")
    for name, entry in json.loads((record / "eval.json").read_text())["benchmarks"].items():
        before, after = entry["untrained"], entry["trained"]
        out.append(f"{name} {before['correct']} -> {after['correct']} of {after['total']}")
    return "\n".join(out) + "\n"


def processor_line() -> str:
    """Return the line that names this machine's kind of processor: its maker and widest vector instructions."""
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else platform.machine()
    maker = next((line.split(":")[1].strip() for line in facts.splitlines() if line.startswith("vendor_id")), "unknown")
    wide = next((name for name in ("avx512f", "avx2") if name in facts), "other")
    return f"# processor {maker} {wide}"


def number(value: Any) -> str:
    """Return a metric with five significant digits, "-" where there is none."""
    if value is None:
        return "-"
    return f"{value:.5g}"


def run(method: str, runs_dir: Path) -> Path:
    """Train a method for ten steps; return its record."""
    command = [sys.executable, "-m", "dataflex_rl.run", f"runs_dir={runs_dir}", *arguments(method)]
    subprocess.run(command, check=True, cwd=runs_dir, stdout=subprocess.DEVNULL)
    return runs_dir / "default" / "tiny-toy3" / method / "seed_0"


def main(argv: Sequence[str] | None = None) -> int:
    """Rewrite the golden files of the named methods and print the differences; returns the exit code."""
    parser = argparse.ArgumentParser(description="Rewrite tests/golden.")
    parser.add_argument("methods", nargs="*", help="default: all of conf/method")
    wanted = parser.parse_args(argv).methods or methods()
    changed = 0
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, serving(cpu_environment([])):
        for i, method in enumerate(wanted, start=1):
            print(f"[{i}/{len(wanted)}] {method}", flush=True)
            new, path = render(method, run(method, Path(folder))), GOLDEN / f"{method}.txt"
            old = path.read_text() if path.exists() else ""
            changed += old != new
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "old", "new", n=0))
            path.write_text(new)
    print(f"{changed} of {len(wanted)} golden files changed in {GOLDEN}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
