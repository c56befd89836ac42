"""A block as the public plugin writes it, brought to our names, and the mixer's part taken out."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

from dataflex_rl.components.registry import lookup, names
from dataflex_rl.components.settings import block_defaults
from dataflex_rl.errors import ConfigError, unknown

logger = logging.getLogger("dataflex_rl")

ALIASES = {
    "scorer": {"reward_difficulty": "reward", "group_solve_rate": "group_solve"},
    "actuator": {
        "threshold_band": "difffilter",
        "topk_fraction": "topk",
        "max_variance": "maxvar",
        "difficulty_band": "diffband",
        "advantage_reweight": "ar",
        "per_advantage": "per",
    },
}
ALIAS_DEFAULTS: dict[str, dict[str, Any]] = {"threshold_band": {"low": 0.0, "high": 1.0}}
MIXERS = ("static", "reward_gap", "dump_ucb", "tscl")
MIXER_DEFAULTS: dict[str, Any] = block_defaults("dataflex.mixer")
MECHANISMS = ("reweight", "select", "mix")
_TOP_MIXER_KEYS = ("domains", "domain_key", "window", "update_step")
_TOP_KEYS = (
    "scorer", "actuator", "chain", "mixer", "warmup_step", "shadow", "trace", "mechanism", "weight_kl",
    "group_estimator", "prompts",
)  # fmt: skip


def canonical(role: str, part: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return (our name, parameters) of a {name, params} mapping; an alias brings its defaults and is logged once."""
    name, params = part["name"], part.get("params")
    if not isinstance(name, str):
        raise ConfigError(f"{role}: name must be a string, got {name!r}")
    if params is not None and not isinstance(params, Mapping):
        raise ConfigError(f"{role} {name!r}: params must be a mapping, got {params!r}")
    ours = ALIASES.get(role, {}).get(name, name)
    if ours != name:
        _say_alias(role, name, ours)
    return ours, {**ALIAS_DEFAULTS.get(name, {}), **(params or {})}


def split_block(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the `dataflex` block into (policy block, mixer block), with the public plugin's spellings resolved.

    `mechanism` is checked against the actuator's kind. A mixer that stands in `actuator` moves to the mixer block and
    takes the scorer, `domains`, `domain_key`, `window`, `warmup_step` and `update_step` of the top with it. The mixer
    block comes back with every default filled in; its values are checked where mixers are built.

    Raises:
        ConfigError: unknown key or mechanism, a mechanism that does not fit the actuator, two mixers, or a prompt
            selector: who can draw by one takes it out first (`dataflex_rl.feed.blocks.take_feed`).
    """
    if not isinstance(block, Mapping):
        raise ConfigError(f"dataflex must be a mapping, got {block!r}")
    policy = copy.deepcopy(dict(block))
    for key in policy:
        if key not in _TOP_KEYS + _TOP_MIXER_KEYS:
            raise ConfigError(f"dataflex has no key {key!r}; known: {', '.join(_TOP_KEYS)}")
    _check_prompts(policy.pop("prompts", None))
    mixer = _shape(policy.pop("mixer", None))
    mechanism = policy.pop("mechanism", None)
    top = {key: policy.pop(key) for key in _TOP_MIXER_KEYS if key in policy}
    in_actuator = _part_name(policy.get("actuator")) in _mixer_names()
    mixes = in_actuator or mechanism == "mix"
    if top and not mixes and mechanism is None:
        key = next(iter(top))
        raise ConfigError(f"dataflex.{key} belongs to the mixer: write dataflex.mixer.{key}, or set mechanism: mix")
    if in_actuator:
        _move_actuator(policy, mixer)
    if mixes and (warmup := policy.pop("warmup_step", None)) is not None and (warmup or "warmup_step" not in mixer):
        top["warmup_step"] = warmup  # the suite's block always has the policy's own default, 0
    _check_mechanism(mechanism, policy, mixer)
    for key, value in top.items():
        if mixer.get(key, value) not in (value, MIXER_DEFAULTS[key]):
            raise ConfigError(f"dataflex.{key}={value!r} and dataflex.mixer.{key}={mixer[key]!r} disagree; keep one")
        mixer[key] = value
    return policy, {**MIXER_DEFAULTS, **mixer}


def _check_prompts(prompts: object) -> None:
    """Refuse a prompt selector where nothing would draw by it."""
    name = _part_name(prompts)
    if name is not None:
        raise ConfigError(
            f"prompt selector {name!r} would do nothing: it chooses prompts before they are generated, and nothing "
            "here draws by it; set dataflex.prompts.name to none, or use dataflex_rl.replay_prompts"
        )


def _move_actuator(policy: dict[str, Any], mixer: dict[str, Any]) -> None:
    """Make the mixer that stands in `actuator` the mixer of the block."""
    actuator, scorer = policy.pop("actuator"), _mixer_scorer("scorer", policy.pop("scorer", None))
    if mixer.get("name", "none") != "none":
        raise ConfigError(f"actuator {actuator['name']!r} is a mixer, but mixer {mixer['name']!r} is set too; keep one")
    for key in set(actuator) - {"name", "params"}:
        if actuator[key] not in (None, "none", "zero"):
            raise ConfigError(f"mixer {actuator['name']!r} in dataflex.actuator cannot have {key}={actuator[key]!r}")
    mixer.update(name=actuator["name"], params=dict(actuator.get("params") or {}))
    if scorer is not None:
        mixer["scorer"] = scorer


def _check_mechanism(mechanism: object, policy: Mapping[str, Any], mixer: Mapping[str, Any]) -> None:
    if mechanism is None:
        return
    if mechanism not in MECHANISMS:
        raise ConfigError(f"unknown mechanism {mechanism!r}; known: {', '.join(MECHANISMS)}")
    if policy.get("chain") is not None:
        raise ConfigError(f"mechanism {mechanism!r} describes one actuator, but dataflex.chain is set; leave it out")
    name = _part_name(policy.get("actuator"))
    if mechanism == "mix":
        if name is not None or mixer.get("name", "none") == "none":
            raise ConfigError(f"mechanism 'mix' needs a mixer ({', '.join(_mixer_names())}), got actuator {name!r}")
        return
    ours = canonical("actuator", policy["actuator"])[0] if name is not None else None
    kind = lookup("actuator", ours).kind if ours is not None else "mix" if mixer.get("name") else "uniform"
    if kind != mechanism:
        fits = [known for known in names("actuator") if lookup("actuator", known).kind == mechanism]
        raise ConfigError(
            f"mechanism {mechanism!r} does not fit actuator {name or mixer.get('name', 'none')!r} ({kind}); "
            f"use one of {', '.join(fits)}"
        )


def _shape(mixer: object) -> dict[str, Any]:
    """Check the mixer block's keys and name."""
    if mixer is None:
        return {}
    if not isinstance(mixer, Mapping):
        raise ConfigError(f"dataflex.mixer must be a mapping, got {mixer!r}")
    for key in mixer:
        if key not in MIXER_DEFAULTS:
            raise ConfigError(f"dataflex.mixer has no key {key!r}; known: {', '.join(MIXER_DEFAULTS)}")
    name = mixer.get("name") or "none"
    if name != "none" and name not in _mixer_names():
        raise unknown("mixer", name, ["none", *_mixer_names()])
    if name == "none" and mixer.get("params"):
        raise ConfigError(f"mixer is none, but parameters are given: {', '.join(mixer['params'])}")
    shaped = {**mixer, "name": name, "params": mixer.get("params") or {}}
    if mixer.get("scorer") is not None:
        shaped["scorer"] = _mixer_scorer("dataflex.mixer.scorer", mixer["scorer"])
    return shaped


def _mixer_scorer(where: str, scorer: object) -> dict[str, Any] | None:
    """Return a mixer's scorer as {name, params} of ours, None for none; a misspelt one must not count as none."""
    if scorer is None:
        return None
    if not isinstance(scorer, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {scorer!r}")
    for key in scorer:
        if key not in ("name", "params"):
            raise ConfigError(f"{where} has no key {key!r}; known: name, params")
    if _part_name(scorer) is None:
        if scorer.get("params"):
            raise ConfigError(f"{where} is none, but parameters are given: {', '.join(scorer['params'])}")
        return None
    name, params = canonical("scorer", scorer)
    return {"name": name, "params": params}


def _mixer_names() -> list[str]:
    """The study's four and what is registered besides."""
    return sorted({*MIXERS, *names("mixer")})


def _part_name(part: object) -> str | None:
    name = part.get("name") if isinstance(part, Mapping) else None
    return None if name in (None, "none") else str(name)


@cache
def _say_alias(role: str, name: str, ours: str) -> None:
    logger.info("%s %r is our %r", role, name, ours)
