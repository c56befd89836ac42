"""The launcher's settings: `ray.address=...` and `launcher.*=...`, in a sweep file or on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import yaml

from dataflex_rl.components.settings import SETTINGS, Setting
from dataflex_rl.errors import ConfigError, unknown

_PREFIX = "launcher."


def _setting(name: str) -> Setting:
    return SETTINGS["ray.address" if name == "address" else f"{_PREFIX}{name}"]


def _default(name: str) -> Any:
    return _setting(name).default


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """How runs are started.

    The launcher's settings in `components.settings`, where each says what it does; `address` is `ray.address`.
    """

    address: str | None = _default("address")
    max_concurrent: int | None = _default("max_concurrent")
    cpus: float | None = _default("cpus")
    gpus: float | None = _default("gpus")
    timeout: float | None = _default("timeout")
    retries: int = _default("retries")
    lost_retries: int = _default("lost_retries")
    backoff: float = _default("backoff")
    fail_fast: bool = _default("fail_fast")
    patience: float = _default("patience")

    def __post_init__(self) -> None:
        for field in fields(self):
            _setting(field.name).check(getattr(self, field.name))


def options_of(settings: Mapping[str, Any]) -> LaunchOptions:
    """Return the options of settings by name; ConfigError for an unknown one, listing the known."""
    known = [field.name for field in fields(LaunchOptions)]
    for name in settings:
        if name not in known:
            raise unknown("launcher setting", name, known)
    return LaunchOptions(**settings)


def split_settings(arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return (the launcher's settings among command line arguments, the other arguments)."""
    settings: dict[str, Any] = {}
    rest = []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if equals and key == "ray.address":
            settings["address"] = None if text in ("", "null") else text
        elif equals and key.startswith(_PREFIX):
            settings[key.removeprefix(_PREFIX)] = _value(argument, text)
        else:
            rest.append(argument)
    return settings, rest


def _value(argument: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"{argument}: cannot be read as a value") from None
