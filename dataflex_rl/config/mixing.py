"""The mixer's part of a configuration, checked against the data before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from dataflex_rl.config.sources import is_named, source_of
from dataflex_rl.data.catalogue import TRAIN
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import parse_mixer
from dataflex_rl.feed.domains import check_several, resolve_domains

PLAIN_MODE, MIX_MODE = "dataflex_sync", "dataflex_mix_sync"


def settle_mixer(config: DictConfig, block: Mapping[str, Any]) -> None:
    """Check a complete mixer block (see `split_block`) against the training data, and choose the trainer that mixes.

    Raises:
        ConfigError: a setting out of range, a missing column, fewer than two domains, shares or a floor that do not fit
            them, or a trainer mode that cannot mix.
    """
    parsed = parse_mixer(block)
    mode = config.trainer.v1.trainer_mode
    if parsed is None:
        if mode == MIX_MODE:
            raise ConfigError(f"trainer.v1.trainer_mode={MIX_MODE} needs a mixer; set one, or use {PLAIN_MODE}")
        return
    if mode not in (PLAIN_MODE, MIX_MODE):
        raise ConfigError(f"mixer {parsed.name!r} needs trainer.v1.trainer_mode={MIX_MODE}, got {mode}")
    check_not_shadow(parsed.name, config.dataflex.get("shadow", False))
    domains = resolve_domains(parsed.domains, domains_in(config.data.train_files, parsed.domain_key))
    check_several(parsed.name, domains.names)
    parsed.mixer.check(domains.names, parsed.window)
    config.trainer.v1.trainer_mode = MIX_MODE


def check_not_shadow(mixer: str, shadow: object) -> None:
    """Refuse a mixer in a shadow run, which is to act as uniform: drawing prompts cannot be undone afterwards."""
    if shadow:
        raise ConfigError(f"dataflex.shadow=true acts as uniform, but mixer {mixer!r} would act; set the mixer to none")


def domains_in(train_files: Any, column: str) -> list[str]:
    """Return the names in the domain column of the training files, sorted.

    Raises:
        ConfigError: a file lacks the column, or a row lacks its domain.
    """
    names: set[str] = set()
    for file in [train_files] if isinstance(train_files, str) else list(train_files):
        names |= _named_domains(str(file), column) if is_named(str(file)) else _file_domains(Path(str(file)), column)
    return sorted(names)


def _named_domains(file: str, column: str) -> set[str]:
    """Return the values of a column of data that stand by name: from the file if it is there, else as declared."""
    source = source_of(TRAIN, file.removeprefix("build:"))
    if source.ready():
        return _file_domains(source.places()[TRAIN], column)
    if column not in source.values:
        raise _no_column(file, column, source.values)
    return set(source.values[column])


def _file_domains(path: Path, column: str) -> set[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path.expanduser()) as file:
            known = file.schema_arrow.names
            if column not in known:
                raise _no_column(str(path), column, known)
            names = file.read(columns=[column]).column(column).unique().to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"data.train_files={path}: cannot be read ({str(error).splitlines()[0]})") from None
    if None in names:
        raise ConfigError(
            f"data.train_files={path}: column {column!r} (dataflex.mixer.domain_key) has rows without a value"
        )
    return {str(name) for name in names}


def _no_column(file: str, column: str, known: Any) -> ConfigError:
    return ConfigError(
        f"data.train_files={file}: no column {column!r} (dataflex.mixer.domain_key); it has: {', '.join(known)}"
    )
