"""`python -m dataflex_rl.sweep COMMAND SWEEP [OVERRIDES]`: methods x seeds as one comparison.

    python -m dataflex_rl.sweep plan paper_qwen7b                    what would run, and what it costs; starts nothing
    python -m dataflex_rl.sweep launch smoke_cpu seed=0-1            run what is not done, then audit the pairs
    python -m dataflex_rl.sweep status smoke_cpu                     from another terminal
    python -m dataflex_rl.sweep cancel smoke_cpu                     end it in order; launch continues it
    python -m dataflex_rl.sweep audit smoke_cpu                      do the methods differ in nothing but the method?
    python -m dataflex_rl.sweep replay study_cpu design=sequential   what would it have decided, on how many runs?

SWEEP: the name of a shipped sweep, a YAML file, or for the last four the folder of a launched one. plan, status,
audit and replay take --json; audit also --allow-differences KEY ..., keys of the configuration in which the runs of a
pair may differ. OVERRIDES: seed=, method=, new_sweep=, ray.address=, launcher.KEY=, runs_dir=, and any key of a run.

Exit codes: 0 done, 1 a run failed or the audit found a difference, 2 refused, 130 interrupted or cancelled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.output import safe_output
from dataflex_rl.quiet import mute_missing_engines
from dataflex_rl.sweep.interrupt import Interrupt, interruptible

COMMANDS = ("plan", "launch", "status", "cancel", "audit", "replay")
ALLOW = "--allow-differences"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0
    mute_missing_engines()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    return interruptible(lambda interrupt: _guarded(arguments[0], arguments[1:], interrupt))


def _guarded(command: str, arguments: list[str], interrupt: Interrupt) -> int:
    """Run a command; what is refused becomes one line and exit code 2. Imports take seconds: Ctrl-C may end them."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from dataflex_rl.record import RecordError

    try:
        return _run(command, arguments, interrupt)
    except (ConfigError, RecordError, HydraException, OmegaConfBaseException) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _run(command: str, arguments: list[str], interrupt: Interrupt) -> int:
    from dataflex_rl.sweep import commands, requests
    from dataflex_rl.sweep.design import replay, split_design
    from dataflex_rl.sweep.store import Store

    if command not in COMMANDS:
        raise unknown("command", command, COMMANDS)
    as_json = "--json" in arguments
    rest, allowed = allowed_differences([argument for argument in arguments if argument != "--json"])
    if allowed and command != "audit":
        raise ConfigError(f"{command} takes no {ALLOW}; audit does")
    if not rest or "=" in rest[0]:
        raise ConfigError(
            f"{command}: which sweep? expected the name of a shipped one, a YAML file or a sweep's folder"
        )
    name, overrides = rest[0], rest[1:]
    if command in ("plan", "launch"):
        if as_json and command == "launch":
            raise ConfigError("launch takes no --json; status --json tells where it stands")
        sweep, options = requests.plan_file(name, overrides)
        if command == "plan":
            return requests.show_plan(sweep, options, as_json=as_json)
        return commands.launch(sweep, options, interrupt=interrupt)
    if command == "replay":
        design, rest = split_design({}, overrides)
        return replay(commands.folder_of(name, rest), design, as_json=as_json)
    store = Store(commands.folder_of(name, overrides))
    if command == "status":
        return commands.show_status(store, as_json=as_json)
    if command == "cancel":
        return commands.request_cancel(store)
    return commands.show_audit(store, as_json=as_json, allowed=allowed)


def allowed_differences(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return (the other arguments, the keys after `--allow-differences`, up to the next option or KEY=VALUE).

    Raises:
        ConfigError: no key follows.
    """
    rest, allowed = list(arguments), []
    while ALLOW in rest:
        at = rest.index(ALLOW)
        end = next((n for n in range(at + 1, len(rest)) if rest[n].startswith("-") or "=" in rest[n]), len(rest))
        if end == at + 1:
            raise ConfigError(f"{ALLOW}: expected keys of the configuration, as actor_rollout_ref.rollout.n")
        allowed += rest[at + 1 : end]
        del rest[at:end]
    return rest, allowed


if __name__ == "__main__":
    sys.exit(main())
