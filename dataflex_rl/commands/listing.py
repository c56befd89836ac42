"""`dataflex-rl list`: every component with what it needs, its defaults and what it does; or every setting."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from dataflex_rl.components.registry import describe
from dataflex_rl.errors import ConfigError
from dataflex_rl.output import plain_console, safe_output


def main(argv: Sequence[str] | None = None) -> int:
    """Print the components as a table, or as JSON with --json. Returns 0, or 2 if a third party's does not import."""
    safe_output()
    parser = argparse.ArgumentParser(prog="dataflex-rl list", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.add_argument("--settings", action="store_true", help="list settings and parameters instead of components")
    options = parser.parse_args(argv)
    try:
        components = settings() if options.settings else describe()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(components, indent=2, default=_plain))
        return 0
    plain_console().print(_settings_table(components) if options.settings else _table(components))
    return 0


def settings() -> list[dict[str, Any]]:
    """Return every setting as a plain dict (key, default, expected, help)."""
    from dataflex_rl.config.reference import component_settings, launcher_settings, run_settings

    return [dataclasses.asdict(row) for row in (*run_settings(), *component_settings(), *launcher_settings())]


def _settings_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Settings", header_style="bold", show_lines=True)
    for name in ("key", "default", "expected", "help"):
        table.add_column(name, overflow="fold", ratio=2 if name == "help" else 1)
    for row in rows:
        table.add_row(*(row[name] for name in ("key", "default", "expected", "help")))
    return table


def _table(components: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Components of data policies", header_style="bold", show_lines=True)
    table.add_column("name", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("per", no_wrap=True)  # what a scorer scores, what an actuator takes a score of
    table.add_column("what it does, what it needs, defaults", ratio=1)
    for part in components:
        table.add_row(part["name"], part["kind"], "\n".join(part["granularity"]), _details(part))
    return table


def _details(part: dict[str, Any]) -> str:
    needs = [*part["requires"], *(["groups (n > 1)"] if part["needs_groups"] else [])]
    defaults = ", ".join(f"{key}={_plain(value)}" for key, value in part["defaults"].items())
    return "\n".join(
        [
            part["summary"],
            f"requires: {', '.join(needs) or 'nothing'} ({part['timing']})",
            f"defaults: {defaults or 'no parameters'}",
        ]
    )


def _plain(value: Any) -> Any:
    """A parameter without a default has none to print."""
    return "(required)" if value is dataclasses.MISSING else value
