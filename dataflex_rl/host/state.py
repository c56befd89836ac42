"""Our part of a checkpoint: `dataflex.pt` beside verl's files, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from dataflex_rl.errors import ConfigError
from dataflex_rl.record.files import write_with

FILE = "dataflex.pt"
SCHEMA = 1
_FEEDS = {"prompts": ("prompt selector", "selector"), "mixer": ("mixer", "mixer")}  # part -> (what, key of its name)


def save_state(folder: Path, state: dict[str, Any]) -> None:
    """Write the state into a checkpoint folder, creating it; call before verl moves its tracker to this step.

    Raises:
        RecordError: the disk refuses, or another process has taken the run record over.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_with(folder / FILE, lambda file: torch.save({"schema": SCHEMA, **state}, file))


def folder_of(trainer: DictConfig, step: int) -> Path:
    """Return where verl's checkpoint of a step lies; `trainer`: verl's block of that name."""
    if trainer.resume_mode == "resume_path" and f"global_step_{step}" in str(trainer.resume_from_path):
        return Path(trainer.resume_from_path)
    return Path(trainer.default_local_dir) / f"global_step_{step}"


def load_state(folder: Path) -> dict[str, Any]:
    """Return the state of a checkpoint.

    Raises:
        ConfigError: the checkpoint was not written by a dataflex trainer.
    """
    path = folder / FILE
    if not path.is_file():
        raise ConfigError(f"checkpoint {folder} has no {FILE}: it was not written by trainer_mode=dataflex_sync")
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def feed_state(state: Mapping[str, Any], part: str | None, folder: Path) -> dict[str, Any] | None:
    """Return the state of a run's feed: its part `mixer` or `prompts`; None for verl's own order (no part).

    Raises:
        ConfigError: the checkpoint is of a run whose prompts came from another kind of feed.
    """
    for key, (what, name) in _FEEDS.items():
        if key != part and (saved := state.get(key)) is not None:
            raise ConfigError(
                f"checkpoint {folder} is of a run with {what} {saved[name]!r}, but this run has none; resume with "
                f"the same {what}, or start a new run"
            )
    if part is None:
        return None
    if (found := state.get(part)) is None:
        what = _FEEDS[part][0]
        raise ConfigError(f"checkpoint {folder} has no {what} state: it is of a run without a {what}")
    return dict(found)


def check_fingerprint(state: dict[str, Any], fingerprint: str, folder: Path) -> None:
    """Refuse to continue a checkpoint on other data: its position in the prompt stream would mean other prompts.

    Raises:
        ConfigError: the fingerprints differ.
    """
    if state["fingerprint"] != fingerprint:
        raise ConfigError(
            f"checkpoint {folder} was trained on data with fingerprint {state['fingerprint']}, but data.train_files "
            f"has {fingerprint}; resume with the same data, or start a new run"
        )
