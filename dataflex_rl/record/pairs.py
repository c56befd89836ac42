"""What two runs must have in common to be compared: all of their configurations but the method.

This is the one definition: the run writes its digest into the manifest when it starts, and the launcher, both audits
and the analysis read it. Runs whose digests are equal differ in nothing but METHOD_KEYS, where a record lies and how it
is carried out. Where digests differ, or a record is older than the digest, the two config.yaml name the keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataflex_rl.record.config import ABSENT, config_hash, relevant, switched_off
from dataflex_rl.record.identity import VOLATILE

METHOD = (
    "dataflex.scorer", "dataflex.actuator", "dataflex.mixer", "dataflex.chain", "dataflex.prompts", "dataflex.budget",
    "dataflex.backfill",
)  # fmt: skip
MODE = "trainer.v1.trainer_mode"
OUR_MODES = ("dataflex_sync", "dataflex_mix_sync")  # a mixer may need the second; any other mode is no method's
_TRACE = "actor_rollout_ref.rollout.trace"
METHOD_KEYS = (*METHOD, MODE, "method_name", f"{_TRACE}.project_name", f"{_TRACE}.experiment_name")
CARRIED_OUT = ("ray_kwargs", "transfer_queue", "dataflex.trace")  # what is trained is the same
FIELD = "comparability"  # the key of the manifest
_CACHED = re.compile(r"/.*/([\w.+-]+-[0-9a-f]{16}(?:/[\w.-]+)*)")  # an entry of a cache is named by its content

# kind of run -> the control it is compared with
CONTROLS = {"policy": "uniform", "mixer": "static", "prompts": "uniform"}


def acts(component: str | None) -> bool:
    """Say whether a component's name, as a manifest or a plan has it, is one that does something."""
    return component not in (None, "none")


def kind_of(actuator: str | None, mixer: str | None, prompts: str | None = None) -> str | None:
    """Return what a run does to its data, from the names of its components: a key of CONTROLS; None for uniform.

    A run that weighs, whatever else it does, is a policy; of the others one that mixes is a mixer (static is one); one
    that only selects prompts before they are generated is "prompts".
    """
    parts = {"policy": actuator, "mixer": mixer, "prompts": prompts}
    return next((kind for kind, name in parts.items() if acts(name)), None)


def conditions(config: Mapping[str, Any], method_keys: Sequence[str] = METHOD_KEYS) -> dict[str, Any]:
    """Return {dotted key: value} of everything in a resolved configuration that two compared runs must share.

    A path inside a cache counts without where the cache lies. `method_keys`: what a method may set.
    """
    method = [key for key in method_keys if key != MODE]
    place = [key for key in VOLATILE if key != "host.env"]  # what the host is told may change what it computes
    ignored = (*method, *place, *CARRIED_OUT, *switched_off(config))
    found = {key: _placeless(value) for key, value in relevant(config, ignored).items()}
    if found.get(MODE) in OUR_MODES:
        del found[MODE]
    return found


def comparability(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest's entry: {"digest": 16 hex over the conditions, "method_keys": what a method may set}."""
    return {"digest": config_hash(conditions(config)), "method_keys": list(METHOD_KEYS)}


def is_written_with(entry: Any, config: Mapping[str, Any]) -> bool:
    """Say whether a manifest's entry is of this configuration, by the method keys of the time it was written."""
    keys = entry.get("method_keys") if isinstance(entry, Mapping) else None
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return False
    return bool(entry.get("digest") == config_hash(conditions(config, keys)))


def method_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {dotted key: value} of what the method sets."""
    return {key: value for key, value in relevant(config, switched_off(config)).items() if is_allowed(key, METHOD)}


def _placeless(value: Any) -> Any:
    found = _CACHED.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else value


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a record says of its conditions: the manifest's entry, and how to read the configuration (None: not there).

    The configuration is asked for only where the digests do not settle the question.
    """

    entry: Mapping[str, Any] | None
    config: Callable[[], Mapping[str, Any] | None]


def differences(one: Terms, other: Terms) -> dict[str, tuple[Any, Any]] | None:
    """Return {dotted key: (value, value)} of the conditions that differ; None where a record does not tell.

    Where digests differ and a configuration is not there to name the keys, the key is FIELD and the values are the
    digests.
    """
    entries = (one.entry, other.entry)
    if all(entries) and entries[0] == entries[1]:
        return {}
    configs = (one.config(), other.config())
    if configs[0] is None or configs[1] is None:
        digests = [entry.get("digest") if entry else None for entry in entries]
        if not all(digests):
            return None
        return {} if digests[0] == digests[1] else {FIELD: (digests[0], digests[1])}
    return differing(conditions(configs[0]), conditions(configs[1]))


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return {key: (value, value)} of the keys in which two sets of conditions differ, ABSENT where one has none."""
    pairs = {key: (one.get(key, ABSENT), other.get(key, ABSENT)) for key in sorted(one.keys() | other.keys())}
    return {key: pair for key, pair in pairs.items() if json.dumps(pair[0]) != json.dumps(pair[1])}


def is_allowed(key: str, allowed: Sequence[str]) -> bool:
    """Say whether a user has named a key, or one above it, as a difference to go on with."""
    return any(key == name or key.startswith(f"{name}.") for name in allowed)
