"""`python -m dataflex_rl.run` with several seeds or `-m`: a sweep without a file."""

from __future__ import annotations

import sys

from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.commands import launch
from dataflex_rl.sweep.interrupt import interruptible
from dataflex_rl.sweep.plan import Sweep, needed_controls
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
        raise ConfigError(f"dry_run={dry!r}: expected false, true or json")
    sweep, options = plan_line(request)
    note = unpaired(sweep)
    if note:
        print(note, file=sys.stderr)
    if dry != "false":
        return show_plan(sweep, options, as_json=dry == "json")
    return interruptible(lambda interrupt: launch(sweep, options, interrupt=interrupt))


def unpaired(sweep: Sweep) -> str | None:
    """Return a line that names the controls which runs lack; None if they have them: a sweep without a file may."""
    missing = [name for name in needed_controls(sweep.runs) if name not in {run.method for run in sweep.runs}]
    if not missing:
        return None
    return f"warning: no run of the control {', '.join(missing)} is among the methods: nothing can be paired"
