"""The name of a run's method: one of the study's 13 where scorer, actuator and mixer are those, else what they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError

GROUPS = ("scorer", "actuator", "mixer")


@cache
def methods() -> dict[tuple[str, str, str], str]:
    """Return {(scorer, actuator, mixer): method}, read from `conf/method/`."""
    found = {}
    for path in sorted((shipped("conf") / "method").glob("*.yaml")):
        choices: dict[str, str] = {}
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")).get("defaults", []):
            choices |= {key.removeprefix("override /"): value for key, value in entry.items()}
        found[choices["scorer"], choices["actuator"], choices["mixer"]] = path.stem
    return found


def method_name(block: Mapping[str, Any]) -> str:
    """Return the method's name for a resolved `dataflex` block.

    `scorer=group_solve actuator=difffilter` is `difffilter`; a pair without a name of its own is `scorer-actuator`, a
    mixer is appended with `+`, a shadow run ends in `-shadow`.
    """
    names = {group: (block.get(group) or {}).get("name") or "none" for group in GROUPS}
    suffix = "-shadow" if block.get("shadow") else ""
    if block.get("chain"):
        links = [link["actuator"]["name"] for link in block["chain"]]
        return "chain-" + "-".join(links) + ("" if names["mixer"] == "none" else f"+{names['mixer']}") + suffix
    known = methods().get((names["scorer"], names["actuator"], names["mixer"]))
    if known:
        return known + suffix
    without = methods().get((names["scorer"], names["actuator"], "none"))
    base = without or f"{names['scorer']}-{names['actuator']}"
    return base + ("" if names["mixer"] == "none" else f"+{names['mixer']}") + suffix


def check_name(kind: str, name: object) -> str:
    """Return a name that may stand in a record's path.

    Raises:
        ConfigError: empty, or with a slash or another character that a folder name should not have.
    """
    text = str(name)
    if not text or text.startswith(".") or any(not (c.isalnum() or c in "._+-") for c in text):
        raise ConfigError(f"{kind}={name!r}: wanted letters, digits and . _ + - (it names a folder of the record)")
    return text
