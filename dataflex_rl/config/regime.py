"""Constrained regimes: less data, or wrong labels, drawn from the run's seed and equal for every method at that seed.

What is left out and what is mislabelled depends on the seed and on the prompts' content, not on the order of the rows:
so the methods of a sweep share it, and a rerun draws it again. Evaluation data are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.components.settings import SETTINGS, block_defaults
from dataflex_rl.config.regime_rows import identity, kept_rows, mislabelled
from dataflex_rl.data.cache import default_root, entry_path, get_or_build
from dataflex_rl.data.catalogue import TRAIN
from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import dataset_fingerprint

SOURCE = "regime.train_files"  # the training files that a regime was drawn from
_VERSION = 3
_FILE = "train.parquet"


def regime_name(config: DictConfig) -> str:
    """Return `full`, `data25`, `noise20` or `data25-noise20` (percent), as records and tables name it.

    Raises:
        ConfigError: data_fraction outside of (0, 1], label_noise outside of [0, 1).
    """
    settings = config.get("regime")
    if settings is None:
        return "full"
    fraction, noise = (
        SETTINGS[f"regime.{name}"].check(settings.get(name, default))
        for name, default in block_defaults("regime").items()
    )
    parts = [f"data{100 * fraction:g}"] if fraction < 1 else []
    parts += [f"noise{100 * noise:g}"] if noise > 0 else []
    return "-".join(parts) or "full"


def note_source(config: DictConfig) -> None:
    """Keep what the regime is drawn from under `regime.train_files`, as the user named it; without a regime nothing."""
    if regime_name(config) != "full":
        with open_dict(config):
            OmegaConf.update(config, SOURCE, OmegaConf.select(config, TRAIN))


def ignored_keys(config: DictConfig) -> tuple[str, ...]:
    """Return the keys that a regime adds to those which do not tell two runs apart: where its own files lie."""
    return () if regime_name(config) == "full" else (TRAIN,)


def place_regime(config: DictConfig) -> None:
    """Put the files of the regime in place of the training files; they are drawn into the cache where missing.

    Raises:
        ConfigError: a training file that is no parquet file or lacks verl's columns, or answers of which no other is
            there.
    """
    if regime_name(config) == "full":
        return
    value = OmegaConf.select(config, TRAIN)
    files = [value] if isinstance(value, str) else [str(item) for item in value]
    column = str(config.data.prompt_key)
    fraction, noise = float(config.regime.data_fraction), float(config.regime.label_noise)
    seed = int(config.data.seed)
    facts = {
        "version": _VERSION,
        "source": dataset_fingerprint(files, prompt_column=column),
        "fraction": fraction,
        "noise": noise,
        "seed": seed,
        "prompt": column,
    }

    def make(folder: Path) -> None:
        write_regime(files, folder / _FILE, column=column, fraction=fraction, noise=noise, seed=seed)

    entry = get_or_build(entry_path(default_root(), "regime", facts), (_FILE,), make)
    OmegaConf.update(config, TRAIN, str(entry / _FILE))


def write_regime(
    files: Sequence[str | Path], out: Path, *, column: str, fraction: float, noise: float, seed: int
) -> None:
    """Write the rows that a regime keeps of parquet files, in their order and with its wrong labels, as one file.

    Raises:
        ConfigError: a file is no parquet file or lacks verl's columns, files do not fit together, or see mislabelled.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = _read(files, (column, "reward_model", "data_source"))
    domains = table.column("domain" if "domain" in table.column_names else "data_source").to_pylist()
    table = table.take(kept_rows(_identities(table, column), domains, fraction, seed))
    if noise > 0:
        sources, models = (table.column(name).to_pylist() for name in ("data_source", "reward_model"))
        wrong = mislabelled(models, _identities(table, column), sources, noise, seed)
        place = table.column_names.index("reward_model")
        kind = table.schema.field(place).type
        table = table.set_column(place, "reward_model", pa.array(wrong, type=kind))
    pq.write_table(table, out)


def _read(files: Sequence[str | Path], columns: Sequence[str]) -> Any:
    """Return the rows of parquet files as one table that has the columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for file in map(Path, files):
        if file.suffix in {".json", ".jsonl"}:
            raise ConfigError(f"{TRAIN}={file}: a regime is drawn from parquet files; expected one")
        try:
            tables.append(pq.read_table(file))
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"{TRAIN}={file}: cannot be read as parquet ({str(error).splitlines()[0]})") from None
        if missing := [name for name in columns if name not in tables[-1].column_names]:
            raise ConfigError(f"{TRAIN}={file}: no column {', '.join(missing)}, which a regime needs")
    try:
        return pa.concat_tables(tables, promote_options="default")
    except pa.ArrowException as error:
        names = ", ".join(map(str, files))
        raise ConfigError(
            f"{TRAIN}: {names}: columns of different types ({str(error).splitlines()[0]}); expected the same in all"
        ) from None


def _identities(table: Any, column: str) -> list[str]:
    prompts, models = table.column(column).to_pylist(), table.column("reward_model").to_pylist()
    return [identity(prompt, model) for prompt, model in zip(prompts, models, strict=True)]
