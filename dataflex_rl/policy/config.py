"""The `dataflex` block of the configuration, checked and built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflex_rl.components.registry import Spec, build, lookup, names
from dataflex_rl.components.settings import SETTINGS
from dataflex_rl.errors import ConfigError
from dataflex_rl.policy.checks import check_pair
from dataflex_rl.policy.link import Link
from dataflex_rl.policy.split import canonical

TOP_KEYS = ("scorer", "actuator", "chain", "warmup_step", "shadow", "trace", "weight_kl", "group_estimator")
ACTUATOR_KEYS = ("name", "params", "normalize", "cap", "on_empty")
_ON_EMPTY = SETTINGS["dataflex.actuator.on_empty"]


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """A policy without its state: no link is `uniform`, one is a selector or reweighter, `chained` a list of them."""

    links: tuple[Link, ...]
    chained: bool
    warmup_step: int
    shadow: bool
    trace: bool
    group_estimator: bool | None


def parse(block: Mapping[str, Any]) -> PolicyConfig:
    """Check a block whose mixer part was taken out (see `split_block`) and build its components.

    Raises:
        ConfigError: unknown key, name or parameter, wrong type, value out of range, or a pair that does not fit.
    """
    only_keys("dataflex", block, TOP_KEYS)
    if _setting(block, "weight_kl"):
        raise ConfigError(
            "dataflex.weight_kl=true cannot be honoured: verl applies rollout_is_weights to the policy loss only, not "
            "to its KL and entropy terms; set weight_kl: false"
        )
    chain = block.get("chain")
    if chain is None:
        links = _single(block)
    elif isinstance(chain, (list, tuple)) and chain:
        if _name(block.get("scorer"), "scorer") or _name(block.get("actuator"), "actuator"):
            raise ConfigError("dataflex.chain is set, so dataflex.scorer and dataflex.actuator must be none")
        links = tuple(_chain_item(index, item) for index, item in enumerate(chain))
    else:
        raise SETTINGS["dataflex.chain"].refusal(chain)
    return PolicyConfig(
        links=links,
        chained=chain is not None,
        **{name: _setting(block, name) for name in ("warmup_step", "shadow", "trace", "group_estimator")},
    )


def only_keys(where: str, block: object, known: tuple[str, ...]) -> None:
    """Refuse what is not a mapping, or has a key that is not known."""
    if not isinstance(block, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {block!r}")
    for key in block:
        if key not in known:
            raise ConfigError(f"{where} has no key {key!r}; known: {', '.join(known)}")


def _single(block: Mapping[str, Any]) -> tuple[Link, ...]:
    scorer, actuator = _name(block.get("scorer"), "scorer"), _name(block.get("actuator"), "actuator")
    if scorer is None and actuator is None:
        return ()
    if actuator is None:
        lookup("scorer", str(scorer))
        raise ConfigError(
            f"scorer {scorer!r} has no actuator, so nothing would change; set dataflex.actuator.name to one of "
            f"{', '.join(names('actuator'))}, or the scorer to none"
        )
    return (_link(block.get("scorer"), block["actuator"], "dataflex"),)


def _chain_item(index: int, item: object) -> Link:
    where = f"dataflex.chain[{index}]"
    only_keys(where, item, ("scorer", "actuator"))
    assert isinstance(item, Mapping)
    if _name(item.get("actuator"), f"{where}.actuator") is None:
        raise ConfigError(f"{where} has no actuator; use one of {', '.join(names('actuator'))}")
    return _link(item.get("scorer"), item["actuator"], where)


def _link(scorer: Any, actuator: Any, where: str) -> Link:
    actuator_name, params = canonical("actuator", actuator)
    spec = lookup("actuator", actuator_name)
    if _name(scorer, "scorer") is None:
        fits = [name for name in names("scorer") if lookup("scorer", name).granularity[0] in spec.granularity]
        raise ConfigError(f"{where}: actuator {actuator_name!r} needs a scorer; use one of {', '.join(fits)}")
    scorer_name, scorer_params = canonical("scorer", scorer)
    scorer_spec = lookup("scorer", scorer_name)
    check_pair(scorer_spec, spec)
    return Link(
        scorer=build("scorer", scorer_name, scorer_params),
        scorer_spec=scorer_spec,
        actuator=build("actuator", actuator_name, params),
        actuator_spec=spec,
        normalize=_normalize(spec, actuator.get("normalize")),
        cap=SETTINGS["dataflex.actuator.cap"].check(actuator.get("cap"), where=f"actuator {spec.name!r}: cap"),
        on_empty=_choice(spec, "on_empty", actuator.get("on_empty") or _ON_EMPTY.default, _ON_EMPTY.choices),
    )


def _name(part: object, where: str) -> str | None:
    """Name in a {name, params} mapping; None for null, 'none' or no name. Parameters without a name are an error."""
    if part is None:
        return None
    only_keys(where, part, ACTUATOR_KEYS if where.endswith("actuator") else ("name", "params"))
    assert isinstance(part, Mapping)
    name = part.get("name")
    if name is None or name == "none":
        if part.get("params"):
            raise ConfigError(f"{where} is none, but parameters are given: {', '.join(part['params'])}")
        return None
    if not isinstance(name, str):
        raise ConfigError(f"{where}.name must be a string, got {name!r}")
    return name


def _normalize(spec: Spec, value: object) -> str:
    if spec.kind == "select":
        return _choice(spec, "normalize", "none" if value is None else value, ("none", "kept"))
    default = "token" if spec.granularity == ("token",) else "response"
    return _choice(spec, "normalize", default if value is None else value, ("response", "token"))


def _choice(spec: Spec, key: str, value: object, choices: tuple[str, ...]) -> str:
    if value not in choices:
        kind = "selector" if spec.kind == "select" else "reweighter"
        raise ConfigError(f"{kind} {spec.name!r}: {key} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


def _setting(block: Mapping[str, Any], name: str) -> Any:
    """Return a setting of the block, checked; its default where it is not there."""
    setting = SETTINGS[f"dataflex.{name}"]
    return setting.check(block.get(name, setting.default))
