"""Constrained regimes: less data, or wrong labels, drawn from the run's seed and equal for every method at that seed.

What is left out and what is mislabelled depends on the seed and on the prompts' content, not on the order of the rows:
so the methods of a sweep share it, and a rerun draws it again. Evaluation data are left alone.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.embedded import TRAIN
from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards import knights
from dataflex_rl.rewards.dispatch import SOURCES, verifier
from dataflex_rl.seeding import dataset_fingerprint, prompt_key, stream_seed
from dataflex_rl.tiny.cache import default_root, entry_path, get_or_build

SOURCE = "regime.train_files"  # the training files that a regime was drawn from
_VERSION = 2
_FILE = "train.parquet"


def regime_name(config: DictConfig) -> str:
    """Return `full`, `data25`, `noise20` or `data25-noise20` (percent), as records and tables name it.

    Raises:
        ConfigError: data_fraction outside of (0, 1], label_noise outside of [0, 1).
    """
    settings = config.get("regime")
    if settings is None:
        return "full"
    fraction, noise = settings.get("data_fraction", 1.0), settings.get("label_noise", 0.0)
    if not _is_number(fraction) or not 0 < fraction <= 1:
        raise ConfigError(f"regime.data_fraction={fraction!r}: wanted a share above 0, at most 1")
    if not _is_number(noise) or not 0 <= noise < 1:
        raise ConfigError(f"regime.label_noise={noise!r}: wanted a share from 0 to below 1")
    parts = [f"data{100 * fraction:g}"] if fraction < 1 else []
    parts += [f"noise{100 * noise:g}"] if noise > 0 else []
    return "-".join(parts) or "full"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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
        ConfigError: a training file without verl's columns, or answers of which no other exists.
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
    """Write the rows that a regime keeps of parquet files, in their order and with its wrong labels, as one file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.concat_tables([pq.read_table(file) for file in files], promote_options="default")
    missing = [name for name in (column, "reward_model", "data_source") if name not in table.column_names]
    if missing:
        raise ConfigError(f"{TRAIN}={files[0]}: no column {', '.join(missing)}, which a regime needs")
    keys = [prompt_key(prompt) for prompt in table.column(column).to_pylist()]
    domains = table.column("domain" if "domain" in table.column_names else "data_source").to_pylist()
    table = table.take(kept_rows(keys, domains, fraction, seed))
    keys = [prompt_key(prompt) for prompt in table.column(column).to_pylist()]
    models = mislabelled(
        table.column("reward_model").to_pylist(), keys, table.column("data_source").to_pylist(), noise, seed
    )
    place = table.column_names.index("reward_model")
    pq.write_table(table.set_column(place, "reward_model", pa.array(models, type=table.schema.field(place).type)), out)


def kept_rows(keys: Sequence[str], domains: Sequence[str], fraction: float, seed: int) -> list[int]:
    """Return the rows kept, ascending: of each domain round(fraction x its rows), at least 1."""
    return sorted(row for rows in _drawn(keys, domains, fraction, seed, "subset", least=1) for row in rows)


def mislabelled(
    models: Sequence[dict[str, Any]], keys: Sequence[str], sources: Sequence[str], noise: float, seed: int
) -> list[dict[str, Any]]:
    """Return `reward_model` entries of which, per data source, round(noise x rows) have a wrong `ground_truth`.

    A wrong one is of the same form as the right one and drawn by seed and content: for knights and knaves the same
    people in other roles, else the right one of another row of the same data source, which the source's verifier, where
    it is one of ours, does not take for this row's.

    Raises:
        ConfigError: a data source whose rows all have the same answer.
    """
    result = [copy.copy(model) for model in models]
    answers: dict[str, set[str]] = defaultdict(set)
    for model, source in zip(models, sources, strict=True):
        answers[source].add(model["ground_truth"])
    ordered = {source: sorted(found) for source, found in answers.items()}
    for rows in _drawn(keys, sources, noise, seed, "noise", least=0):
        for row in rows:
            gold, source, number = models[row]["ground_truth"], sources[row], stream_seed(seed, "wrong", keys[row])
            if SOURCES.get(source) == "knights":
                result[row]["ground_truth"] = _other_roles(gold, number)
            else:
                result[row]["ground_truth"] = _other_answer(gold, source, ordered[source], number)
    return result


def _other_roles(gold: str, number: int) -> str:
    """Return a gold answer of knights and knaves with the roles of some people exchanged; each choice is as likely."""
    roles = knights.parse_gold(gold)
    exchanged = 1 + number % (2 ** len(roles) - 1)  # one bit per person, not all 0
    return knights.gold_text(
        {name: (role == "knight") != bool(exchanged >> bit & 1) for bit, (name, role) in enumerate(roles.items())}
    )


def _other_answer(gold: str, source: str, answers: Sequence[str], number: int) -> str:
    """Return the first of a source's answers, from a drawn one on, that is not the gold one in another spelling."""
    others = [answer for answer in answers if answer != gold]
    for place in range(len(others)):
        other = others[(number + place) % len(others)]
        if source not in SOURCES or not _accepted(other, source, gold):
            return other
    raise ConfigError(f"regime.label_noise: every answer of data source {source!r} is the same")


def _accepted(answer: str, source: str, gold: str) -> bool:
    grader = verifier(source)
    return bool(grader.compute_score(source, grader.state(answer), gold)["score"])


def _drawn(
    keys: Sequence[str], groups: Sequence[str], share: float, seed: int, stream: str, *, least: int
) -> list[list[int]]:
    """Return, per group, the rows drawn: the `share` of them that come first in an order made of seed and content."""
    members: dict[str, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        members[group].append(row)
    ranked = (sorted(rows, key=lambda row: (stream_seed(seed, stream, keys[row]), row)) for rows in members.values())
    return [rows[: max(least, round(share * len(rows)))] for rows in ranked]
