"""`python -m dataflex_rl.run` with several seeds or `-m`: a sweep without a file."""

from __future__ import annotations

from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.commands import launch
from dataflex_rl.sweep.requests import plan_line, show_plan
from dataflex_rl.sweep.seeds import Request

_DRY = ("true", "false", "json")


def run_several(request: Request) -> int:
    """Print the plan of a request for several runs (`dry_run=`), or launch it; returns the exit code.

    Raises:
        ConfigError: whatever `plan_line` and `launch` refuse.
    """
    values = [argument.partition("=")[2] for argument in request.arguments if argument.startswith("dry_run=")]
    dry = values[-1].lower() if values else "false"
    if dry not in _DRY:
        raise ConfigError(f"dry_run={dry!r}: wanted false, true or json")
    sweep, knobs = plan_line(request)
    return launch(sweep, knobs) if dry == "false" else show_plan(sweep, knobs, as_json=dry == "json")
