"""Values that Hydra's grammar would not take as they are: a path with `=` or a bracket, a text with spaces."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

_PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")
_PATH = re.compile(r"[/~.]")


def setting(key: str, value: str) -> str:
    """Return an override that sets a key to exactly that text, in quotes where Hydra needs them."""
    return f"{key}={value}" if _PLAIN.fullmatch(value) else f"{key}={quoted(value)}"


def quoted(value: str) -> str:
    """Return a text in Hydra's quotes, whatever is in it."""
    escaped = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), value)
    return f"'{escaped}'"


def unquoted(value: str) -> str:
    """Return the text that a value in Hydra's quotes stands for; any other value as it is.

    Raises:
        HydraException: a quote that does not end.
    """
    if value[:1] not in ("'", '"'):
        return value
    return str(OverridesParser.create().parse_override(f"key={value}").value())


def run_line(task: str, folder: Path) -> str:
    """Return the command of a run on a folder of training and validation files, to be pasted into a shell."""
    files = [setting(f"data.{split}_files", f"{(folder / split).resolve()}.parquet") for split in ("train", "val")]
    return shlex.join(("python", "-m", "dataflex_rl.run", f"task={task}", *files))


def readable(arguments: Iterable[str]) -> list[str]:
    """Return command line arguments with quotes around each path, alone or in a list, that Hydra cannot read as it is.

    What Hydra can read stays, and so does what is no path: its own message says what is wrong there.
    """
    return [_readable(argument) for argument in arguments]


def _readable(argument: str) -> str:
    key, equals, value = argument.partition("=")
    if not equals or argument.startswith("-") or "'" in value or '"' in value or _parses(argument):
        return argument
    if _PATH.match(value) and _parses(fixed := f"{key}={quoted(value)}"):
        return fixed
    if value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in value[1:-1].split(",")]
        fixed = f"{key}=[{','.join(quoted(item) if _PATH.match(item) else item for item in items)}]"
        return fixed if _parses(fixed) else argument
    return argument


def _parses(argument: str) -> bool:
    try:
        OverridesParser.create().parse_override(argument)
    except HydraException:
        return False
    return True
