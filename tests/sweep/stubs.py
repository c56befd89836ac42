"""Sweeps of stub runs: planned by hand, each a small process that leaves a record or not; launched on a real Ray."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.launcher import Launcher
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.store import Store
from dataflex_rl.sweep.view import View

# A process that holds the lock of a sweep.
HOLD = """
import sys, time
from pathlib import Path
from dataflex_rl.sweep.lock import acquire
held = acquire(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""
# What a stub does: note its start in the sweep's journal, run the given statements, note its end in its own file.
STUB = """
import json, os, sys, time, signal
folder, name = sys.argv[1:3]
def note(text):
    with open(os.path.join(folder, "journal"), "a") as file:
        file.write(text + " " + name + "\\n")
def leave(code, reason):  # as dataflex_rl.run does
    with open(os.environ["DATAFLEX_RL_OUTCOME"], "w") as file:
        json.dump(dict(code=code, reason=reason), file)
    sys.exit(code)
note("start")
{body}
open(os.path.join(folder, "done-" + name.replace("/", "--")), "w").close()
note("end")
"""


def run(folder: Path, method: str, seed: int, *, gpus: float = 0, cpus: float = 1) -> Run:
    """Return a planned run."""
    return Run(
        method=method, seed=seed, model="m", task="t", regime="full", run_dir=f"{folder}/m-t/{method}/seed_{seed}",
        scorer="none", actuator="none", mixer="none", prompt_selector="none", host="stub", steps=1, gpus=gpus,
        cpus=cpus, tokens_at_most=1, tokens=None, gpu_hours=None, seconds=None, arguments=(),
    )  # fmt: skip


def sweep(folder: Path, methods: list[str], seeds: int, **size: float) -> Sweep:
    """Return a planned sweep, seed by seed over the methods."""
    runs = tuple(run(folder, method, seed, **size) for seed in range(seeds) for method in methods)
    return Sweep(name=folder.name, claim="", tables=(), folder=folder, runs=runs, plans={})


def command(folder: Path, body: str | Callable[[Run], str]) -> Callable[[Run], list[str]]:
    """Return the seam of the launcher that starts stubs with these statements."""

    def build(planned: Run) -> list[str]:
        text = body if isinstance(body, str) else body(planned)
        return [sys.executable, "-S", "-c", STUB.format(body=text), str(folder), planned.name]

    return build


def check(folder: Path) -> Callable[[Run], str | None]:
    """Return the seam that says whether a stub is done."""
    return lambda planned: None if done_file(folder, planned).exists() else "no end was noted"


def done_file(folder: Path, planned: Run) -> Path:
    return folder / f"done-{planned.name.replace('/', '--')}"


def journal(folder: Path) -> list[str]:
    """Return what the stubs noted, in order."""
    path = folder / "journal"
    return path.read_text().splitlines() if path.exists() else []


def launch(
    planned: Sweep, machines: Fleet, body: str | Callable[[Run], str], **options: object
) -> tuple[int, str, Store]:
    """Launch a sweep of stubs; return the exit code, what was printed, the store."""
    settings = LaunchOptions(**{"backoff": 0.1, "patience": 2.0, **options})  # type: ignore[arg-type]
    store, out = Store(planned.folder, every=0.0).create(), io.StringIO()
    store.cancel.unlink(missing_ok=True)
    with held(store.lock) as lock, View(file=out, live=False, every=0.0) as view:
        launcher = Launcher(
            planned, store, machines, settings, view, environment=dict(os.environ),
            command=command(planned.folder, body), check=check(planned.folder),
        )  # fmt: skip
        code = launcher.launch(lock, Interrupt())
    return code, out.getvalue(), store


def starts(folder: Path) -> list[str]:
    return [line.removeprefix("start ") for line in journal(folder) if line.startswith("start ")]


def attempts(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / ".sweep" / "attempts.jsonl").read_text().splitlines()]
