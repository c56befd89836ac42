"""End-to-end runs for the tests: real processes, real Ray, the embedded model; nothing is replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.processes import STANDIN, child_environment
from dataflex_rl.runtime.start.owner import SWITCH
from tests.served import served

PATIENCE = 420  # [s] no run of these tests takes longer


@dataclass(frozen=True)
class Finished:
    """A run that ended: exit code, what it printed, and its record."""

    code: int
    out: str
    record: Path

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The data of each step."""
        return [line["data"] for line in self.lines]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        return read_lines(self.record / "metrics.jsonl")

    def json(self, name: str) -> Any:
        """A JSON file of the record."""
        return json.loads((self.record / name).read_text())

    def weights(self, step: int) -> dict[str, torch.Tensor]:
        """The actor's parameters at a checkpoint."""
        return actor_weights(self.record / "checkpoints" / f"global_step_{step}")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON lines of a file; none where it is missing."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def lines_so_far(record: Path) -> list[str]:
    """Return the whole metrics lines of a record that another process writes."""
    path = record / "metrics.jsonl"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def actor_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return verl's saved actor parameters as plain tensors."""
    state = torch.load(folder / "actor" / "model_world_size_1_rank_0.pt", weights_only=False)
    return {name: getattr(value, "_local_tensor", value) for name, value in state.items()}


def environment(**extra: str) -> dict[str, str]:
    """Return this environment without what would lead a child into another Ray instance, with the worker server."""
    known = {key: value for key, value in served().items() if key in (STANDIN, SWITCH)}
    return {**{key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}, **known, **extra}


def training_environment(**extra: str) -> dict[str, str]:
    """Return the environment of a training process that the session's worker server forks."""
    host = cpu_environment([])
    assert host is not None, "the default host is the CPU"
    return {**child_environment(host), **served(), **extra}


def start(
    runs_dir: Path, *overrides: str, module: str = "dataflex_rl.run", forked: bool = False
) -> subprocess.Popen[str]:
    """Start `python -m dataflex_rl.run` in another folder than the checkout, itself forked by the server or not."""
    python = served().get(STANDIN, sys.executable) if forked else sys.executable
    variables = environment(**(served() if forked else {}))
    command = [python, "-m", module, f"runs_dir={runs_dir}", *overrides]
    return subprocess.Popen(
        command, cwd="/", env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def finish(process: subprocess.Popen[str], record: Path, patience: float = PATIENCE) -> Finished:
    """Wait for a run; one that takes longer is ended, with all it started."""
    try:
        out, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        kill(process, signal.SIGINT)
        raise
    return Finished(process.returncode, out, record)


def train(
    runs_dir: Path, record: str, *overrides: str, patience: float = PATIENCE, module: str = "dataflex_rl.run"
) -> Finished:
    """Run to the end, forked from the session's worker server; `record` is the folder below runs_dir."""
    return finish(start(runs_dir, *overrides, module=module, forked=True), runs_dir / record, patience)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is true of a running process's record."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, f"the run ended first:\n{process.stdout.read() if process.stdout else ''}"
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def kill(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> str:
    """Send a signal to the command, not to its children, and return what it printed."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    return out


def untimed(data: dict[str, Any], ignore: Iterable[str] = ()) -> dict[str, Any]:
    """Drop what may differ between two equal runs: times, throughput, memory."""
    drop = ("timing_s/", "timing_per_token_ms/", "perf/", "actor/perf/", "critic/perf/", *ignore)
    return {key: value for key, value in data.items() if not key.startswith(drop)}
