"""From command lines to plans, and how a plan is printed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.text import Text

from dataflex_rl.config.naming import check_name
from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import parse_seed
from dataflex_rl.sweep.audit import planned_differences
from dataflex_rl.sweep.commands import check_capacity
from dataflex_rl.sweep.design import design_lines, families_of, freeze, promised, split_design
from dataflex_rl.sweep.files import SweepFile, find_sweep, read_sweep
from dataflex_rl.sweep.options import LaunchOptions, options_of, split_settings
from dataflex_rl.sweep.plan import Sweep, make_plan
from dataflex_rl.sweep.seeds import Request, prepare
from dataflex_rl.sweep.view import View, plan_table, shared_of, span


def plan_file(name: str, arguments: Sequence[str]) -> tuple[Sweep, LaunchOptions]:
    """Return the plan of a sweep file with overrides (`seed=`, `method=`, `sweep=` replace the file's own)."""
    sweep = read_sweep(find_sweep(name))
    settings, rest = split_settings(arguments)
    options = options_of({**sweep.launcher, **settings})
    design, rest = split_design(sweep.design, rest)
    sweep, extra = _replaced(sweep, prepare(rest))
    return (_designed(sweep, extra, options, design) if design else make_plan(sweep, extra, options)), options


def _designed(sweep: SweepFile, extra: Sequence[str], options: LaunchOptions, design: Mapping[str, Any]) -> Sweep:
    """Return the plan of a sweep with a design: every run that a look may ask for, at as many seeds as it wants."""
    first = make_plan(replace(sweep, seeds=sweep.seeds[:1]), extra, options)
    families = {}
    for name, family in families_of(first.runs).items():
        families[name] = {**freeze(design, family, sweep.seeds), "family": family, "seeds": list(sweep.seeds)}
    most = {(method, seed) for part in families.values() for method, seed in part["most"]}
    plan = make_plan(replace(sweep, seeds=tuple(sorted({seed for _, seed in most}))), extra, options)
    runs = tuple(run for run in plan.runs if (run.method, run.seed) in most)
    plans = {run.run_dir: plan.plans[run.run_dir] for run in runs}
    return replace(plan, runs=runs, plans=plans, design={"settings": dict(design), "families": families})


def plan_line(request: Request) -> tuple[Sweep, LaunchOptions]:
    """Return the plan of a command line of `dataflex_rl.run` that stands for several runs."""
    settings, rest = split_settings(request.arguments)
    options = options_of(settings)
    named = SweepFile(name="default", methods=(), seeds=request.seeds)
    sweep, extra = _replaced(named, replace(request, arguments=tuple(rest)), methods=False)
    return make_plan(sweep, [a for a in extra if not a.startswith("dry_run=")], options, checked=False), options


def _replaced(sweep: SweepFile, request: Request, *, methods: bool = True) -> tuple[SweepFile, list[str]]:
    """Return the sweep with what the command line sets of its own keys, and the remaining arguments."""
    changes: dict[str, Any] = {"seeds": request.seeds} if request.seeds else {}
    extra = []
    for argument in request.arguments:
        key, _, value = argument.partition("=")
        if key == "sweep":
            changes["name"] = check_name(key, value)
        elif key == "seed":
            number = int(value) if value.isdecimal() else value
            changes["seeds"] = (parse_seed(number),)
        elif key == "method" and methods:
            changes["methods"] = _methods(argument, value)
            changes["controls"] = ()  # those that these methods need are still expected
        else:
            extra.append(argument)
    return replace(sweep, **changes), extra


def _methods(argument: str, value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.strip("[]\"'").split(","))
    if not all(names):
        raise ConfigError(f"{argument}: expected names of methods, such as method=uniform,difffilter")
    return names


def show_plan(sweep: Sweep, options: LaunchOptions, *, as_json: bool) -> int:
    """Print the runs, their resources and cost; with a cluster's address also how many fit at once."""
    plan = sweep.as_dict()
    plan["resources"] = {
        "gpus_per_run": max(run.gpus for run in sweep.runs),
        "cpus_per_run": max(run.cpus for run in sweep.runs),
        "max_concurrent": options.max_concurrent if options.address is None else _slots_at(sweep, options),
    }
    plan["resources"] |= _here(sweep, options)
    unchecked = options.address is None and plan["resources"]["gpus_per_run"] > 0
    plan["warnings"] = ["not checked against a cluster: give ray.address="] if unchecked else []
    plan["warnings"] += [*sweep.warnings, *planned_differences(sweep)]
    plan["design"] = None if sweep.design is None else promised(sweep.design, sweep.runs)
    if as_json:
        print(json.dumps(plan, indent=2, allow_nan=False))
        return 0
    view = View(live=False)
    if sweep.claim:
        view.show(Text(sweep.claim))
    view.show(plan_table(plan))
    view.show(Text(shared_of(plan)))
    for line in [*_costs(plan), *design_lines(plan["design"] or {})]:
        view.event(line)
    for warning in plan["warnings"]:
        view.event(f"warning: {warning}")
    view.event(f"records: {sweep.folder}")
    if sweep.tables:
        view.event(f"tables: python -m analysis.tables --runs {sweep.folder} --table {'|'.join(sweep.tables)}")
    return 0


def _here(sweep: Sweep, options: LaunchOptions) -> dict[str, Any]:
    """Return how many runs go at once on this machine, and about how long all take [s]; None where that is unknown."""
    if options.address is not None or any(run.gpus for run in sweep.runs):
        return {"at_once_here": None, "seconds_here": None}
    fit = max(int((os.cpu_count() or 1) / max(run.cpus for run in sweep.runs) + 1e-6), 1)
    at_once = min(fit, options.max_concurrent or fit, len(sweep.runs))
    each = [run.seconds for run in sweep.runs]
    known = None if None in each else sum(seconds for seconds in each if seconds is not None) / at_once
    return {"at_once_here": at_once, "seconds_here": known}


def _costs(plan: Mapping[str, Any]) -> list[str]:
    """Return the cost of a plan in short lines."""
    here = plan["resources"]
    if here["at_once_here"] is not None:
        about = "" if here["seconds_here"] is None else f", about {span(here['seconds_here'])} in all"
        return [f"{here['at_once_here']} at once on this machine{about}", *_tokens_and_hours(plan)]
    return _tokens_and_hours(plan)


def _tokens_and_hours(plan: Mapping[str, Any]) -> list[str]:
    hours, tokens = ("?" if plan[key] is None else f"{plan[key]:,.0f}" for key in ("gpu_hours", "tokens"))
    return [
        f"{len(plan['runs'])} runs; estimated {hours} GPU-hours, {tokens} tokens",
        f"at most {plan['tokens_at_most']:,} tokens",
    ]


def _slots_at(sweep: Sweep, options: LaunchOptions) -> int:
    from dataflex_rl.sweep.fleet import Fleet

    fleet = Fleet(options.address)
    try:
        return check_capacity(sweep, fleet, options)
    finally:
        fleet.close()
