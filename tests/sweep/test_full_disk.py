"""One run of a sweep meets a full disk: it is named with the cause, the others finish."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.launcher import Launcher
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.records import lacking
from dataflex_rl.sweep.requests import plan_file
from dataflex_rl.sweep.store import Store
from dataflex_rl.sweep.view import View
from tests.sweep.stubs import sweep

# What a run writes, by the record's own code, and how it ends; the disk of a run whose name is given is full.
RECORD = """
import json, sys
from pathlib import Path
from dataflex_rl.record import *
from dataflex_rl.record.manifest import KEYS
from dataflex_rl.runtime.outcome import report
planned, full = json.loads(sys.argv[1]), sys.argv[2:]
record, steps = RunRecord(Path(planned["run_dir"])), planned["steps"]
items = [dict(benchmark="b", domain="d", item="1", correct=True, pred="", gold="", tokens=1, truncated=False)]
with holding(record):
    begin_attempt(record, steps=steps)
    record.metrics.unlink(missing_ok=True)
    log = MetricsLog(record)
    if full:
        record.metrics.symlink_to("/dev/full")  # every write: no space left on the device
    try:
        for step in range(steps):
            log.append(step + 1, {"dataflex/reward_all": 0.5})
    except RecordError as error:
        update_status(record, state="failed", error=str(error))
        sys.exit(report(1, f"failed at step {step}/{steps}: {error}"))
    for phase, trained in (("untrained", 0), ("trained", steps)):
        write_evaluation(record, [{**item, "phase": phase} for item in items], steps=trained)
    write_config(record, {})
    write_json(record.manifest, {key: planned.get(key) for key in KEYS})
    update_status(record, state="done", step=steps)
"""
# The command of a run with no room for a file of more than a few lines.
NO_ROOM = """
import resource, sys
from dataflex_rl.run import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(main(sys.argv[1:]))
"""


def launch(planned: Sweep, machines: Fleet, command: Callable[[Run], list[str]], **options: object) -> tuple[int, str]:
    """Launch a sweep whose runs are done when their records are; return exit code and output."""
    store, out = Store(planned.folder, every=0.0).create(), io.StringIO()
    settings = LaunchOptions(**{"backoff": 0.1, "retries": 1, **options})  # type: ignore[arg-type]
    with held(store.lock) as lock, View(file=out, live=False) as view:
        launcher = Launcher(
            planned, store, machines, settings, view, environment=dict(os.environ), command=command, check=lacking
        )
        return launcher.launch(lock, Interrupt()), out.getvalue()


def test_a_run_on_a_full_disk_fails_with_the_cause_and_the_others_finish(machines: Fleet, tmp_path: Path) -> None:
    def command(run: Run) -> list[str]:
        full = ["full"] if run.name == "m-t/b/seed_0" else []
        return [sys.executable, "-c", RECORD, json.dumps(asdict(run)), *full]

    planned = sweep(tmp_path, ["a", "b"], 2)
    code, out = launch(planned, machines, command)
    assert code == 1, out
    metrics = tmp_path / "m-t/b/seed_0/metrics.jsonl"
    said = f"failed at step 0/1: run record: cannot append to {metrics}: No space left on device (ENOSPC)"
    assert f"m-t/b/seed_0: failed: {said}" in out
    assert "3/4 runs done, 0 running, 1 failed" in out
    assert [run.name for run in planned.runs if lacking(run)] == ["m-t/b/seed_0"]


@pytest.mark.slow
def test_a_real_run_without_room_is_refused_and_the_others_finish(machines: Fleet, tmp_path: Path) -> None:
    """The run composes, checks itself, locks its record, and cannot write."""
    real, _ = plan_file("smoke_cpu", ["method=uniform,static", "seed=0", f"runs_dir={tmp_path}"])

    def command(run: Run) -> list[str]:
        if run.method == "static":
            return [sys.executable, "-c", NO_ROOM, *run.arguments]
        return [sys.executable, "-c", RECORD, json.dumps(asdict(run))]

    code, out = launch(real, machines, command, retries=0)
    assert code == 1, out
    said = f"refused: run record: cannot write {real.runs[1].run_dir}/config.yaml: File too large (EFBIG)"
    assert said in out
    assert "1/2 runs done, 0 running, 1 failed" in out
