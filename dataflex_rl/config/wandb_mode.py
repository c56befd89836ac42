"""Where a run is logged in Weights & Biases: offline, online or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from dataflex_rl.components.settings import SETTINGS

Mode = Literal["offline", "online", "disabled"]


def mode_of(block: Mapping[str, Any] | None, environment: Mapping[str, str]) -> Mode:
    """Return the mode of the `wandb` block; where it names none: WANDB_MODE, else online with an API key, else offline.

    Raises:
        ConfigError: another mode.
    """
    given = (block or {}).get("mode") or environment.get("WANDB_MODE")
    mode = given or ("online" if environment.get("WANDB_API_KEY") else "offline")
    mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)
    return cast(Mode, SETTINGS["wandb.mode"].check(mode))
