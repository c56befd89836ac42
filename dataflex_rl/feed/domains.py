"""Which domains a run mixes: all of the data, some of them, or groups of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DomainMap:
    """`names`: the mixed domains, in order. `index_of`: index of a name in the data; names left out are not in it."""

    names: tuple[str, ...]
    index_of: Mapping[str, int]

    def index(self, name: str) -> int:
        """Index of a domain of the data, -1 for one that is left out."""
        return self.index_of.get(name, -1)


def resolve_domains(setting: Any, found: Iterable[str]) -> DomainMap:
    """Return the domains to mix.

    Args:
        setting: `dataflex.mixer.domains`: null, a list of names, or a mapping {new name: [names in the data]}.
        found: names in the data.

    Raises:
        ConfigError: an unknown or repeated name, nothing left, or something that is no such setting.
    """
    known = sorted(set(found))
    groups = _groups(setting, known)
    index_of: dict[str, int] = {}
    for index, (new, olds) in enumerate(groups.items()):
        for old in olds:
            if old not in known:
                raise ConfigError(f"dataflex.mixer.domains: unknown domain {old!r}; the data has {', '.join(known)}")
            if old in index_of:
                raise ConfigError(f"dataflex.mixer.domains: {old!r} stands twice; expected each domain in one place")
            index_of[old] = index
        if not olds:
            raise ConfigError(f"dataflex.mixer.domains: the group {new!r} is empty; the data has {', '.join(known)}")
    return DomainMap(names=tuple(groups), index_of=index_of)


def check_several(mixer: str, domains: Sequence[str]) -> None:
    """Refuse to mix fewer than two domains."""
    if len(domains) < 2:
        raise ConfigError(
            f"mixer {mixer!r} needs two or more domains, got {', '.join(domains) or 'none'}; "
            "see dataflex.mixer.domain_key and dataflex.mixer.domains, or set the mixer to none"
        )


def _groups(setting: Any, known: list[str]) -> dict[str, list[str]]:
    expected = "null, a list of domain names, or a mapping {new name: [domain names]}"
    if setting is None:
        return {name: [name] for name in known}
    if isinstance(setting, Mapping):
        return {str(new): _names(f"dataflex.mixer.domains.{new}", olds, expected) for new, olds in setting.items()}
    names = _names("dataflex.mixer.domains", setting, expected)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"dataflex.mixer.domains: {twice[0]!r} stands twice; expected each domain in one place")
    if not names:
        raise ConfigError(f"dataflex.mixer.domains is empty; expected {expected}")
    return {name: [name] for name in names}


def _names(where: str, value: Any, expected: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f"{where} must be {expected}, got {value!r}")
    return list(value)
