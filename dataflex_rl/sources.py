"""What a run is made of on disk: the model and the data files, given by the user or built by us.

A path `build:NAME` stands for something embedded: it is built once, from a seed, into the user's cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.seeding import prompt_key
from dataflex_rl.tiny.build import build, is_built, tiny_paths

_BUILT = ("tiny", "toy3")
MODEL = "actor_rollout_ref.model.path"
FILES = ("data.train_files", "data.val_files")


def to_build(config: DictConfig) -> dict[str, str]:
    """Return {configuration key: embedded name} of everything that stands as `build:NAME`."""
    found = {}
    for key in (MODEL, *FILES):
        value = OmegaConf.select(config, key)
        if isinstance(value, str) and value.startswith("build:"):
            name = value.removeprefix("build:")
            if name not in _BUILT:
                raise ConfigError(str(unknown(f"embedded source in {key}:", name, _BUILT)))
            found[key] = name
    return found


def build_sources(names: Mapping[str, str], *, progress: bool) -> None:
    """Build what is missing of the embedded sources, with a progress bar."""
    if names:
        build(progress=progress)


def is_ready(names: Mapping[str, str]) -> bool:
    """Return whether everything to build is in the cache."""
    return not names or is_built(tiny_paths())


def place_sources(config: DictConfig) -> None:
    """Put the paths of what is embedded into the configuration, in place of `build:NAME`; builds nothing."""
    paths = tiny_paths()
    places = {MODEL: paths.model, FILES[0]: paths.train, FILES[1]: paths.val}
    for key in to_build(config):
        OmegaConf.update(config, key, str(places[key]))


def check_files(config: DictConfig) -> None:
    """Check every data file that the user named.

    Raises:
        ConfigError: it is missing, cannot be read, has no prompt column, or prompts that are no chat messages.
    """
    for key in FILES:
        value = OmegaConf.select(config, key)
        names = [value] if isinstance(value, str) else list(value)
        for name in names:
            if not str(name).startswith("build:"):
                _check_file(key, Path(str(name)).expanduser(), str(config.data.prompt_key))


def _check_file(key: str, path: Path, column: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise ConfigError(f"{key}={path}: no such file")
    if path.suffix != ".parquet":
        raise ConfigError(f"{key}={path}: wanted a .parquet file in verl's schema")
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if column not in names:
                raise ConfigError(f"{key}={path}: no column '{column}'; it has: {', '.join(names)}")
            if file.metadata.num_rows == 0:
                raise ConfigError(f"{key}={path}: no rows")
            first = next(file.iter_batches(batch_size=1, columns=[column])).to_pylist()[0]
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{key}={path}: cannot be read as parquet ({str(error).splitlines()[0]})") from None
    try:
        prompt_key(first[column])
    except ConfigError as error:
        raise ConfigError(f"{key}={path}: row 0: {error}") from None


def check_model(config: DictConfig) -> None:
    """Check a model path that looks like a folder.

    Raises:
        ConfigError: an absolute or relative path that is not there, or a folder without config.json.
    """
    value = str(config.actor_rollout_ref.model.path)
    path = Path(value).expanduser()
    if value.startswith("build:") or not (value.startswith(("/", ".", "~")) or path.exists()):
        return
    if not path.is_dir():
        raise ConfigError(f"{MODEL}={value}: no such folder")
    if not (path / "config.json").is_file():
        raise ConfigError(f"{MODEL}={value}: the folder has no config.json; wanted a Hugging Face causal LM")
