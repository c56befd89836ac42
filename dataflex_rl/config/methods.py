"""The named methods of conf/method, read without Hydra: enough for a call outside the suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError, unknown

_GROUPS = ("scorer", "actuator", "mixer", "prompts")


def method_block(name: str) -> dict[str, Any]:
    """Return the `dataflex` block that conf/method/<name>.yaml composes to: its chosen files, then its own values.

    Raises:
        ConfigError: no such method; lists what exists.
    """
    folder = shipped("conf") / "method"
    names = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")}
    if not isinstance(name, str) or name not in names:
        raise unknown("method", name, names)
    document = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    block: dict[str, Any] = {}
    for entry in document.get("defaults", []):
        for key, choice in entry.items() if isinstance(entry, Mapping) else ():
            group = str(key).removeprefix("override ").lstrip("/")
            if group in _GROUPS:
                block[group] = {"name": "none"} if choice == "none" else _part(group, choice)
    return merged(block, document.get("dataflex", {}))


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings key by key, `over` winning."""
    out = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        out[key] = merged(out[key], value) if both else value
    return out


def _part(group: str, choice: str) -> dict[str, Any]:
    path = shipped("conf") / group / f"{choice}.yaml"
    if not path.is_file():
        raise ConfigError(f"method names {group} {choice!r}, but {path} does not exist")
    part: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return part
