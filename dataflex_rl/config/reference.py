"""The configuration reference: every setting of ours, from the schema and the comments in `conf/`.

`dataflex-rl list --settings` prints it, `scripts/gen_config_docs.py` writes it as `docs/configuration.md`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

import yaml

from dataflex_rl.components.options import words
from dataflex_rl.components.registry import ROLES, Role, describe, lookup
from dataflex_rl.components.settings import SETTINGS
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.schema import kind_of

_LINE = re.compile(r"^( *)([\w.]+):(?: +(.*))?$")
_EXAMPLES = {  # comments on the rest
    "dataflex.actuator": "actuator/difffilter",
    "dataflex.mixer": "mixer/reward_gap",
    "dataflex.prompts": "prompts/none",
}
_FOLDER: dict[Role, str] = {"scorer": "scorer", "actuator": "actuator", "mixer": "mixer", "prompt selector": "prompts"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One setting: default as YAML, what is expected of it, and what it does."""

    key: str
    default: str
    expected: str
    help: str


def commented(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (dotted key, value as written, the comment above it) for each line of a YAML file that sets a key.

    A block has the value "". A key right below another one shares its comment. Lists are passed over.
    """
    above: list[str] = []
    last: tuple[int, str] = (-1, "")  # indent and comment of the line before, where that set a key to a value
    path: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = _LINE.match(line)
        if line.lstrip().startswith("#"):
            above.append(line.strip().lstrip("# "))
        elif found:
            indent = len(found[1])
            path = [*(one for one in path if one[0] < indent), (indent, found[2])]
            comment = " ".join(above) or (last[1] if last[0] == indent else "")
            yield ".".join(name for _, name in path), found[3] or "", comment
            above, last = [], (indent if found[3] else -1, comment)
        else:  # a list's item, or an empty line: the comment was not about a key
            above, last = [], (-1, "")


def run_settings() -> list[Row]:
    """Return the settings of `conf/run.yaml`, then what the parts of a policy take besides their own parameters."""
    rows = [
        _row(key, value, comment)
        for key, value, comment in commented(_conf("run"))
        if value and not key.startswith(("defaults", "hydra"))
    ]
    for block, file in _EXAMPLES.items():
        shown = {f"{block}.{key}": comment for key, _, comment in commented(_conf(file))}
        rows += [
            _row(key, as_yaml(setting.default), shown.get(key, ""))
            for key, setting in SETTINGS.items()
            if key.startswith(f"{block}.")
        ]
    return rows


def launcher_settings() -> list[Row]:
    """Return the settings of a sweep's launcher."""
    return [
        _row(key, as_yaml(setting.default), setting.help)
        for key, setting in SETTINGS.items()
        if key.startswith(("ray.", "launcher."))
    ]


def component_settings() -> list[Row]:
    """Return the parameters of every registered component, as `actuator=difffilter low`."""
    rows = []
    for part in describe():
        role = ROLES[part["kind"]]
        folder = _FOLDER[role]
        file = shipped("conf") / folder / f"{part['name']}.yaml"
        lines = commented(file.read_text(encoding="utf-8")) if file.is_file() else iter(())
        comments = {key: comment for key, _, comment in lines}
        hints = get_type_hints(lookup(role, part["name"]).cls)
        for name, value in part["defaults"].items():
            default = "(required)" if value is dataclasses.MISSING else as_yaml(value)
            shown = comments.get(f"params.{name}", "")
            kind = words(hints[name])
            rows.append(Row(key=f"{folder}={part['name']} {name}", default=default, expected=kind, help=shown))
    return rows


def as_yaml(value: Any) -> str:
    """Return a value as one would write it in a YAML file."""
    return str(yaml.safe_dump(value, default_flow_style=True, width=1000)).removesuffix("...\n").strip()


def page() -> str:
    """Return the reference as Markdown."""
    intro = (
        "# Configuration\n\n"
        "Written by `scripts/gen_config_docs.py` from the schema (`dataflex_rl/components/settings.py`) and the "
        "comments in `conf/`.\nAny key of verl can be set besides; `dataflex-rl list --settings` prints the same.\n"
    )
    sections = [
        ("A run", "`python -m dataflex_rl.run KEY=VALUE ...`, or `conf/run.yaml`.", run_settings()),
        ("Parameters of components", "`dataflex.actuator.params.low=0.1`, and so on.", component_settings()),
        ("The launcher of a sweep", "On the command line of a sweep, or in its file.", launcher_settings()),
    ]
    return "\n".join([intro, *(f"## {title}\n\n{text}\n\n{_table(rows)}" for title, text, rows in sections)])


def _row(key: str, default: str, comment: str) -> Row:
    setting = SETTINGS.get(key)
    expected = kind_of(key, yaml.safe_load(default)) if setting is None else setting.expected
    if setting is not None and setting.null and "null" not in expected:
        expected += ", or null"
    return Row(key=key, default=default, expected=expected, help=comment or (setting.help if setting else ""))


def _table(rows: list[Row]) -> str:
    lines = ["| setting | default | expected | what it does |", "|---|---|---|---|"]
    for row in rows:
        cells = [f"`{row.key}`", f"`{row.default}`", row.expected, row.help]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _conf(name: str) -> str:
    return (shipped("conf") / f"{name}.yaml").read_text(encoding="utf-8")
