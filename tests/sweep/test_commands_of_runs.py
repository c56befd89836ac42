"""The command that the launcher gives a run composes to what the plan says, in the environment that a run gets."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.launcher import Launcher
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.records import run_command
from dataflex_rl.sweep.requests import plan_file
from dataflex_rl.sweep.store import Store
from dataflex_rl.sweep.view import View


@pytest.mark.slow
def test_a_run_is_started_as_it_was_planned(machines: Fleet, tmp_path: Path) -> None:
    arguments = ["method=uniform,static", "seed=7", f"runs_dir={tmp_path}", "regime.label_noise=0.2"]
    planned, options = plan_file("smoke_cpu", arguments)
    store, out = Store(planned.folder).create(), io.StringIO()
    with held(store.lock) as lock, View(file=out, live=False) as view:
        launcher = Launcher(
            planned, store, machines, options, view, environment=dict(os.environ),
            command=lambda run: [*run_command(run), "dry_run=json"],
            check=lambda run: None if store.log_of(run).exists() else "not yet",
        )  # fmt: skip
        assert launcher.launch(lock, Interrupt()) == 0, out.getvalue()
    for run in planned.runs:
        text = store.log_of(run).read_text()
        plan = json.loads(text[text.index("{") :])
        keys = ("method", "seed", "model", "task", "regime", "run_dir", "mixer", "host", "steps", "tokens_at_most")
        assert {key: plan[key] for key in keys} == {key: getattr(run, key) for key in keys}
        assert run.run_dir == f"{tmp_path}/smoke_cpu/tiny-toy3+noise20/{run.method}/seed_7"
