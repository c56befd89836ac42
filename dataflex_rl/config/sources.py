"""What a run is made of on disk: the model and the data files, given by the user or known by name.

A path `build:NAME` stands for something embedded that is built once; `prepared:NAME` for data that
`python -m dataflex_rl.prepare` wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig, ListConfig, OmegaConf

from dataflex_rl.data.cache import is_there
from dataflex_rl.data.catalogue import BUILT, MODEL, TRAIN, VAL, Embedded, prepared
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.seeding import prompt_key

__all__ = [
    "FILES", "MODEL", "build_sources", "check_batches", "check_files", "check_model", "how_to_make", "is_named",
    "missing", "place_sources", "source_of", "to_build",
]  # fmt: skip
FILES = (TRAIN, VAL)
_SCHEMES = ("build:", "prepared:")


def to_build(config: DictConfig) -> dict[str, str]:
    """Return {configuration key: name} of everything that stands by name; a prepared one keeps its `prepared:`."""
    found = {}
    for key in (MODEL, *FILES):
        value = OmegaConf.select(config, key)
        if isinstance(value, str) and value.startswith(_SCHEMES):
            name = value.removeprefix("build:")
            source_of(key, name)
            found[key] = name
    return found


def is_named(value: str) -> bool:
    """Return whether a configuration value names a source and is no path."""
    return value.startswith(_SCHEMES)


def source_of(key: str, name: str) -> Embedded:
    """Return the source that a name stands for.

    Raises:
        ConfigError: an unknown name, or one that cannot stand at this key.
    """
    if name.startswith("prepared:"):
        source = prepared(name.removeprefix("prepared:"))
    elif name in BUILT:
        source = BUILT[name]
    else:
        raise ConfigError(str(unknown(f"embedded source in {key}:", name, BUILT)))
    if key not in source.places():
        raise ConfigError(f"{key}: {name!r} is no source for it; it is one for {', '.join(source.places())}")
    return source


def build_sources(names: Mapping[str, str], *, progress: bool) -> None:
    """Build what is missing of the sources, with a progress bar where it takes long.

    Raises:
        ConfigError: a prepared one is missing; the message says how to prepare it.
    """
    for key, name in names.items():
        source = source_of(key, name)
        if not source.ready():
            if progress and not name.startswith("prepared:"):
                print(f"building {name}, once ...", flush=True)
            source.make(progress)


def missing(names: Mapping[str, str]) -> list[str]:
    """Return the names of the sources that are not there yet, sorted."""
    return sorted({name for key, name in names.items() if not source_of(key, name).ready()})


def how_to_make(name: str) -> str:
    """Return the command that prepares a source, or that a run builds it."""
    if not name.startswith("prepared:"):
        return "built when the run starts"
    bare = name.removeprefix("prepared:")
    kind = "task" if TRAIN in prepared(bare).places() else "benchmark"
    return f"python -m dataflex_rl.prepare {kind}={bare}"


def place_sources(config: DictConfig) -> None:
    """Put the paths of the sources into the configuration, in place of their names; builds nothing."""
    for key, name in to_build(config).items():
        OmegaConf.update(config, key, str(source_of(key, name).places()[key]))


def check_files(config: DictConfig, *, dry: bool = False) -> None:
    """Check every data file that the user named, and unless `dry` that prepared data are there.

    Raises:
        ConfigError: it is missing, cannot be read, has no prompt column, or prompts that are no chat messages.
    """
    if not dry:
        named = {key: name for key, name in to_build(config).items() if name.startswith("prepared:")}
        build_sources(named, progress=False)
    for key in FILES:
        for path in _named_files(config, key):
            _check_file(key, path, str(config.data.prompt_key))


def check_batches(config: DictConfig) -> list[str]:
    """Check that the user's files, already found readable, can be trained on.

    Returns:
        A warning for each column that only some of the files of a setting have: the others' rows get none there.

    Raises:
        ConfigError: a column that the verifier reads is missing, or the training rows make no batch.
    """
    warned: list[str] = []
    import pyarrow.parquet as pq

    expected = (str(config.data.reward_fn_key), "reward_model")
    for key in FILES:
        paths = _named_files(config, key)
        schemas = [pq.ParquetFile(path) for path in paths]
        for file, path in zip(schemas, paths, strict=True):
            names = file.schema_arrow.names
            if missing := ", ".join(repr(name) for name in expected if name not in names):
                has = ", ".join(names)
                raise ConfigError(f"{key}={path}: no column {missing}, which the verifier reads; it has: {has}")
        warned += _some_lack(
            key, {str(path): file.schema_arrow.names for path, file in zip(paths, schemas, strict=True)}
        )
        rows = sum(file.metadata.num_rows for file in schemas)
        if key == TRAIN and schemas and rows < config.data.train_batch_size:
            raise ConfigError(
                f"{key}: {rows} rows make no batch of data.train_batch_size={config.data.train_batch_size}"
            )
    return warned


def _some_lack(key: str, columns: Mapping[str, Sequence[str]]) -> list[str]:
    every = dict.fromkeys(name for names in columns.values() for name in names)
    return [
        f"{key}: column {name!r} is not in {', '.join(lacking)}: those rows have none"
        for name in every
        if (lacking := [path for path, names in columns.items() if name not in names])
    ]


def _named_files(config: DictConfig, key: str) -> list[Path]:
    """Return the paths that stand at a key; none where a source stands by name."""
    value = OmegaConf.select(config, key)
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, ListConfig) else []
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"{key}={value}: expected a .parquet file or a list of them")
    return [Path(name).expanduser() for name in names if not is_named(name)]


def _check_file(key: str, path: Path, column: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not is_there(path):
        raise ConfigError(f"{key}={path}: no such file")
    if path.suffix != ".parquet":
        raise ConfigError(f"{key}={path}: expected a .parquet file in verl's schema")
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
    if value.startswith(_SCHEMES) or not (value.startswith(("/", ".", "~")) or path.exists()):
        return
    if not path.is_dir():
        raise ConfigError(f"{MODEL}={value}: no such folder")
    if not is_there(path / "config.json"):
        raise ConfigError(f"{MODEL}={value}: the folder has no config.json; expected a Hugging Face causal LM")
