"""Prompts that verl's agent loop would cut, looked for in the data sets that a training process has loaded."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig

from dataflex_rl.data.lengths import overlong
from dataflex_rl.errors import ConfigError

logger = logging.getLogger(__name__)


def check_prompts(config: DictConfig, tokenizer: Any, datasets: Mapping[str, Any]) -> None:
    """Refuse prompts above actor_rollout_ref.rollout.prompt_length, or say how many are cut with data.truncation=left.

    The command line has counted them before; verl's own entry point has not. Prompts with images are verl's to refuse.

    Raises:
        ConfigError: how many there are, and the longest.
    """
    limit = int(config.actor_rollout_ref.rollout.prompt_length)
    settings = dict(config.data.get("apply_chat_template_kwargs") or {})
    for key, dataset in datasets.items():
        if getattr(dataset, "processor", None) is not None:
            continue
        try:
            found = overlong(dataset.dataframe[str(config.data.prompt_key)], tokenizer, limit, settings)
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from error
        if not found:
            continue
        many = f"{key}: {len(found):,} of {len(dataset):,} prompts are longer than {limit} tokens"
        if config.data.get("truncation", "error") != "left":
            raise ConfigError(
                f"{many} (the longest: {max(found.values()):,}), and verl would cut their beginning; raise "
                "data.max_prompt_length, or set data.filter_overlong_prompts=true or data.truncation=left"
            )
        logger.warning("%s; their beginning is cut", many)
