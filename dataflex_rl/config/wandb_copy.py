"""The Weights & Biases copy of a run: its mode and place; that there is one, where verl's own logger makes a second."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.config.plain import plain
from dataflex_rl.config.wandb_mode import Mode, mode_of
from dataflex_rl.errors import ConfigError

_LOGGER = "trainer.logger"


def plan_copy(config: DictConfig, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Take `wandb` out of verl's loggers where the run keeps a copy of its own.

    Returns:
        Mode and place of the copy; a warning where nothing but a key sends it online, or the configuration asked for
        verl's as well.

    Raises:
        ConfigError: a mode that does not exist; verl's own W&B run would not be where WANDB_DIR says.
    """
    block = plain(config.wandb)
    mode = mode_of(block, environment)
    given = OmegaConf.select(config, _LOGGER) or []
    loggers = [given] if isinstance(given, str) else list(given)
    text = f"{mode}{_place(block, mode, environment)}"
    warned = [f"W&B copy: {text}"] if mode == "online" and not _chosen(block, environment) else []
    if "wandb" not in loggers:
        return text, warned
    if mode == "disabled":
        return _by_verl(environment), []
    with open_dict(config):
        OmegaConf.update(config, _LOGGER, [name for name in loggers if name != "wandb"])
    own = f"the run's own copy ({mode}) has the same"
    return text, [
        *warned,
        f"{_LOGGER}: wandb is left out, so that there is one W&B run: {own}; wandb.mode=disabled keeps verl's",
    ]


def _place(block: Mapping[str, Any], mode: Mode, environment: Mapping[str, str]) -> str:
    if mode == "disabled":
        return ""
    if mode == "offline":
        return ", in the folder wandb of the record when it is done"
    key = "" if _chosen(block, environment) else " since WANDB_API_KEY is set"
    site = environment.get("WANDB_BASE_URL") or "https://wandb.ai"
    entity = block.get("entity") or environment.get("WANDB_ENTITY") or "(the key's own entity)"
    off = "; wandb.mode=offline keeps it here" if key else ""
    return f"{key}, at {site}/{entity}/{block.get('project') or 'dataflex_rl'}{off}"


def _chosen(block: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Return whether the mode was asked for, and does not follow from a key alone."""
    return bool(block.get("mode") or environment.get("WANDB_MODE"))


def _by_verl(environment: Mapping[str, str]) -> str:
    folder = environment.get("WANDB_DIR") or os.getcwd()
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"WANDB_DIR={folder}: no folder one may write to; W&B would keep verl's run elsewhere")
    return f"by verl's own logger, in {os.path.join(folder, 'wandb')} or online as WANDB_MODE says"
