"""What a run on the CPU host costs: `python scripts/bench_host.py` (part of `make bench`).

Unit: CPU seconds (user + system) of the whole process tree, and how many times one `import verl.trainer.main_ppo` that
is; wall seconds beside it, which mean something on an otherwise idle machine only. `cold` is a command on its own,
which starts its worker server; `warm` is forked from one, as a sweep's runs are; `forkless` starts every process
anew. A step's cost is the difference of a long and a short warm run, its phases are medians from
step 5 on. The last committed table (benchmarks/host.json) stands beside the new figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.processes import STANDIN
from dataflex_rl.runtime.start.owner import SWITCH, WorkerServer

if __package__:
    from scripts.process_tree import Measured, measured
else:
    from process_tree import Measured, measured

COMMITTED = Path(__file__).resolve().parents[1] / "benchmarks" / "host.json"
SHORT, LONG, FIRST = 10, 60, 5  # [steps]; phases are looked at from the fifth on
PHASES = ("step", "gen", "old_log_prob", "adv", "update_actor", "update_weights", "save_checkpoint")


def run(
    folder: Path,
    name: str,
    steps: int,
    environment: Mapping[str, str],
    roots: Sequence[int] = (),
    python: str = sys.executable,
) -> Measured:
    """Measure one run of uniform on the embedded model."""
    arguments = [f"runs_dir={folder}", f"sweep={name}", f"trainer.total_training_steps={steps}", "wandb.mode=disabled"]
    command = [python, "-m", "dataflex_rl.run", "method=uniform", *arguments]
    found = measured(command, environment=environment, lines=metrics_of(folder, name), roots=roots)
    if found.code != 0:
        raise SystemExit(f"bench: {' '.join(command)} ended with exit code {found.code}")
    return found


def metrics_of(folder: Path, name: str) -> Path:
    """The metrics file of a run of this bench."""
    return folder / name / "tiny-toy3" / "uniform" / "seed_0" / "metrics.jsonl"


def row(found: Measured, unit: float) -> dict[str, float]:
    """The figures of one run; `unit`: CPU seconds of the import."""
    return {
        "cpu_s": round(found.cpu, 1),
        "imports": round(found.cpu / unit, 2),
        "wall_s": round(found.wall, 1),
        "first_step_s": round(found.lines[0], 1),
        "processes": found.processes,
        "memory_mib": round(found.pss / 2**20),
    }


def figures(folder: Path) -> dict[str, dict[str, float]]:
    """Measure everything; returns {what: figures}."""
    plain = {key: value for key, value in os.environ.items() if key != STANDIN}
    unit = measured(
        [sys.executable, "-c", "import verl.trainer.main_ppo"], environment=plain, lines=folder / "none"
    ).cpu
    found = {"import verl": {"cpu_s": round(unit, 1), "imports": 1.0}}
    run(folder, "first", 1, plain)  # what a machine does once: the model, the untrained evaluation
    found["10 steps, forkless"] = row(run(folder, "forkless", SHORT, {**plain, SWITCH: "off"}), unit)
    found["10 steps, cold"] = row(run(folder, "cold", SHORT, plain), unit)
    host = cpu_environment([])
    assert host is not None, "the default host is the CPU"
    server = WorkerServer(host)
    try:
        warm: Any = {"environment": {**plain, **server.environment}, "roots": [server.pid], "python": server.python}
        run(folder, "ready", 1, **warm)
        short, long = (run(folder, f"warm-{steps}", steps, **warm) for steps in (SHORT, LONG))
    finally:
        server.stop()
    found["10 steps, warm"], found["60 steps, warm"] = row(short, unit), row(long, unit)
    found["a step"] = {"cpu_s": round((long.cpu - short.cpu) / (LONG - SHORT), 3), **phases(folder)}
    return found


def phases(folder: Path) -> dict[str, float]:
    """Median wall seconds of each phase of a step."""
    steps = [json.loads(line)["data"] for line in metrics_of(folder, f"warm-{LONG}").read_text().splitlines()][FIRST:]
    return {
        f"{name}_s": round(statistics.median(step.get(f"timing_s/{name}", 0.0) for step in steps), 3) for name in PHASES
    }


def table(found: Mapping[str, Mapping[str, float]], before: Mapping[str, Mapping[str, float]]) -> Table:
    """One line per figure, with the committed one and their ratio."""
    shown = Table(title="a run on the CPU host", title_justify="left")
    for column in ("what", "figure", "now", "committed", "now / committed"):
        shown.add_column(column, justify="left" if column in ("what", "figure") else "right")
    for what, values in found.items():
        for name, value in values.items():
            old = before.get(what, {}).get(name)
            ratio = f"{value / old:.2f}" if old else "-"
            shown.add_row(what, name, f"{value:g}", "-" if old is None else f"{old:g}", ratio)
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures here, as benchmarks/host.json")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="bench-host-") as folder:
        found = figures(Path(folder))
    before: dict[str, Any] = json.loads(COMMITTED.read_text())["figures"] if COMMITTED.exists() else {}
    Console(width=max(100, Console().width)).print(table(found, before))
    if options.json:
        options.json.write_text(json.dumps({"cpus": os.cpu_count(), "figures": found}, indent=1) + "\n")
        print(f"written: {options.json}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
