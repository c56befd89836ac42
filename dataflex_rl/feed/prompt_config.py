"""The block `dataflex.prompts` of the configuration, checked and built."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflex_rl.components.options import convert
from dataflex_rl.components.registry import build, lookup
from dataflex_rl.components.settings import SETTINGS, block_defaults
from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.interface import PromptSelector

PROMPT_DEFAULTS: dict[str, Any] = block_defaults("dataflex.prompts")


@dataclass(frozen=True, kw_only=True)
class PromptConfig:
    """A prompt selector without its state; `buckets`: columns that divide a domain into buckets."""

    name: str
    selector: PromptSelector
    buckets: tuple[str, ...]
    success_threshold: float

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that are read besides prompt and domain, each once."""
        return tuple(dict.fromkeys([*self.buckets, *self.selector.columns]))


def take_prompts(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a `dataflex` block into (the block without its prompts part, the prompts part, complete).

    Raises:
        ConfigError: the part is no mapping or has an unknown key.
    """
    rest = copy.deepcopy(dict(block))
    part = rest.pop("prompts", None)
    part = {} if part is None else part
    if not isinstance(part, Mapping):
        raise ConfigError(f"dataflex.prompts must be a mapping, got {part!r}")
    for key in part:
        if key not in PROMPT_DEFAULTS:
            raise ConfigError(f"dataflex.prompts has no key {key!r}; known: {', '.join(PROMPT_DEFAULTS)}")
    given = {key: value for key, value in part.items() if value is not None}
    return rest, {**copy.deepcopy(PROMPT_DEFAULTS), **given}


def parse_prompts(block: Mapping[str, Any]) -> PromptConfig:
    """Check a prompts block (what it leaves out has its default) and build its selector.

    Raises:
        ConfigError: unknown key, name or parameter, wrong type, or a value out of range.
    """
    if not isinstance(block, Mapping):
        raise ConfigError(f"dataflex.prompts must be a mapping, got {block!r}")
    whole = take_prompts({"prompts": block})[1]
    whole = {key: SETTINGS[f"dataflex.prompts.{key}"].check(value) for key, value in whole.items()}
    spec = lookup("prompt selector", whole["name"])
    selector = build("prompt selector", spec.name, whole["params"])
    if not isinstance(selector, PromptSelector):
        raise ConfigError(
            f"prompt selector {spec.name!r}: {type(selector).__name__} must be a dataflex_rl.prompts.PromptSelector"
        )
    return PromptConfig(
        name=spec.name,
        selector=selector,
        buckets=convert("dataflex.prompts.buckets", whole["buckets"], tuple[str, ...]),
        success_threshold=whole["success_threshold"],
    )
