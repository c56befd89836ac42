"""Registers dataflex_rl with verl. verl imports this module in the driver and in every Ray worker (`verl.plugins`).

verl swallows what a plugin raises and later says only "Unknown trainer", so the reason is kept in `STATUS`, printed,
and given again by trainers of our names that do nothing but raise it.
"""

from __future__ import annotations

import importlib.util
import os
from importlib import metadata

from dataflex_rl.errors import ConfigError

SUPPORTED = ("0.9.1", "0.10")
TRAINERS = ("dataflex_sync", "dataflex_mix_sync")
STATUS = "not loaded"


def why_unsupported() -> str | None:
    """Return why this installation cannot serve verl, None if it can."""
    from packaging.version import Version

    version = Version(metadata.version("verl"))
    if not Version(SUPPORTED[0]) <= version < Version(SUPPORTED[1]):
        return f"dataflex_rl works with verl >={SUPPORTED[0]},<{SUPPORTED[1]}, found {version}"
    if importlib.util.find_spec("transfer_queue") is None:
        return "TransferQueue is not installed, which verl's v1 trainer needs: pip install TransferQueue"
    return None


def register() -> str:
    """Register platform, engines, rollout, agent loop and trainers; return "registered" or the reason why not."""
    try:
        reason = why_unsupported()
        if reason is None:
            from dataflex_rl.host.registration import register_all

            register_all()
            return "registered"
    except ConfigError as error:  # a hook that does not fit: it says all there is to say
        reason = str(error)
    except (ImportError, AttributeError, TypeError, AssertionError) as error:
        reason = f"dataflex_rl could not load into verl: {type(error).__name__}: {error}"
    return reason


def register_reason(reason: str) -> None:
    """Register our trainer names with classes that raise the reason, where verl's registry can be imported."""
    try:
        from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY, PPOTrainer, register_trainer
    except ImportError:  # then verl itself cannot train, and says so
        return

    class Unavailable(PPOTrainer):
        """Stands for a trainer of ours that could not be loaded."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            raise RuntimeError(reason)

        def on_step_end(self) -> None:
            """Never reached."""

        def on_sample_end(self) -> None:
            """Never reached."""

    for name in TRAINERS:
        if name not in TRAINER_REGISTRY:
            register_trainer(name)(Unavailable)


STATUS = register()
if STATUS != "registered":
    register_reason(STATUS)
if STATUS != "registered" and os.environ.get("DATAFLEX_RL_QUIET") != "1":
    print(f"dataflex_rl: {STATUS}; trainers {', '.join(TRAINERS)} are not available", flush=True)
