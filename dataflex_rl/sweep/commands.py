"""What the commands do: plan, launch, status, cancel, audit."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dataflex_rl.config.inputs import check_inputs
from dataflex_rl.errors import ConfigError
from dataflex_rl.record import check_writable
from dataflex_rl.runtime.start.owner import serving
from dataflex_rl.sweep.audit import Audit, audit, planned_differences
from dataflex_rl.sweep.files import find_sweep, read_sweep
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.ledger import ledger, ledger_table
from dataflex_rl.sweep.lock import held, launcher_alive
from dataflex_rl.sweep.looks import asked_for, open_gate
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.overview import Overview, overview
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.records import joined, other_run, run_command, statuses_of
from dataflex_rl.sweep.store import FOLDER, Store
from dataflex_rl.sweep.view import View, span


def check_capacity(sweep: Sweep, fleet: Any, options: LaunchOptions) -> int:
    """Return how many of the sweep's largest runs fit at once.

    Raises:
        ConfigError: no machine of the cluster can hold one of the runs, so that it would wait for ever.
    """
    found: list[int] = []
    for gpus, cpus in sorted({(run.gpus, run.cpus) for run in sweep.runs}):
        slots = int(fleet.slots(gpus=gpus, cpus=cpus))
        if slots == 0:
            most = fleet.largest()
            where = "this machine" if options.address is None else f"the cluster at {options.address}"
            raise ConfigError(
                f"sweep {sweep.name!r}: a run needs {gpus:g} GPUs and {cpus:g} CPUs on one machine, but the largest of "
                f"{where} has {most[0]:g} GPUs and {most[1]:g} CPUs; set ray.address=, host= or launcher.gpus="
            )
        found.append(slots)
    return min(*found, options.max_concurrent or found[0], found[0])


def launch(
    sweep: Sweep, options: LaunchOptions, *, interrupt: Interrupt, command: Callable[[Run], list[str]] = run_command,
    view: View | None = None, check: Callable[[Run], str | None] | None = None,
) -> int:  # fmt: skip
    """Run what is not done of a sweep, then audit it; returns the exit code.

    0: all done and the audit clean; 1: a run failed, or pairs were planned and the audit is not clean; 130: interrupted
    or cancelled.

    Raises:
        ConfigError: another launcher is at work, a record of another configuration, runs that fit nowhere.
        KeyboardInterrupt: interrupted before the first run began.
    """
    from dataflex_rl.sweep.fleet import Fleet, end_children
    from dataflex_rl.sweep.launcher import Launcher

    check_writable(sweep.folder.parent)
    store = Store(sweep.folder).create()
    view = view or View()
    with serving(_cpu_environment(sweep)), held(store.lock) as lock:
        store.cancel.unlink(missing_ok=True)
        if lock.recovered:
            view.event("an earlier launcher of this sweep was killed; its unfinished runs continue")
        check_records(sweep)
        gate = open_gate(sweep, store)
        for line in (*sweep.warnings, *planned_differences(sweep)):
            view.event(f"warning: {line}")
        interrupt.check()
        try:
            fleet = Fleet(options.address, cpus=max(run.cpus for run in sweep.runs))
        except KeyboardInterrupt:
            with interrupt.deferred():
                end_children()
            raise
        with interrupt.deferred():
            try:
                interrupt.check()
                check_capacity(sweep, fleet, options)
                store.write_plan(sweep)
                more = {} if check is None else {"check": check}
                launcher = Launcher(
                    sweep, store, fleet, options, view, environment=dict(os.environ), command=command, gate=gate, **more
                )
                with view:
                    code = launcher.launch(lock, interrupt)
            finally:
                fleet.close()
        return code if code == 130 else max(code, show_audit(store, view))


def _cpu_environment(sweep: Sweep) -> dict[str, str] | None:
    """Return what the sweep's runs on this machine's CPU ask of their environment; None if there are none."""
    hosts = [plan.settings["host"] for plan in sweep.plans.values() if plan.host == "cpu"]
    return {str(key): str(value) for key, value in hosts[0]["env"].items()} if hosts else None


def check_records(sweep: Sweep) -> None:
    """Refuse a sweep whose records were written with another configuration, and data that are not prepared.

    Raises:
        ConfigError: names the first differing run, its keys, and how many more differ.
    """
    for plan in sweep.plans.values():
        if plan.seed == sweep.runs[0].seed:
            check_inputs(plan.settings)
    changed = []
    for run in sweep.runs:
        difference = other_run(sweep, run)
        changed += [f"{run.name} ({difference})"] if difference else []
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise ConfigError(
            f"sweep {sweep.name!r} was launched with another configuration: {changed[0]}{more}; use new_sweep=NAME, or "
            f"remove {sweep.folder} if its runs may go"
        )


def folder_of(name: str, arguments: Sequence[str]) -> Path:
    """Return the folder of a launched sweep: a folder that has one, else that of a sweep file under `runs_dir=`."""
    wrong = [argument for argument in arguments if "=" not in argument]
    if wrong:
        raise ConfigError(f"{wrong[0]}: expected KEY=VALUE; a launched sweep is named by new_sweep= and runs_dir=")
    path = Path(name).expanduser()
    if (path / FOLDER).is_dir():
        return path.resolve()
    values = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    chosen = values.get("new_sweep") or values.get("sweep") or read_sweep(find_sweep(name)).name
    return Path(values.get("runs_dir", "runs")).expanduser().resolve() / chosen


def standing_of(store: Store) -> tuple[Overview, bool, dict[str, Any]]:
    """Return where a launched sweep stands, whether its launcher lives, and its plan; reads each run's status only."""
    plan = store.read_plan()
    alive = launcher_alive(store.lock)
    statuses, unread = statuses_of(run["run_dir"] for run in plan["runs"])
    run_states = joined(store.read_states(), statuses, launcher_alive=alive)
    running = sum(run_state.state == "running" for run_state in run_states.values())
    found = overview(plan["runs"], run_states, statuses, slots=max(running, 1), now=time.time())
    return replace(found, problems=(*found.problems, *unread)), alive, plan


def show_status(store: Store, *, as_json: bool) -> int:
    """Print where a sweep stands."""
    standing, alive, plan = standing_of(store)
    if as_json:
        print(json.dumps({"sweep": plan["sweep"], "launcher_alive": alive, **standing.as_dict()}, indent=2))
        return 0
    view = View(live=False)
    view.final(standing)
    if not alive and standing.done < standing.total:
        view.event("no launcher is at work; the launch command continues the sweep")
    return 0


def request_cancel(store: Store) -> int:
    """Ask the launcher at work to end its runs in order, and wait until it has; 1 if there is none."""
    if not launcher_alive(store.lock):
        store.read_plan()
        print(f"no launcher is at work on {store.path.parent}")
        return 1
    store.cancel.touch()
    begin = time.monotonic()
    while launcher_alive(store.lock):
        time.sleep(0.2)
    print(f"cancelled after {span(time.monotonic() - begin)}; the launch command continues the sweep")
    return 0


def show_audit(store: Store, view: View | None = None, *, as_json: bool = False, allowed: Sequence[str] = ()) -> int:
    """Audit the finished runs of a launched sweep, print and keep what is found; 1 unless pairs were compared and none
    differs. At the end of a launch (it gives the view) without pairs in its plan, 1 only if a record is broken.
    """
    runs = asked_for(store, store.read_plan()["runs"])
    found, costs = audit(runs, allowed), ledger(runs)
    store.keep("audit.json", found.as_dict())
    store.keep("ledger.json", costs)
    if as_json:
        print(json.dumps({"audit": found.as_dict(), "ledger": costs}, indent=2))
    else:
        _say(found, view or View(live=False))
        (view or View(live=False)).show(ledger_table(costs))
    if store.problem and view is None:
        print(f"the audit was not kept: {store.problem}", file=sys.stderr)
    expected = view is None or found.planned > 0
    return int(bool(found.differences) or (expected and not found.clean))


def _say(found: Audit, view: View) -> None:
    counts = asdict(found)
    view.event(f"pair audit: {found.verdict}")
    for title, kind in (("differs", "differences"), ("missing", "incomplete"), ("note", "notes")):
        lines = counts[kind]
        for line in lines[:20]:
            view.event(f"  {title}: {line}")
        if len(lines) > 20:
            view.event(f"  {title}: and {len(lines) - 20} more")
