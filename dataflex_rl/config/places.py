"""The folders outside of its record that a run writes to, and what to set where one cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

from omegaconf import DictConfig

from dataflex_rl.config.regime import regime_name
from dataflex_rl.config.sources import missing, to_build
from dataflex_rl.config.temporary import base_folder
from dataflex_rl.data.cache import default_root
from dataflex_rl.errors import ConfigError

CACHE = ("cache", "set XDG_CACHE_HOME to a folder that can be")
DATASETS = ("cache of datasets", "set HF_DATASETS_CACHE, or XDG_CACHE_HOME, to a folder that can be")


def check_places(config: DictConfig) -> None:
    """Check every folder that this run needs; nothing is created.

    Raises:
        ConfigError: one cannot be written to; what to set.
    """
    base_folder()
    check_place(datasets_cache(), *DATASETS)
    if regime_name(config) != "full" or any(not name.startswith("prepared:") for name in missing(to_build(config))):
        check_place(default_root(), *CACHE)


def check_place(folder: Path, name: str, todo: str) -> None:
    """Check that a folder can be written to, or made; nothing is created.

    Raises:
        ConfigError: it cannot; `todo` says what to do.
    """
    there = existing(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(f"{name}: {folder} cannot be written to ({there} is no folder one may write to); {todo}")


def existing(path: Path) -> Path:
    """Return the path or the nearest folder above it that exists.

    Raises:
        ConfigError: it cannot be looked for.
    """
    try:
        return next(place for place in (path, *path.parents) if place.exists())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be looked for ({error.strerror})") from error


def datasets_cache() -> Path:
    """Return where the `datasets` library, by which verl reads parquet files, keeps what it has read."""
    if given := os.environ.get("HF_DATASETS_CACHE"):
        return Path(given).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")).expanduser() / "datasets"
