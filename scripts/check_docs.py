"""Hold README.md and CONTRIBUTING.md against the disk: paths, make targets, commands, configuration groups; and
docs/configuration.md against the schema that it is written from.

python scripts/check_docs.py      # part of `make check`; prints what does not fit, exit code 1 then
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
TREES = ("docs/", "conf/", "dataflex_rl/", "analysis/", "sweeps/", "scripts/", "examples/", "tests/")
GROUPS = ("method", "scorer", "actuator", "mixer", "prompts")


def problems(text: str, root: Path = ROOT) -> list[str]:
    """Return what a document says that is not so, one line each."""
    return [
        *missing_paths(text, root),
        *unknown_targets(text, root),
        *unknown_commands(text),
        *wrong_groups(text, root),
    ]


def missing_paths(text: str, root: Path) -> list[str]:
    """Return paths into our folders that are not there."""
    named = re.findall(r"[\w./-]+", text)
    expected = {path.rstrip("./") for path in named if path.startswith(TREES) and "<" not in path}
    return [f"no such path: {path}" for path in sorted(expected) if not (root / path).exists()]


def unknown_targets(text: str, root: Path) -> list[str]:
    """Return `make` targets that the Makefile does not have."""
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, flags=re.MULTILINE))
    return [f"no such target: make {name}" for name in sorted(named - targets)]


def unknown_commands(text: str) -> list[str]:
    """Return `dataflex-rl` commands that the command line does not have."""
    from dataflex_rl.cli import COMMANDS

    named = set(re.findall(r"dataflex-rl ([a-z-]+)", text))
    return [f"no such command: dataflex-rl {name}" for name in sorted(named - set(COMMANDS))]


def wrong_groups(text: str, root: Path) -> list[str]:
    """Return groups whose row in the table of groups does not list exactly the files of conf/."""
    found = []
    for group in GROUPS:
        row = re.search(rf"^\| `{group}` \|[^|]*\|([^|]*)\|", text, flags=re.MULTILINE)
        if row is None:
            continue
        listed = {name.strip() for name in row[1].split(",")}
        there = {path.stem for path in (root / "conf" / group).glob("*.yaml")}
        if listed != there:
            found.append(f"group {group}: the table lists {sorted(listed)}, conf/{group} has {sorted(there)}")
    return found


def outdated(root: Path) -> list[str]:
    """Return a line if the configuration reference is not what its script would write now."""
    from dataflex_rl.config.reference import page

    file = root / "docs" / "configuration.md"
    if file.is_file() and file.read_text(encoding="utf-8") == page():
        return []
    return ["docs/configuration.md: not what the schema says; run python scripts/gen_config_docs.py"]


def main() -> int:
    """Check the documents; returns the exit code."""
    found = [f"{name}: {line}" for name in DOCUMENTS for line in problems((ROOT / name).read_text())]
    found += outdated(ROOT)
    print("\n".join(found) or f"{', '.join(DOCUMENTS)} fit the disk")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
