"""What a plan names, made on the machine that runs it: the model, the data, and the rows that are trained on.

The settings of a plan name an embedded model or prepared data by name, so that they are the same on every machine; a
record has their paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig

from dataflex_rl.config.mixing import check_built
from dataflex_rl.config.plain import plain
from dataflex_rl.config.regime import ignored_keys, note_source, place_regime
from dataflex_rl.config.rows import Rows, count_rows, regime_rows
from dataflex_rl.config.sources import build_sources, check_files, place_sources, to_build
from dataflex_rl.record import RunRecord, changed
from dataflex_rl.record.identity import VOLATILE


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a run is made of here.

    settings: the resolved configuration, with paths in place of names. names: {key: name} of what stood by name.
    ignored: keys that do not tell two runs apart. rows: of each setting with data files.
    """

    settings: Mapping[str, Any]
    names: Mapping[str, str]
    ignored: tuple[str, ...]
    rows: Mapping[str, Rows]


def check_inputs(settings: Mapping[str, Any]) -> None:
    """Check that the data files of settings are there; ConfigError otherwise."""
    check_files(DictConfig(dict(settings)))


def make_inputs(settings: Mapping[str, Any], *, drawn: bool = False) -> Inputs:
    """Build what is missing, draw the regime's data unless they are `drawn`, count the rows.

    Raises:
        ConfigError: data that have to be prepared are missing, cannot be trained on, or do not fit a prompt selector.
    """
    config = DictConfig(dict(settings))
    names = to_build(config) if drawn else _placed(config)
    place_sources(config)
    build_sources(names, progress=True)
    if not drawn:
        place_regime(config)
        check_built(plain(config))
    rows = regime_rows(config, count_rows(config, fetch=True))
    return Inputs(settings=plain(config), names=names, ignored=_ignored(config, names), rows=rows)


def other_configuration(record: RunRecord, settings: Mapping[str, Any]) -> str:
    """Return how the record of a plan's settings was written with another configuration; "" if it was not.

    Raises:
        RecordError: config.yaml or manifest.json is broken.
    """
    config = DictConfig(dict(settings))
    names = _placed(config)
    return changed(record, plain(config), _ignored(config, names))


def _placed(config: DictConfig) -> dict[str, str]:
    """Put paths in place of names, keep what a regime is drawn from; return what stood by name."""
    names = to_build(config)
    note_source(config)
    place_sources(config)
    return names


def _ignored(config: DictConfig, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that do not tell two runs apart; where an embedded source lies is one of them."""
    return (*VOLATILE, *names, *ignored_keys(config))
