"""The runs of a sweep: composed, checked, priced and put in order; nothing is started."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dataflex_rl.config.naming import check_name
from dataflex_rl.config.plan import Plan, plan_runs
from dataflex_rl.errors import ConfigError
from dataflex_rl.record.pairs import CONTROLS, kind_of
from dataflex_rl.sweep.files import Estimate, SweepFile
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.seeds import points

_OWN = ("run_dir", "force", "dry_run")
_SHARED = (
    "method", "seed", "model", "task", "regime", "run_dir", "scorer", "actuator", "mixer", "prompt_selector", "host",
    "steps", "tokens_at_most",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: what it is, where its record lies, what it asks for, and the arguments of `dataflex_rl.run` that
    would train it alone.

    `gpu_hours` [GPU-hours] and `seconds` [s] are estimates, None where the sweep gives nothing to estimate from.
    """

    method: str
    seed: int
    model: str
    task: str
    regime: str
    run_dir: str
    scorer: str
    actuator: str
    mixer: str
    prompt_selector: str
    host: str
    steps: int
    gpus: float
    cpus: float
    tokens_at_most: int
    tokens: int | None
    gpu_hours: float | None
    seconds: float | None
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a person calls it inside its sweep."""
        return "/".join(self.run_dir.split("/")[-3:])


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A planned sweep; `folder` is `<runs_dir>/<sweep>`. Runs are in the order in which they start.

    `plans` holds, per run directory, the plan of the run.
    """

    name: str
    claim: str
    tables: tuple[str, ...]
    folder: Path
    runs: tuple[Run, ...]
    plans: dict[str, Plan] = field(repr=False, compare=False)
    warnings: tuple[str, ...] = ()  # of the runs' own checks, each once
    design: Mapping[str, Any] | None = None  # {"settings", "families"}: see `looks`

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON data; sums are None where a part is not estimated."""
        return {
            "sweep": self.name,
            "claim": self.claim,
            "tables": list(self.tables),
            "folder": str(self.folder),
            "methods": list(dict.fromkeys(run.method for run in self.runs)),
            "seeds": sorted({run.seed for run in self.runs}),
            "runs": [asdict(run) | {"arguments": list(run.arguments)} for run in self.runs],
            "gpu_hours": _sum([run.gpu_hours for run in self.runs]),
            "tokens": _sum([run.tokens for run in self.runs]),
            "tokens_at_most": sum(run.tokens_at_most for run in self.runs),
        }


def _sum(values: Sequence[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def make_plan(sweep: SweepFile, extra: Sequence[str], options: LaunchOptions, *, checked: bool = True) -> Sweep:
    """Return the plan of a sweep with further overrides (later ones win; lists multiply the runs).

    Args:
        checked: refuse a sweep without the controls of its methods.

    Raises:
        ConfigError: whatever a run's own check refuses, two runs with one record, a missing control, a host that spans
            several machines, `run_dir=` or `force=`.
    """
    for arguments in (extra, sweep.overrides, *sweep.vary):
        refuse_own(arguments)
    if checked:
        _refuse_missing(sweep, sweep.controls, sweep.methods)
    variants = [
        [*sweep.overrides, *variant, *point, *([f"method={method}"] if method else [])]
        for variant in sweep.vary
        for point in points(extra)
        for method in sweep.methods or ("",)
    ]
    runs, plans = [], {}
    for run, plan in _at_seeds([_plans(latest(arguments), sweep, options) for arguments in variants]):
        if run.run_dir in plans:
            raise ConfigError(
                f"two runs of sweep {sweep.name!r} would share the record {run.run_dir}; name one of them with "
                "method_name=, or give it a sweep of its own"
            )
        plans[run.run_dir] = plan
        runs.append(run)
    if checked:
        check_controls(sweep, runs)
    folder, *others = dict.fromkeys(Path(run.run_dir).parents[2] for run in runs)
    if others:
        raise ConfigError(f"sweep {sweep.name!r} would lie in {folder} and {others[0]}; expected one runs_dir=")
    return Sweep(
        name=sweep.name,
        claim=sweep.claim,
        tables=sweep.tables,
        folder=folder,
        runs=tuple(runs),
        plans=plans,
        warnings=tuple(dict.fromkeys(line for plan in plans.values() for line in plan.warnings)),
    )


def refuse_own(arguments: Sequence[str]) -> None:
    """Refuse settings that belong to one run only, and options that are none."""
    for argument in arguments:
        if argument.startswith("-") and not argument.startswith("--config-"):
            raise ConfigError(
                f"{argument}: no option of a sweep; expected KEY=VALUE, --config-dir=..., or --json for a plan"
            )
        key = argument.partition("=")[0].lstrip("+~")
        if key in _OWN:
            raise ConfigError(f"{argument}: not for several runs at once; {key}= belongs to a single run")


def latest(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the last of those that set the same key."""
    last = {argument.partition("=")[0]: number for number, argument in enumerate(arguments) if "=" in argument}
    return [
        argument
        for number, argument in enumerate(arguments)
        if "=" not in argument or last[argument.partition("=")[0]] == number
    ]


def _at_seeds(variants: Sequence[Sequence[tuple[Run, Plan]]]) -> Iterator[tuple[Run, Plan]]:
    """Yield the runs of all variants seed by seed: so a sweep that is ended early has whole seeds."""
    for runs in zip(*variants, strict=True):
        yield from runs


def _plans(arguments: list[str], sweep: SweepFile, options: LaunchOptions) -> list[tuple[Run, Plan]]:
    """Compose and check one variant and method once; return its run and plan at each seed."""
    from dataflex_rl.host.validate import validate

    named = [*(a for a in arguments if not a.startswith("sweep=")), f"sweep={check_name('sweep', sweep.name)}"]
    first, *others = plan_runs(named, sweep.seeds, dry=True)
    said = [*first.warnings, *validate(first.settings)]
    plans = [dataclasses.replace(plan, warnings=said) for plan in (first, *others)]
    return [(_run(plan, sweep.estimate, options, named), plan) for plan in plans]


def _run(plan: Plan, estimate: Estimate, options: LaunchOptions, arguments: Sequence[str]) -> Run:
    nodes = int(plan.settings["trainer"]["nnodes"])
    if nodes > 1:
        raise ConfigError(
            f"host={plan.host} spans {nodes} machines, but a run of a sweep has a Ray instance of its own on one; "
            "start such runs one by one: python -m dataflex_rl.run ... seed=K"
        )
    gpus = float(options.gpus if options.gpus is not None else plan.gpus)
    tokens = _tokens(plan, estimate, int(plan.settings["data"]["max_response_length"]))
    rate = estimate.tokens_per_gpu_second.get(plan.model)
    hours = 0.0 if gpus == 0 else None if tokens is None or rate is None else round(tokens / rate / 3600, 2)
    return Run(
        **{key: getattr(plan, key) for key in _SHARED},
        gpus=gpus,
        cpus=float(options.cpus if options.cpus is not None else 4 * gpus or 2),
        tokens=tokens,
        gpu_hours=hours,
        seconds=estimate.seconds_per_run if gpus == 0 else None,
        arguments=(
            *(a for a in arguments if not a.startswith("runs_dir=")),
            f"runs_dir={Path(plan.run_dir).parents[3]}",
            f"seed={plan.seed}",
        ),
    )


def _tokens(plan: Plan, estimate: Estimate, longest: int) -> int | None:
    """Return the estimated tokens of a run: its training responses, and both evaluations' answers."""
    if estimate.response_tokens is None:
        return None
    return round((plan.responses + 2 * estimate.evaluation_items) * min(estimate.response_tokens, longest))


def check_controls(sweep: SweepFile, runs: Sequence[Run]) -> None:
    """Refuse a sweep that lacks the control its methods are compared with.

    Raises:
        ConfigError: no `uniform` beside select or reweight methods or prompt selectors, or no `static` beside mixers.
    """
    _refuse_missing(sweep, needed_controls(runs), [run.method for run in runs])


def needed_controls(runs: Sequence[Run]) -> list[str]:
    """Return the controls that runs are compared with."""
    return sorted({CONTROLS[kind] for run in runs if (kind := kind_of(run.actuator, run.mixer, run.prompt_selector))})


def _refuse_missing(sweep: SweepFile, needed: Sequence[str], present: Sequence[str]) -> None:
    missing = [control for control in needed if control not in present]
    if missing:
        raise ConfigError(
            f"sweep {sweep.name!r} has no run of its control {', '.join(missing)}; its methods: "
            f"{', '.join(dict.fromkeys(present))}; add it, or train without one by dataflex_rl.run -m method=..."
        )
