"""`python -m dataflex_rl.run`: compose a configuration, check it, train, and keep the record.

    python -m dataflex_rl.run method=difffilter seed=0
    python -m dataflex_rl.run scorer=group_solve actuator=difffilter dataflex.actuator.params.low=0.1 dry_run=true
    python -m dataflex_rl.run method=difffilter seed=0-11     # several runs: through the launcher of dataflex_rl.sweep
    python -m dataflex_rl.run -m method=uniform,difffilter model=tiny seed=0-2
    python -m dataflex_rl.run plan=FILE                       # a plan that a sweep has composed and checked

Exit codes: 0 done, 1 training failed, 2 the configuration is refused, 3 the record is in use, 130 interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf.errors import OmegaConfBaseException
from rich.table import Table

from dataflex_rl.config.compose import chosen, cpu_environment
from dataflex_rl.config.plan import Plan, plan_runs
from dataflex_rl.config.sources import how_to_make
from dataflex_rl.errors import ConfigError
from dataflex_rl.output import plain_console, safe_output
from dataflex_rl.record import RecordBusy, RecordError, RunRecord, read_status
from dataflex_rl.runtime.outcome import Exit, report
from dataflex_rl.runtime.processes import child_environment, interpreter
from dataflex_rl.runtime.start.owner import serving
from dataflex_rl.sweep.seeds import prepare

DRY = (False, True, "json")
PLAN = "plan="  # what a sweep starts its runs by
SAID = "verl: "  # before each line of what verl says of a configuration


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if len(arguments) == 1 and arguments[0].startswith(PLAN):
            return train(Plan.read(Path(arguments[0].removeprefix(PLAN))))
        request = prepare(arguments)
        if request.single:
            return run_one(request.arguments)
        from dataflex_rl.sweep.multirun import run_several

        return run_several(request)
    except (ConfigError, RecordError, OmegaConfBaseException) as error:
        text = " ".join(str(error).split())
        print(f"error: {text}", file=sys.stderr)
        return report(Exit.BUSY if isinstance(error, RecordBusy) else Exit.REFUSED, text)
    except KeyboardInterrupt:  # before training began; from then on the attempt handles it
        print("interrupted", file=sys.stderr)
        return report(Exit.INTERRUPTED, "interrupted")


def run_one(arguments: Sequence[str]) -> int:
    """Plan one run, then print its plan or train; returns the exit code."""
    trains = not any(argument.startswith(("-", "dry_run=")) for argument in arguments)
    with serving(cpu_environment(arguments) if trains else None):
        found = plan_runs(arguments)
        if not found:
            return 0
        dry = found[0].settings["dry_run"]
        if dry not in DRY:
            raise ConfigError(f"dry_run={dry!r}: expected false, true or json")
        plan = replace(found[0], warnings=[*found[0].warnings, *ask_verl(found[0].settings)])
        if dry:
            show_plan(plan, as_json=dry == "json")
            return 0
        if not chosen(arguments):
            names = f"method={plan.method} model={plan.model} task={plan.task}"
            print(f"nothing chosen: training {names}; --help lists choices")
        return train(plan)


def train(plan: Plan) -> int:
    """Execute a plan and leave the reason of its end; returns the exit code."""
    from dataflex_rl.runtime.attempt import execute

    code = execute(plan)
    status = read_status(RunRecord(Path(plan.run_dir)))
    return report(code, f"failed at step {status.step}/{status.steps}: {status.error}" if code == Exit.FAILED else None)


def ask_verl(settings: Mapping[str, Any]) -> list[str]:
    """Have verl check the configuration: in a process that has imported it, where there is one, else here.

    Returns:
        What verl says of it, one line each.

    Raises:
        ConfigError: verl refuses the configuration.
    """
    if "verl" not in sys.modules and interpreter() != sys.executable:
        environment = child_environment(settings["host"].get("env") or {})
        command = [interpreter(), "-m", "dataflex_rl.host.validate"]
        done = subprocess.run(
            command, input=json.dumps(settings), env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return [line for line in done.stdout.splitlines() if line.startswith(SAID)]
        if done.returncode == 2:
            raise ConfigError(done.stdout.strip())
        print(done.stderr, file=sys.stderr)  # a fault of ours: found again, and shown, below
    from dataflex_rl.host.validate import validate

    return validate(settings)


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what the run would do: JSON alone on standard output, or a table."""
    values: dict[str, Any] = plan.as_dict()
    if as_json:
        print(json.dumps(values, indent=2))
        return
    table = Table(title="plan (nothing is started)", title_justify="left", show_header=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for key, value in values.items():
        if key == "to_prepare":
            value = [f"{name}: {how_to_make(name)}" for name in value]
        shown = (
            ("\n".join(value) or "nothing")
            if isinstance(value, list)
            else f"{value:,}"
            if isinstance(value, int)
            else value
        )
        table.add_row(key.replace("_", " "), str(shown))
    plain_console().print(table)


if __name__ == "__main__":
    sys.exit(main())
