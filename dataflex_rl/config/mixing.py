"""What a run draws by, mixer and prompt selector, checked against the data before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from dataflex_rl.config.sources import is_named, source_of
from dataflex_rl.data.catalogue import TRAIN
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig, parse_feed, take_feed
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import check_several, resolve_domains
from dataflex_rl.feed.prompt_quotas import check_sizes
from dataflex_rl.prompts.table import PromptTable

PLAIN_MODE, MIX_MODE = "dataflex_sync", "dataflex_mix_sync"  # two names of one trainer
_DOMAIN_KEY = "dataflex.mixer.domain_key"


def resolve_feed(config: DictConfig, feed: FeedConfig) -> None:
    """Check mixer and prompt selector against the training data; a mixed run gets the trainer's other name.

    Raises:
        ConfigError: a setting out of range, a missing column, fewer than two domains, shares or a floor that do not fit
            them, a selector that does not fit its columns, or a trainer mode that would ignore them.
    """
    mode = str(config.trainer.v1.trainer_mode)
    check_mode(mode, feed)
    if feed.acts is None:
        return
    if mode not in (PLAIN_MODE, MIX_MODE):
        needed = PLAIN_MODE if feed.mixer is None else MIX_MODE
        raise ConfigError(f"{feed.acts} needs trainer.v1.trainer_mode={needed}, got {mode}, which would ignore it")
    feed.check_host(
        shadow=config.dataflex.get("shadow", False),
        steps_of_batch=(config.trainer.v1.get("sync") or {}).get("parameter_sync_step", 1),
    )
    feed.check_groups(
        n=int(config.actor_rollout_ref.rollout.n), batch=int(config.data.train_batch_size), makes_groups=True
    )
    if feed.mixer is not None:
        _check_mixer(config, feed.mixer)
        config.trainer.v1.trainer_mode = MIX_MODE
    if feed.prompts is not None:
        _check_prompts(config, feed)


def check_built(settings: Mapping[str, Any]) -> None:
    """Check a prompt selector against data that have just been built, before anything starts on them.

    Raises:
        ConfigError: it does not fit their columns, or a batch does not fit their numbers.
    """
    feed = parse_feed(take_feed(settings["dataflex"])[1])
    if feed.prompts is not None:
        _check_prompts(DictConfig(dict(settings)), feed)


def check_mode(mode: str, feed: FeedConfig) -> None:
    """Refuse the name of the trainer that says a run mixes, where it does not."""
    if mode == MIX_MODE and feed.mixer is None:
        raise ConfigError(
            f"trainer.v1.trainer_mode={MIX_MODE} needs a mixer; set dataflex.mixer.name, or use {PLAIN_MODE}"
        )


def _check_mixer(config: DictConfig, mixing: MixerConfig) -> None:
    domains = resolve_domains(mixing.domains, domains_in(config.data.train_files, mixing.domain_key))
    check_several(mixing.name, domains.names)
    mixing.mixer.check(domains.names, mixing.window)


def _check_prompts(config: DictConfig, feed: FeedConfig) -> None:
    """Check a selector against the columns of the files that are there; what is built later is checked when it is."""
    paths = [path for file in listed(config.data.train_files) if (path := _path(file)) is not None]
    prompts = feed.prompts
    if not paths or prompts is None:
        return
    if feed.mixer is not None:
        _check_quotas(paths, feed.mixer, int(config.data.train_batch_size))
    setting = f"prompt selector {prompts.name!r}"
    columns = {
        name: [value for path in paths for value in read_column(path, name, setting).to_pylist()]
        for name in prompts.columns
    }
    rows = len(next(iter(columns.values()), [0]))
    table = PromptTable.of([str(row) for row in range(rows)], ["all"] * rows, columns, prompts.buckets)
    prompts.selector.check(table, int(config.trainer.total_training_steps))


def _check_quotas(paths: Sequence[Path], mixing: MixerConfig, batch: int) -> None:
    """Check the first batch's shares against the rows of each domain: no prompt is in a batch twice."""
    columns = (read_column(path, mixing.domain_key, _DOMAIN_KEY).to_pylist() for path in paths)
    rows = Counter(str(name) for column in columns for name in column)
    domains = resolve_domains(mixing.domains, sorted(rows))
    size_D = [0] * len(domains.names)
    for name, count in rows.items():
        if (domain := domains.index(name)) >= 0:
            size_D[domain] += count
    check_sizes(domains.names, size_D, DomainMixer(mixing, domains.names).share_D.tolist(), batch)


def domains_in(train_files: Any, column: str) -> list[str]:
    """Return the names in the domain column of the training files, sorted.

    Raises:
        ConfigError: a file lacks the column, or a row lacks its domain.
    """
    names: set[str] = set()
    for file in listed(train_files):
        path = _path(file)
        if path is None:
            names |= _declared(file, column)
        else:
            found = read_column(path, column, _DOMAIN_KEY).unique().to_pylist()
            if None in found:
                raise ConfigError(
                    f"data.train_files={path}: column {column!r} ({_DOMAIN_KEY}) has rows without a value"
                )
            names |= {str(name) for name in found}
    return sorted(names)


def read_column(path: Path, column: str, setting: str) -> Any:
    """Return a column of a parquet file as an Arrow array, dotted where it is inside of another.

    Raises:
        ConfigError: the file cannot be read, or lacks the column; names the setting that asks for it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            known = file.schema_arrow.names
            table = file.read(columns=[column])
            while column not in table.column_names and table.flatten().column_names != table.column_names:
                table = table.flatten()
            if column not in table.column_names:
                raise _no_column(str(path), column, setting, known)
            return table.column(column)
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"data.train_files={path}: cannot be read ({str(error).splitlines()[0]})") from None


def listed(train_files: Any) -> Sequence[str]:
    """Return verl's `train_files`, one path or a list, as a list."""
    return [train_files] if isinstance(train_files, str) else [str(file) for file in train_files]


def _path(file: str) -> Path | None:
    """Return where a training file is; None for data that stand by name and are not there yet."""
    if not is_named(file):
        return Path(file).expanduser()
    source = source_of(TRAIN, file.removeprefix("build:"))
    return source.places()[TRAIN] if source.ready() else None


def _declared(file: str, column: str) -> set[str]:
    """Return the values of a column of data that stand by name, as they are declared."""
    source = source_of(TRAIN, file.removeprefix("build:"))
    if column not in source.values:
        raise _no_column(file, column, _DOMAIN_KEY, source.values)
    return set(source.values[column])


def _no_column(file: str, column: str, setting: str, known: Any) -> ConfigError:
    return ConfigError(f"data.train_files={file}: no column {column!r} ({setting}); it has: {', '.join(known)}")
