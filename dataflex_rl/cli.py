"""`dataflex-rl COMMAND`: one entry to everything; each command is a module of its own, loaded when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from dataflex_rl.output import safe_output

COMMANDS = {
    "run": ("dataflex_rl.run", "train one run: dataflex-rl run method=difffilter seed=0"),
    "prepare": ("dataflex_rl.prepare", "write training tasks and benchmarks as parquet files, once"),
    "evaluate": ("dataflex_rl.evaluate", "measure a finished run, a checkpoint or a model"),
    "sweep": (
        "dataflex_rl.sweep.__main__",
        "plan, launch, watch and audit methods x seeds: dataflex-rl sweep plan smoke_cpu",
    ),
    "demo": ("dataflex_rl.demo", "train uniform, then difffilter, on the embedded model"),
    "doctor": ("dataflex_rl.commands.doctor", "can training start on this machine?"),
    "list": ("dataflex_rl.commands.listing", "every scorer, actuator and mixer"),
    "where": ("dataflex_rl.commands.where", "paths of the configuration groups and the embedded model"),
    "tables": ("analysis.tables", "tables of paired-seed deltas from run records"),
    "report": ("analysis.report", "one self-contained page from run records"),
    "plot-mix": ("analysis.plots.mixer", "shares and domain statistics of a mixed run, as a picture"),
    "plan-seeds": ("analysis.planning", "how many seeds an effect needs"),
}


def usage() -> str:
    """Return the list of commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return "usage: dataflex-rl COMMAND [ARGUMENTS]\n\n" + "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Hand the arguments to a command; exit code 2 for an unknown one."""
    safe_output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print(f"error: unknown command {name!r}; known: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    return int(importlib.import_module(COMMANDS[name][0]).main(rest))


if __name__ == "__main__":
    sys.exit(main())
