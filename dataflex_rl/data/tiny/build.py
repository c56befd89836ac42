"""Build the embedded model and task once, and find them again.

Seeds of model and task are constants, not the seed of a run: every run starts from the same model and data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from dataflex_rl.data.cache import default_root, entry_path, get_or_build, is_complete, is_there
from dataflex_rl.data.progress import watched
from dataflex_rl.data.tiny import toy3
from dataflex_rl.data.tiny.data import TRAIN_FILE, VAL_FILE, prepare_toy3
from dataflex_rl.data.tiny.options import MODEL_VERSION, DataOptions, ModelOptions
from dataflex_rl.data.tiny.shipped_model import copy_shipped, is_shipped

_DATA_FILES = (TRAIN_FILE, VAL_FILE)
_MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "build.json")


@dataclass(frozen=True, kw_only=True)
class TinyPaths:
    """Where things are: the model's folder (Hugging Face format, tokenizer included) and the two parquet files."""

    model: Path
    train: Path
    val: Path


def build(*, seed: int = 0, cache_dir: Path | None = None, progress: bool = True) -> TinyPaths:
    """Return the embedded model and data, making what the cache lacks.

    The model of seed 0 is part of the package and copied; another one is pre-trained (a minute or two of one core).
    `cache_dir` None is the user's cache directory. `progress` shows on stderr how far the pre-training is.
    The same seed gives the same bytes; processes may call this at once.
    """
    train, val = cached_toy3(DataOptions(seed=seed), cache_dir=cache_dir)
    return TinyPaths(
        model=cached_model(ModelOptions(seed=seed), cache_dir=cache_dir, progress=progress), train=train, val=val
    )


def tiny_paths(*, seed: int = 0, cache_dir: Path | None = None) -> TinyPaths:
    """Return where `build` with the same arguments puts everything; builds and reads nothing."""
    data = _data_entry(DataOptions(seed=seed), cache_dir)
    return TinyPaths(
        model=_model_entry(ModelOptions(seed=seed), cache_dir), train=data / TRAIN_FILE, val=data / VAL_FILE
    )


def is_built(paths: TinyPaths) -> bool:
    """Return whether `build` has nothing left to do for these paths."""
    return is_complete(paths.model, _MODEL_FILES) and is_there(paths.train) and is_there(paths.val)


def cached_toy3(options: DataOptions, *, cache_dir: Path | None = None) -> tuple[Path, Path]:
    """Return the train and validation parquet files of these options, writing them if the cache lacks them.

    Raises:
        ConfigError: as `prepare_toy3`.
    """

    def make(folder: Path) -> None:
        prepare_toy3(folder, seed=options.seed, train_size=options.train_size, val_size=options.val_size)

    entry = get_or_build(_data_entry(options, cache_dir), _DATA_FILES, make)
    return entry / TRAIN_FILE, entry / VAL_FILE


def cached_model(options: ModelOptions, *, cache_dir: Path | None = None, progress: bool = True) -> Path:
    """Return the folder of the model of these options; what the cache lacks is copied from the package or pre-trained.

    Raises:
        ConfigError: as `copy_shipped`.
    """
    entry = _model_entry(options, cache_dir)
    if is_complete(entry, _MODEL_FILES):
        return entry
    if is_shipped(options):
        return get_or_build(entry, _MODEL_FILES, copy_shipped)
    with watched("the tiny model", shown=progress) as state:

        def make(folder: Path) -> None:
            # Here and not above: asking for paths must not load torch and transformers.
            from dataflex_rl.data.tiny.model import build_model

            state.starting()
            build_model(folder, options, state.advance)

        return get_or_build(entry, _MODEL_FILES, make, waiting=state.waiting)


def _data_entry(options: DataOptions, cache_dir: Path | None) -> Path:
    return entry_path(cache_dir or default_root(), "toy3", {**dataclasses.asdict(options), "version": toy3.VERSION})


def _model_entry(options: ModelOptions, cache_dir: Path | None) -> Path:
    versions = {"version": MODEL_VERSION, "task_version": toy3.VERSION}
    return entry_path(cache_dir or default_root(), "tiny", {**dataclasses.asdict(options), **versions})
