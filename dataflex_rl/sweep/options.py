"""The launcher's settings: `ray.address=...` and `launcher.*=...`, in a sweep file or on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import yaml

from dataflex_rl.errors import ConfigError, unknown

_PREFIX = "launcher."
_OPTIONAL = ("max_concurrent", "cpus", "gpus", "timeout")


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """How runs are started.

    Args:
        address: an existing Ray cluster; None: a local instance for this sweep alone.
        max_concurrent: most runs at once; None: as many as the cluster holds.
        cpus: CPUs that a run asks Ray for; None: 2 without GPUs, 4 per GPU.
        gpus: GPUs that a run asks Ray for; None: what its host says.
        timeout: a run that takes longer is ended and counts as failed; None: no bound. [s]
        retries: further attempts at a run that failed.
        lost_retries: further attempts at a run whose machine vanished, or whose record another process holds.
        backoff: wait before the first retry, doubled with each further one up to ten minutes. [s]
        fail_fast: end the sweep with the first run that has failed for good.
        patience: what a run gets to end in order before it is killed. [s]
    """

    address: str | None = None
    max_concurrent: int | None = None
    cpus: float | None = None
    gpus: float | None = None
    timeout: float | None = None
    retries: int = 2
    lost_retries: int = 10
    backoff: float = 10.0
    fail_fast: bool = False
    patience: float = 10.0

    def __post_init__(self) -> None:
        for name in ("max_concurrent", "retries", "lost_retries"):
            self._check(name, int, "an integer", 1 if name == "max_concurrent" else 0)
        for name in ("cpus", "gpus", "timeout", "backoff", "patience"):
            self._check(name, (int, float), "a number", 0)
        if self.address is not None and not isinstance(self.address, str):
            raise ConfigError(f"ray.address={self.address!r}: wanted the address of a Ray cluster, or null")
        if self.timeout == 0:
            raise ConfigError(f"{_PREFIX}timeout=0: wanted more than 0 [s], or null for no bound")
        if not isinstance(self.fail_fast, bool):
            raise ConfigError(f"{_PREFIX}fail_fast={self.fail_fast!r}: wanted true or false")

    def _check(self, name: str, kind: type[int] | tuple[type[int], type[float]], wanted: str, least: int) -> None:
        value = getattr(self, name)
        if value is None and name in _OPTIONAL:
            return
        if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < math.inf:
            raise ConfigError(f"{_PREFIX}{name}={value!r}: wanted {wanted} >= {least}")


def knobs_of(settings: Mapping[str, Any]) -> Knobs:
    """Return the knobs of settings by name; ConfigError for an unknown one, listing the known."""
    known = [field.name for field in fields(Knobs)]
    for name in settings:
        if name not in known:
            raise unknown("launcher setting", name, known)
    return Knobs(**settings)


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
