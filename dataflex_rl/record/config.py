"""config.yaml: the resolved configuration, its hash, and the difference of two.

Some keys do not change what is trained (paths, Ray's folders, loggers): callers name them, dotted, and they and all
below them count neither for the hash nor for a difference.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from dataflex_rl.record.files import RecordError, read_bytes, write_text
from dataflex_rl.record.paths import RunRecord

_WORDS = re.compile(r"[A-Za-z_/](?:[\w./ -]*[\w./-])?", re.ASCII)
_TEXT_TAG = "tag:yaml.org,2002:str"
# blocks that came after the first records -> the key that switches each off, and its value then: a record without the
# block is as one that has it switched off
SWITCHED_OFF: Mapping[str, tuple[str, Any]] = {
    "dataflex.prompts": ("name", "none"), "dataflex.budget": ("name", "none"), "dataflex.backfill": ("enabled", False),
    "stop_at": ("tokens", None),
}  # fmt: skip
ABSENT = "(absent)"  # what config_diff shows for a key that one side does not have


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one where there is one


class _Dumper(yaml.SafeDumper):
    """Writes words as they are and every other text in double quotes, so that it comes back as it was."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value that occurs twice twice, without anchors."""
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    """Return the node of a text: plain where no YAML reader can take it for anything else."""
    plain = _WORDS.fullmatch(text) and dumper.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT_TAG
    return dumper.represent_scalar(_TEXT_TAG, text, style=None if plain else '"')


_Dumper.add_representer(str, _represent_text)


def write_config(record: RunRecord, config: Mapping[str, Any]) -> None:
    """Write the resolved configuration (plain dicts and lists) as config.yaml."""
    write_text(record.config, yaml.dump(dict(config), Dumper=_Dumper, sort_keys=False, width=2**31))


def read_config(record: RunRecord) -> dict[str, Any] | None:
    """Return the configuration of a record, equal to what was written; None if there is none, RecordError if broken."""
    content = read_bytes(record.config)
    if content is None:
        return None
    try:
        value = yaml.load(content.decode("utf-8"), Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RecordError(
            f"run record: {record.config} is no configuration ({' '.join(str(error).split())})"
        ) from error
    if not isinstance(value, dict):
        raise RecordError(f"run record: {record.config} holds a {type(value).__name__}, expected keys")
    return value


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return {dotted key: value}; lists and empty dicts are values."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            plain = value is None or isinstance(value, str | int | float)
            flat[f"{prefix}{key}"] = value if plain else json.loads(json.dumps(value, default=str))
    return flat


def relevant(config: Mapping[str, Any], ignored: Sequence[str] = ()) -> dict[str, Any]:
    """Return the flattened configuration without the ignored keys and all below them."""
    return {
        key: value
        for key, value in flatten(config).items()
        if not any(key == name or key.startswith(f"{name}.") for name in ignored)
    }


def switched_off(config: Mapping[str, Any]) -> list[str]:
    """Return the blocks of `SWITCHED_OFF` that a configuration has, switched off."""
    flat = relevant(config)
    return [block for block, (key, off) in SWITCHED_OFF.items() if flat.get(f"{block}.{key}", ABSENT) == off]


def is_absent(config: Mapping[str, Any], block: str) -> bool:
    """Say whether a configuration has nothing of a block."""
    return not any(key == block or key.startswith(f"{block}.") for key in relevant(config))


def config_hash(config: Mapping[str, Any], ignored: Sequence[str] = ()) -> str:
    """Return 16 hex digits over a configuration; the order of keys does not matter."""
    text = json.dumps(relevant(config, ignored), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8, person=b"dataflex_rl.cfg").hexdigest()


def config_diff(
    old: Mapping[str, Any], new: Mapping[str, Any], ignored: Sequence[str] = ()
) -> list[tuple[str, Any, Any]]:
    """Return (dotted key, old value, new value) for every key that differs, sorted; ABSENT where one side has none."""
    before, after = relevant(old, ignored), relevant(new, ignored)
    return [
        (key, before.get(key, ABSENT), after.get(key, ABSENT))
        for key in sorted(before.keys() | after.keys())
        if json.dumps(before.get(key, ABSENT)) != json.dumps(after.get(key, ABSENT))
    ]


def describe_diff(diff: Sequence[tuple[str, Any, Any]], limit: int = 5) -> str:
    """Return a difference on one line: `a.b: 1 -> 2; c: (absent) -> 3; and 4 more`."""
    parts = [f"{key}: {old} -> {new}" for key, old, new in diff[:limit]]
    if len(diff) > limit:
        parts.append(f"and {len(diff) - limit} more")
    return "; ".join(parts)
