"""The shares of a mixer for a recorded or made-up history, in one call and without a host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig, parse_mixer
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap, resolve_domains
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.policy.split import split_block


def replay_mixer(
    config: Mapping[str, Any], history: Sequence[Mapping[str, Mapping[str, Sequence[float]]]]
) -> list[dict[str, float]]:
    """Return the shares {domain: share} after each step of a history: those at which the next prompts are drawn.

    Args:
        config: the mixer block, {"name": "dump_ucb", "params": {...}, "domains": [...], "window": 50, ...}; what it
            leaves out has its default. `domains` null: all of the history.
        history: one {domain: {"reward": [...], "advantage": [...]}} per step, with one value per response. A domain
            may be absent from a step. Only what the mixer reads must be there: `reward`, `advantage`, or, where
            `scorer` is set, values under the scorer's name.

    Raises:
        ConfigError: the block does not fit, a domain is unknown or none named, a signal missing, ragged, NaN or Inf.
    """
    parsed = parse_mixer(split_block({"mixer": config})[1])
    if parsed is None:
        raise ConfigError("replay_mixer needs a mixer, got name 'none'")
    if isinstance(history, Mapping | str) or not isinstance(history, Sequence):
        raise ConfigError(f"history must be a list of steps, got {type(history).__name__}")
    found = [name for number, step in enumerate(history, start=1) for name in _mapping(f"history step {number}", step)]
    domains = resolve_domains(parsed.domains, [*found, *_named(parsed)])
    if not history:
        return []
    if not domains.names:
        raise ConfigError("the history names no domain, so set dataflex.mixer.domains to a list of names")
    mixer = DomainMixer(parsed, domains.names)
    shares = []
    for number, step in enumerate(history, start=1):
        mixer.observe(number, _tally(number, step, domains, parsed.statistic))
        shares.append(mixer.named(mixer.share_D.tolist()))
    return shares


def _named(config: MixerConfig) -> list[str]:
    """Domains that the block names: a history need not have them all."""
    if isinstance(config.domains, Mapping):
        return [name for names in config.domains.values() if isinstance(names, list | tuple) for name in names]
    if isinstance(config.domains, list | tuple):
        return list(config.domains)
    proportions = getattr(config.mixer, "proportions", None)
    return list(proportions) if isinstance(proportions, Mapping) else []


def _tally(number: int, step: Mapping[str, Any], domains: DomainMap, statistic: str) -> Tally:
    sums, counts = [0.0] * len(domains.names), [0] * len(domains.names)
    for name, signals in step.items():
        where = f"history step {number}, domain {name!r}"
        index = domains.index(name)
        if index < 0:
            raise ConfigError(f"{where} is unknown; known: {', '.join(domains.index_of)}")
        values = _values(where, _mapping(where, signals), statistic)
        sums[index] += math.fsum(values)
        counts[index] += len(values)
    count_D = torch.tensor(counts, dtype=torch.int64)
    return Tally(sum_D=torch.tensor(sums, dtype=torch.float64), count_D=count_D, seen_D=count_D)


def _values(where: str, signals: Mapping[str, Any], statistic: str) -> list[float]:
    """Return the values of the statistic, one per response; an advantage counts by its size."""
    if statistic not in signals:
        if not any(_numbers(where, key, column) for key, column in signals.items()):
            return []
        raise ConfigError(f"{where} lacks {statistic!r}, which this mixer reads; given: {', '.join(signals)}")
    columns = {key: _numbers(where, key, column) for key, column in signals.items()}
    if len({len(column) for column in columns.values()}) > 1:
        sizes = ", ".join(f"{key}: {len(column)}" for key, column in columns.items())
        raise ConfigError(f"{where}: expected one value per response in every signal, got {sizes}")
    return [abs(value) for value in columns[statistic]] if statistic == "advantage" else columns[statistic]


def _numbers(where: str, key: str, column: Any) -> list[float]:
    if isinstance(column, str | Mapping) or not hasattr(column, "__iter__"):
        raise ConfigError(f"{where}: {key} must be a list of numbers, got {column!r}")
    try:
        values = [float(value) for value in column]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {key} must hold numbers only ({error})") from None
    if not all(math.isfinite(value) for value in values):
        raise ConfigError(f"{where}: {key} has a NaN or Inf")
    return values


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {type(value).__name__}")
    return value
