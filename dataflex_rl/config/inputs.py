"""What a plan names, made on the machine that runs it: the model, the data, and the rows that are trained on.

The settings of a plan name an embedded model or prepared data by name, so that they are the same on every machine; a
record has their paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataflex_rl.config.mixing import check_built
from dataflex_rl.config.plain import plain
from dataflex_rl.config.regime import ignored_keys, note_source, place_regime
from dataflex_rl.config.rows import Rows, count_rows, regime_rows
from dataflex_rl.config.sources import MODEL, build_sources, check_files, place_sources, to_build
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
    config, names = _placed(settings, drawn=drawn)
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
    config, names = _placed(settings)
    return changed(record, plain(config), _ignored(config, names))


def _placed(settings: Mapping[str, Any], *, drawn: bool = False) -> tuple[DictConfig, dict[str, str]]:
    """Return the configuration with paths in place of names, and {key: name} of what stood by name.

    What a regime is drawn from is kept, unless its data are `drawn`. The model may stand elsewhere as well: a critic
    starts from the same.
    """
    config = DictConfig(dict(settings))
    names, named = to_build(config), OmegaConf.select(config, MODEL)
    if not drawn:
        note_source(config)
    place_sources(config)
    if MODEL in names:
        config = DictConfig(_replaced(plain(config), named, OmegaConf.select(config, MODEL)))
    return config, names


def _replaced(value: Any, old: str, new: str) -> Any:
    """Return settings with one text in place of another, wherever it is the whole value."""
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return new if value == old else value


def _ignored(config: DictConfig, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys that do not tell two runs apart; where an embedded source lies is one of them."""
    return (*VOLATILE, *names, *ignored_keys(config))
