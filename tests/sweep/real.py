"""Real sweeps for the tests: the sweep command as a process, the embedded model, real Ray."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.host.training import environment, read_lines, untimed

METHODS, SEEDS = ("uniform", "difffilter", "static"), (0, 1)
AT_ONCE = 2  # one run starts while the other computes
LAUNCHER = ("launcher.cpus=1", f"launcher.max_concurrent={AT_ONCE}", "launcher.backoff=1")
SIZE = ("trainer.total_training_steps=2", "trainer.save_freq=1", *LAUNCHER)
MARK = "DATAFLEX_TEST_RUNS_DIR"  # tells the processes of one sweep from those of others
PATIENCE = 2400  # [s] no sweep of these tests takes longer


def start(runs_dir: Path, *overrides: str) -> subprocess.Popen[str]:
    """Start `sweep launch smoke_cpu` with the three methods, two seeds and two steps."""
    command = [sys.executable, "-m", "dataflex_rl.sweep", "launch", "smoke_cpu", f"method={','.join(METHODS)}"]
    return subprocess.Popen(
        [*command, "seed=0-1", f"runs_dir={runs_dir}", *SIZE, *overrides],
        cwd="/",
        env=environment(**{"WANDB_MODE": "disabled", MARK: str(runs_dir)}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a sweep; return its exit code and what it printed."""
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out


def sweep(command: str, runs_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run another sweep command on the sweep's folder."""
    line = [sys.executable, "-m", "dataflex_rl.sweep", command, str(runs_dir / "smoke_cpu"), *arguments]
    return subprocess.run(line, cwd="/", capture_output=True, text=True, timeout=PATIENCE)


def results(runs_dir: Path) -> dict[str, Any]:
    """Return all that must be equal in two launches of a sweep, per run."""
    found = {}
    for method in METHODS:
        for seed in SEEDS:
            record = runs_dir / "smoke_cpu" / "tiny-toy3" / method / f"seed_{seed}"
            found[f"{method}/{seed}"] = {
                "metrics": [(line["step"], untimed(line["data"])) for line in read_lines(record / "metrics.jsonl")],
                "evaluation": json.loads((record / "eval.json").read_text()),
                "stream": json.loads((record / "manifest.json").read_text())["prompt_stream_digest"],
                "items": read_lines(record / "eval_items.jsonl"),
            }
    return found


def processes(runs_dir: Path) -> list[tuple[psutil.Process, list[str]]]:
    """Return the living processes of the sweeps of a folder, with their command lines."""
    living = []
    for found in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if found.environ().get(MARK) == str(runs_dir) and found.status() != psutil.STATUS_ZOMBIE:
                living.append((found, found.cmdline()))
    return living


def descendant(process: subprocess.Popen[str], runs_dir: Path, expected: Callable[[list[str]], bool]) -> psutil.Process:
    """Return a process of a started sweep by its command line, when it is there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        for found, words in processes(runs_dir):
            if expected(words):
                return found
        time.sleep(0.1)
    raise AssertionError("the process did not appear")
