"""Where a run is logged in Weights & Biases: offline, online or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from dataflex_rl.errors import ConfigError

Mode = Literal["offline", "online", "disabled"]
MODES = ("offline", "online", "disabled")


def mode_of(block: Mapping[str, Any] | None, environment: Mapping[str, str]) -> Mode:
    """Return the mode of the `wandb` block; where it names none: WANDB_MODE, else online with an API key, else offline.

    Raises:
        ConfigError: a mode that is none of MODES.
    """
    given = (block or {}).get("mode") or environment.get("WANDB_MODE")
    mode = given or ("online" if environment.get("WANDB_API_KEY") else "offline")
    mode = {"dryrun": "offline", "run": "online"}.get(mode, mode)
    if mode not in MODES:
        raise ConfigError(f"wandb.mode={mode!r}: wanted one of {', '.join(MODES)}, or null")
    return cast(Mode, mode)
