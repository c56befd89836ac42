"""The name of a run's method: one of the study's 13 where scorer, actuator and mixer are those, else what they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError

GROUPS = ("scorer", "actuator", "mixer", "prompts")


@cache
def methods() -> dict[tuple[str, ...], str]:
    """Return {(scorer, actuator, mixer): method} of the study's methods, read from `conf/method/`."""
    found: dict[tuple[str, ...], str] = {}
    for path in sorted((shipped("conf") / "method").glob("*.yaml")):
        choices: dict[str, str] = {}
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")).get("defaults", []):
            choices |= {key.removeprefix("override /"): value for key, value in entry.items()}
        found[choices["scorer"], choices["actuator"], choices["mixer"]] = path.stem
    return found


def method_name(block: Mapping[str, Any]) -> str:
    """Return the method's name for a resolved `dataflex` block.

    `scorer=group_solve actuator=difffilter` is `difffilter`; a pair without a name of its own is `scorer-actuator`. A
    mixer, a prompt selector, a budget and a backfill beside others are appended with `+`; a shadow run ends in
    `-shadow`.
    """
    names = {group: (block.get(group) or {}).get("name") or "none" for group in GROUPS}
    pair = (names["scorer"], names["actuator"])
    if block.get("chain"):
        known, base = None, "chain-" + "-".join(link["actuator"]["name"] for link in block["chain"])
    else:
        known = methods().get((*pair, names["mixer"]))
        base = known or methods().get((*pair, "none")) or "-".join(pair)
    mixer = [] if known or names["mixer"] == "none" else [names["mixer"]]
    selector = selection(block)
    parts = selector if selector and base == "uniform" and not mixer else [base, *mixer, *selector]
    return "+".join(parts) + ("-shadow" if block.get("shadow") else "")


def selection(block: Mapping[str, Any]) -> list[str]:
    """Return the names of what decides before and while a run generates: prompt selector, budget, backfill."""
    names = [(block.get(part) or {}).get("name") or "none" for part in ("prompts", "budget")]
    names += ["backfill" if (block.get("backfill") or {}).get("enabled") else "none"]
    return [name for name in names if name != "none"]


def check_name(kind: str, name: object) -> str:
    """Return a name that may stand in a record's path.

    Raises:
        ConfigError: empty, or with a slash or another character that a folder name should not have.
    """
    text = str(name)
    if not text or text.startswith(".") or any(not (c.isalnum() or c in "._+-") for c in text):
        raise ConfigError(f"{kind}={name!r}: expected letters, digits and . _ + - (it names a folder of the record)")
    return text
