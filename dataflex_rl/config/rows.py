"""How many rows of the data files a run reads, leaves out and cuts, and why: counted before anything starts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from dataflex_rl.config.regime import SOURCE
from dataflex_rl.config.sources import FILES, is_named, source_of, to_build
from dataflex_rl.data.cache import is_there
from dataflex_rl.data.catalogue import TRAIN
from dataflex_rl.data.lengths import overlong
from dataflex_rl.errors import ConfigError

_SAMPLES = {FILES[0]: "data.train_max_samples", FILES[1]: "data.val_max_samples"}
_LONGEST, _CUT_AT = "data.max_prompt_length", "actor_rollout_ref.rollout.prompt_length"
_TEMPLATE = "actor_rollout_ref.model.custom_chat_template"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one setting's files. dropped, cut: {why: how many}; cut is None where lengths are not known."""

    read: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    cut: Mapping[str, int] | None = field(default_factory=dict)

    @property
    def used(self) -> int:
        """The rows that are trained or validated on."""
        return self.read - sum(self.dropped.values())

    @property
    def needs_a_look(self) -> bool:
        """Whether rows are dropped or cut, or may be."""
        return bool(self.dropped or self.cut or self.cut is None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for a manifest."""
        cut = None if self.cut is None else dict(self.cut)
        return {"read": self.read, "dropped": dict(self.dropped), "cut": cut, "used": self.used}

    def line(self, key: str) -> str:
        """Return the counts on one line."""
        parts = [f"{key}: {self.read:,} rows read, {self.used:,} used"]
        parts += [f"{count:,} dropped ({why})" for why, count in self.dropped.items()]
        parts += [f"{count:,} cut ({why})" for why, count in (self.cut or {}).items()]
        return ", ".join(parts) + (", prompt lengths not known before it starts" if self.cut is None else "")


def count_rows(config: DictConfig, *, fetch: bool = False) -> dict[str, Rows]:
    """Return {`data.train_files`: its rows, `data.val_files`: its rows}; none of what is not made yet.

    verl 0.9.1 drops prompts above data.max_prompt_length only with data.filter_overlong_prompts; its agent loop cuts
    the beginning of those above actor_rollout_ref.rollout.prompt_length, whatever data.truncation says.
    Where the tokenizer is not on this machine, and `fetch` may not or cannot get it, lengths are not counted.

    Raises:
        ConfigError: prompts would be cut and data.truncation is not `left`; what is left makes no batch, or is nothing;
            a prompt that the chat template refuses.
    """
    placed = config.copy()
    ready = {key: name for key, name in to_build(config).items() if source_of(key, name).ready()}
    for key, name in ready.items():
        OmegaConf.update(placed, key, str(source_of(key, name).places()[key]))
    tokenizer = None if is_named(str(placed.actor_rollout_ref.model.path)) else _tokenizer_of(placed, fetch=fetch)
    found = {}
    for key in FILES:
        files = _paths(OmegaConf.select(placed, key))
        if not any(is_named(file) for file in files):
            found[key] = _counted(placed, key, files, tokenizer)
    return found


def regime_rows(config: DictConfig, rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """Return the rows of a run whose training files a regime was drawn into, counted from what it was drawn from."""
    import pyarrow.parquet as pq

    source = OmegaConf.select(config, SOURCE)
    if source is None or TRAIN not in rows:
        return dict(rows)
    before = sum(pq.read_metadata(_place(name)).num_rows for name in _paths(source))
    drawn = rows[TRAIN]
    if before == drawn.read:
        return dict(rows)
    why = f"regime.data_fraction={config.regime.data_fraction}"
    return {**rows, TRAIN: replace(drawn, read=before, dropped={why: before - drawn.read, **drawn.dropped})}


def _counted(config: DictConfig, key: str, files: Sequence[str], tokenizer: Any) -> Rows:
    prompts = _prompts(tuple((file, Path(file).stat().st_mtime_ns) for file in files), str(config.data.prompt_key))
    chosen = _sampled(config, key, len(prompts))
    dropped = {f"{_SAMPLES[key]}={len(chosen)}": len(prompts) - len(chosen)} if len(chosen) < len(prompts) else {}
    if tokenizer is None:
        return Rows(read=len(prompts), dropped=dropped, cut=None)
    longest, cut_at = (int(OmegaConf.select(config, name)) for name in (_LONGEST, _CUT_AT))
    settings = OmegaConf.select(config, "data.apply_chat_template_kwargs") or {}
    try:
        tokens = overlong((prompts[i] for i in chosen), tokenizer, min(longest, cut_at), dict(settings))
    except ValueError as error:
        raise ConfigError(f"{key}={', '.join(files)}: {error}") from error
    if config.data.get("filter_overlong_prompts", False):
        kept = {number: count for number, count in tokens.items() if count <= longest}
        if len(kept) < len(tokens):
            dropped[f"longer than {_LONGEST}={longest}"] = len(tokens) - len(kept)
        tokens = kept
    tokens = {chosen[number]: count for number, count in tokens.items() if count > cut_at}
    if tokens:
        _check_cut(config, key, files, tokens, cut_at)
    rows = Rows(
        read=len(prompts), dropped=dropped, cut={f"longer than {_CUT_AT}={cut_at}": len(tokens)} if tokens else {}
    )
    _check_left(config, key, rows)
    return rows


def _check_cut(config: DictConfig, key: str, files: Sequence[str], tokens: Mapping[int, int], cut_at: int) -> None:
    truncation = config.data.get("truncation", "error")
    if truncation == "left":
        return
    first = next(iter(tokens))
    does = "verl would cut their beginning"
    if truncation != "error":
        does = f"verl cuts the beginning, not data.truncation={truncation}"
    raise ConfigError(
        f"{key}={', '.join(files)}: {len(tokens):,} prompts are longer than {_LONGEST}={cut_at} tokens (the longest: "
        f"{max(tokens.values()):,}; first: row {first}), and {does}; raise {_LONGEST}, or leave them out by "
        "data.filter_overlong_prompts=true, or allow the cut by data.truncation=left"
    )


def _check_left(config: DictConfig, key: str, rows: Rows) -> None:
    needed = int(config.data.train_batch_size) if key == TRAIN else 1
    if rows.dropped and rows.used < needed:
        batch = f"a batch of data.train_batch_size={needed}" if key == TRAIN else "a validation"
        raise ConfigError(f"{rows.line(key)}: too few for {batch}")


def _sampled(config: DictConfig, key: str, total: int) -> list[int]:
    """Return the rows that verl takes of `total`, in its order: the first, or with shuffling a seeded choice."""
    import numpy as np

    most = OmegaConf.select(config, _SAMPLES[key])
    if most is None or not 0 < int(most) < total:
        return list(range(total))
    if not config.data.get("shuffle", False) or config.data.get("seed") is None:
        return list(range(int(most)))
    return [int(i) for i in np.random.default_rng(int(config.data.seed)).choice(total, size=int(most), replace=False)]


def _place(name: str) -> str:
    """Return the path of training data that stand by name, else the path itself."""
    return str(source_of(TRAIN, name.removeprefix("build:")).places()[TRAIN]) if is_named(name) else name


def _paths(value: Any) -> list[str]:
    values = list(value) if isinstance(value, ListConfig | list) else [value]
    return [str(item) if is_named(str(item)) else str(Path(str(item)).expanduser()) for item in values]


@functools.lru_cache(maxsize=4)
def _prompts(files: tuple[tuple[str, int], ...], column: str) -> list[Any]:
    """Return the prompts of parquet files (path, time of change), each row once."""
    import pyarrow.parquet as pq

    return [row for file, _ in files for row in pq.read_table(file, columns=[column]).column(column).to_pylist()]


def _tokenizer_of(config: DictConfig, *, fetch: bool) -> Any:
    model = config.actor_rollout_ref.model
    path = str(model.get("tokenizer_path") or model.path)
    folder = Path(path).expanduser()
    template = OmegaConf.select(config, _TEMPLATE)
    remote_code = bool(model.get("trust_remote_code") or config.data.get("trust_remote_code") or False)
    return _tokenizer(str(folder) if folder.is_dir() else path, template, remote_code, fetch)


@functools.lru_cache(maxsize=2)
def _tokenizer(path: str, template: str | None, remote_code: bool, fetch: bool) -> Any:
    """Return a model's tokenizer with its chat template; None where it cannot be loaded, or has images to read too."""
    from transformers import AutoTokenizer

    if is_there(Path(path) / "preprocessor_config.json"):
        return None
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=remote_code, local_files_only=not fetch)
    except (OSError, ValueError, ImportError):
        return None
    if template is not None:
        tokenizer.chat_template = template
    return tokenizer if tokenizer.chat_template else None
