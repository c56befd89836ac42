"""Puts our parts into verl's registries. Called once per process, by the plugin."""

from __future__ import annotations

import os

from dataflex_rl.host.hook_check import check, works_with
from dataflex_rl.host.hooks import AT_REGISTRATION, FIRST, HOOKS


def register_platform() -> None:
    """Offer the CPU platform, and take it where verl already fell back to a platform that is not there."""
    from verl.plugin.platform import platform_manager

    from dataflex_rl.host.cpu.platform import PlatformCPU

    registry = platform_manager.PlatformRegistry
    if registry.get("cpu") is None:
        registry.register(platform="cpu")(PlatformCPU)
    expected = os.environ.get("VERL_PLATFORM", "").strip().lower()
    current = platform_manager._current_platform
    if current is not None and expected in ("", "cpu") and not current.is_platform_available(use_smi_check=True):
        platform_manager.set_platform(PlatformCPU())


def register_all() -> None:
    """Register platform, engines, rollout server, agent loop, trainers; the platform first: verl reads it at import.

    Raises:
        HookError: something of verl that we build on is missing or takes other parameters.
    """
    works = works_with(HOOKS)
    check(FIRST, works=works)
    register_platform()
    check(AT_REGISTRATION, works=works)
    from verl.workers.rollout.base import _ROLLOUT_REGISTRY
    from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

    from dataflex_rl.host.cpu.engines import register_engines
    from dataflex_rl.host.cpu.rollout import ROLLOUT_NAME

    def load_replica() -> type[RolloutReplica]:
        from dataflex_rl.host.cpu.rollout.replica import DataflexReplica

        return DataflexReplica

    register_engines()
    RolloutReplicaRegistry.register(ROLLOUT_NAME, load_replica)
    _ROLLOUT_REGISTRY[ROLLOUT_NAME, "async"] = "dataflex_rl.host.cpu.rollout.adapter.DataflexRollout"

    import dataflex_rl.host.agent_loop
    import dataflex_rl.host.cpu.native
    import dataflex_rl.host.trainer  # noqa: F401
