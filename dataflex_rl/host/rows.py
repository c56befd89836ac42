"""The rows of verl's dataset: in the order of verl's own sampler, as batches, and their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.utils import create_rl_sampler
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import prompt_key


class SamplerOrder:
    """Pass number -> dataset rows, as verl's own dataloader would take them.

    Pass p is the p-th iteration of one sampler made by verl. Its dataloader drops the rows that make no whole batch at
    the end of a pass, so those are cut here too. An earlier pass than the last one asked for starts a fresh sampler.
    """

    def __init__(self, data_config: DictConfig, dataset: Any, batch_size: int) -> None:
        self._data_config = data_config
        self._dataset = dataset
        self._length = len(dataset) // batch_size * batch_size
        self._sampler: Any = None
        self._next = 0

    def __call__(self, number: int) -> list[int]:
        """Return the rows of a pass, in order."""
        if self._sampler is None or number < self._next:
            self._sampler, self._next = create_rl_sampler(self._data_config, self._dataset), 0
        rows: list[int] = []
        while self._next <= number:
            rows = [int(row) for row in self._sampler]
            self._next += 1
        return rows[: self._length]


def collated(dataset: Any, rows: Sequence[int]) -> TensorDict:
    """Return a batch of dataset rows as verl's dataloader makes it; the uids are placeholders."""
    batch = collate_fn([dataset[row] for row in rows])
    batch["uid"] = np.array([str(place) for place in range(len(rows))], dtype=object)
    return tu.get_tensordict(batch)


def domain_column(dataset: Any, column: str) -> list[str]:
    """Return the domain of each dataset row.

    Raises:
        ConfigError: no such column, or a row without a domain.
    """
    names = column_of(dataset, column, "dataflex.mixer.domain_key")
    if None in names:
        raise ConfigError(f"row {names.index(None)} of the training data has no value in the column {column!r}")
    return [str(name) for name in names]


def column_of(dataset: Any, column: str, setting: str) -> list[Any]:
    """Return a column of the dataset, dotted where it is inside of another (`extra_info.difficulty`).

    Raises:
        ConfigError: no such column; names the setting that asks for it.
    """
    frame, known = dataset.dataframe, list(dataset.dataframe.column_names)
    top, *inner = [column] if column in known else column.split(".")
    values = list(frame[top]) if top in known else []
    for name in inner:
        if not all(isinstance(value, Mapping) and name in value for value in values):
            known += [f"{top}.{key}" for key in values[0]] if values and isinstance(values[0], Mapping) else []
            values = []
            break
        values = [value[name] for value in values]
    if not values:
        raise ConfigError(f"the training data has no column {column!r} ({setting}); it has: {', '.join(known)}")
    return values


def prompt_keys(dataset: Any, data: DictConfig) -> list[str]:
    """Return the identity of each dataset row's prompt; images and the like are part of it."""
    media = [data.get(f"{kind}_key") or f"{kind}s" for kind in ("image", "video", "audio")]
    if set(media) & set(dataset.dataframe.column_names):
        return [prompt_key(dataset[row]["raw_prompt"]) for row in range(len(dataset))]
    return [prompt_key(messages) for messages in dataset.dataframe[data.prompt_key]]
