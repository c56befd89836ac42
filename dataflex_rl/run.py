"""`python -m dataflex_rl.run`: compose a configuration, check it, train, and keep the record.

    python -m dataflex_rl.run method=difffilter seed=0
    python -m dataflex_rl.run scorer=group_solve actuator=difffilter dataflex.actuator.params.low=0.1 dry_run=true
    python -m dataflex_rl.run method=difffilter seed=0-11     # several runs: through the launcher of dataflex_rl.sweep
    python -m dataflex_rl.run -m method=uniform,difffilter model=tiny seed=0-2

Exit codes: 0 done, 1 training failed, 2 the configuration is refused, 3 the record is in use, 130 interrupted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from rich.table import Table

from dataflex_rl.config.compose import chosen, compose_and, cpu_environment
from dataflex_rl.config.plain import plain
from dataflex_rl.config.plan import Plan, settle
from dataflex_rl.config.sources import how_to_make
from dataflex_rl.errors import ConfigError
from dataflex_rl.output import plain_console, safe_output
from dataflex_rl.record import RecordBusy, RecordError, RunRecord, read_status
from dataflex_rl.runtime.outcome import Exit, report
from dataflex_rl.runtime.processes import child_environment, interpreter
from dataflex_rl.runtime.start.owner import serving
from dataflex_rl.sweep.seeds import prepare

DRY = (False, True, "json")
SAID = "verl: "  # before each line of what verl says of a configuration


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        request = prepare(arguments)
        if request.single:
            trains = not any(argument.startswith(("-", "dry_run=")) for argument in request.arguments)
            with serving(cpu_environment(request.arguments) if trains else None):
                return compose_and(lambda config: run_one(config, request.arguments), request.arguments)
        from dataflex_rl.sweep.multirun import run_several

        return run_several(request)
    except (ConfigError, RecordError, OmegaConfBaseException) as error:
        text = " ".join(str(error).split())
        print(f"error: {text}", file=sys.stderr)
        return report(Exit.BUSY if isinstance(error, RecordBusy) else Exit.REFUSED, text)
    except KeyboardInterrupt:  # before training began; from then on the attempt handles it
        print("interrupted", file=sys.stderr)
        return report(Exit.INTERRUPTED, "interrupted")


def run_one(config: DictConfig, arguments: Sequence[str] = ()) -> int:
    """Check one run, then print its plan or execute it; the arguments are those it was composed from."""
    if config.dry_run not in DRY:
        raise ConfigError(f"dry_run={config.dry_run!r}: wanted false, true or json")
    plan = settle(config, arguments)
    plan = replace(plan, warnings=[*plan.warnings, *ask_verl(config)])
    if config.dry_run:
        show_plan(plan, as_json=config.dry_run == "json")
        return 0
    from dataflex_rl.runtime.attempt import execute

    if not chosen(arguments):
        print(
            f"nothing chosen: training method={plan.method} model={plan.model} task={plan.task}; --help lists choices"
        )
    code = execute(config, plan)
    status = read_status(RunRecord(Path(config.run_dir)))
    return report(code, f"failed at step {status.step}/{status.steps}: {status.error}" if code == Exit.FAILED else None)


def ask_verl(config: DictConfig) -> list[str]:
    """Have verl check the configuration: in a process that has imported it, where there is one, else here.

    Returns:
        What verl says of it, one line each.

    Raises:
        ConfigError: verl refuses the configuration.
    """
    if "verl" not in sys.modules and interpreter() != sys.executable:
        environment = child_environment(config.host.get("env") or {})
        command = [interpreter(), "-m", "dataflex_rl.host.validate"]
        done = subprocess.run(
            command, input=json.dumps(plain(config)), env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return [line for line in done.stdout.splitlines() if line.startswith(SAID)]
        if done.returncode == 2:
            raise ConfigError(done.stdout.strip())
        print(done.stderr, file=sys.stderr)  # a fault of ours: found again, and shown, below
    from dataflex_rl.host.validate import validate

    return validate(config)


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
