"""Where the prompts of a mixed run come from: rows of verl's dataset, in the order of verl's own sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.utils import create_rl_sampler
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.policy import GROUP_ESTIMATORS, HostFacts


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
    known = dataset.dataframe.column_names
    if column not in known:
        raise ConfigError(
            f"the training data has no column {column!r} (dataflex.mixer.domain_key); it has: {', '.join(known)}"
        )
    names = list(dataset.dataframe[column])
    if None in names:
        raise ConfigError(f"row {names.index(None)} of the training data has no value in the column {column!r}")
    return [str(name) for name in names]


def check_mixer(config: MixerConfig, facts: HostFacts) -> None:
    """Check once that the run has what the mixer's statistic needs.

    Raises:
        ConfigError: a batch field is missing, or a scorer of groups meets an estimator that makes none.
    """
    if missing := sorted(config.requires - facts.fields):
        raise ConfigError(
            f"mixer {config.name!r} averages {config.statistic!r}, which requires the batch field {missing[0]!r}, but "
            f"the host provides {', '.join(sorted(facts.fields))}"
        )
    scorer = config.scorer_spec
    if scorer is not None and scorer.needs_groups and not (facts.makes_groups and facts.rollout_n > 1):
        raise ConfigError(
            f"dataflex.mixer.scorer {scorer.name!r} needs groups, but algorithm.adv_estimator={facts.adv_estimator!r} "
            f"with rollout.n={facts.rollout_n} makes none; use one of {', '.join(GROUP_ESTIMATORS)} and n above 1"
        )
