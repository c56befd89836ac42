"""`python -m dataflex_rl.run`: compose a configuration, check it, train, and keep the record.

    python -m dataflex_rl.run method=difffilter seed=0
    python -m dataflex_rl.run scorer=group_solve actuator=difffilter dataflex.actuator.params.low=0.1 dry_run=true
    python -m dataflex_rl.run method=difffilter seed=0-11     # several runs: through the launcher of dataflex_rl.sweep
    python -m dataflex_rl.run -m method=uniform,difffilter model=tiny seed=0-2

Exit codes: 0 done, 1 training failed, 2 the configuration is refused, 130 interrupted.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console as RichConsole
from rich.table import Table

from dataflex_rl.errors import ConfigError
from dataflex_rl.models.local import with_local_model
from dataflex_rl.paths import shipped
from dataflex_rl.record import RecordError
from dataflex_rl.settle import Plan, settle
from dataflex_rl.sweep.seeds import Request, prepare

DRY = (False, True, "json")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    warnings.filterwarnings("ignore", message=".* engine is not available.*")
    os.environ.setdefault("VERL_LOGGING_LEVEL", "ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    request = Request(arguments=tuple(arguments), seeds=())
    try:
        request = prepare(arguments)
        if request.single:
            return compose_and(run_one, request.arguments)
        from dataflex_rl.sweep.several import run_several

        return run_several(request)
    except (ConfigError, RecordError) as error:
        return _refuse(str(error))
    except HydraException as error:
        return _refuse(_misspelt(error, request.arguments) or _one_line(error))
    except OmegaConfBaseException as error:
        return _refuse(_one_line(error))
    except KeyboardInterrupt:  # before training began; from then on the attempt handles it
        print("interrupted", file=sys.stderr)
        return 130


def compose_and(task: Callable[[DictConfig], int], arguments: Sequence[str]) -> int:
    """Compose `conf/run.yaml` with the arguments through Hydra and hand it to a task; returns what the task returns."""
    result: list[int | ConfigError | RecordError | HydraException | OmegaConfBaseException] = []

    @hydra.main(config_path=str(shipped("conf")), config_name="run", version_base="1.3")
    def job(config: DictConfig) -> None:
        try:
            result.append(task(config))
        except (ConfigError, RecordError, HydraException, OmegaConfBaseException) as error:
            result.append(error)  # raised below: Hydra would announce it in its own words first

    saved, sys.argv = sys.argv, ["dataflex_rl.run", *with_local_model(arguments)]
    try:
        job()
    finally:
        sys.argv = saved
    code = result[0] if result else 0  # `--help` and the like run no job
    if isinstance(code, int):
        return code
    raise code


def run_one(config: DictConfig) -> int:
    """Check one run, then print its plan or execute it."""
    if config.dry_run not in DRY:
        raise ConfigError(f"dry_run={config.dry_run!r}: wanted false, true or json")
    plan = settle(config)
    from dataflex_rl.host.validate import validate

    validate(config)
    if config.dry_run:
        show_plan(plan, as_json=config.dry_run == "json")
        return 0
    from dataflex_rl.attempt import execute

    return execute(config, plan)


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
        shown = (
            (", ".join(value) or "nothing")
            if isinstance(value, list)
            else f"{value:,}"
            if isinstance(value, int)
            else value
        )
        table.add_row(key.replace("_", " "), str(shown))
    RichConsole().print(table)


def _misspelt(error: HydraException, arguments: Sequence[str]) -> str | None:
    """Return what stands beside a key that the configuration does not have; None if that is not the error."""
    found = re.match(r"Could not override '([\w.]+)'", str(error))
    if found is None:
        return None
    known: list[str] = []

    def look(config: DictConfig) -> int:
        path = found[1].split(".")[:-1]
        while path and not isinstance(OmegaConf.select(config, ".".join(path)), DictConfig):
            path.pop()
        node = OmegaConf.select(config, ".".join(path)) if path else config
        if OmegaConf.select(config, found[1], throw_on_missing=False) is None:  # else: a key inside what is set
            known.append(f"{'.'.join(path) or 'the configuration'} has: {', '.join(sorted(map(str, node)))}")
        return 0

    try:
        compose_and(look, [argument for argument in arguments if argument.partition("=")[0] != found[1]])
    except (ConfigError, HydraException, OmegaConfBaseException):  # one error at a time: the other comes next
        return None
    if not known:
        return None
    return f"unknown setting {found[1]!r}; {known[0]} (+{found[1]}=... adds a new one)"


def _one_line(error: Exception) -> str:
    """Return Hydra's message without its layout: first line, and the choices it lists."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].startswith(("In ", "Could not find", "Could not override", "Key ", "Error")):
        return " ".join(lines)
    return " ".join(lines[:6])


def _refuse(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
