"""What `dataflex-rl doctor` asks in processes of their own: a broken library must not take the doctor down.

Each probe returns plain JSON. None of the libraries is imported by importing this module.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from dataflex_rl.quiet import RAY

MARK = "dataflex-doctor:"  # before a probe's answer, among what its imports print


def answer(probe: Callable[[], dict[str, Any]]) -> None:
    """Print what a probe found, for `_probe` to read."""
    print(f"\n{MARK}{json.dumps(probe())}", flush=True)


def probe_torch() -> dict[str, Any]:
    """Return the accelerators torch sees, by name."""
    cuda = importlib.import_module("torch").cuda
    return {"devices": [f"cuda:{n} {cuda.get_device_name(n)}" for n in range(cuda.device_count())]}


def probe_driver() -> dict[str, Any]:
    """Return the table of hooks, those that do not fit, and the registration as the training process will see it."""
    hooks = importlib.import_module("dataflex_rl.host.hooks").HOOKS
    misfits = list(importlib.import_module("dataflex_rl.host.hook_check").misfits(hooks))
    table = [
        [hook.path, hook.how, ", ".join(hook.parameters), hook.why, f"{hook.first} to {hook.last}"] for hook in hooks
    ]
    found = registration() if not misfits else {"trainers": [], "status": "see verl interface"}
    return {"table": table, "misfits": misfits, **found}


def registration() -> dict[str, Any]:
    """Return verl's trainers and the plugin's own word, in this process."""
    importlib.import_module("verl")
    registry = importlib.import_module("verl.trainer.ppo.v1.trainer_base").TRAINER_REGISTRY
    plugin = sys.modules.get("dataflex_rl.plugin")
    status = "verl did not load the plugin" if plugin is None else str(getattr(plugin, "STATUS", "it did not finish"))
    return {"trainers": sorted(registry), "status": status}


def probe_worker() -> dict[str, Any]:
    """Return `registration` as a worker of a private Ray instance sees it."""
    ray = importlib.import_module("ray")
    ray.init(address="local", num_cpus=1, include_dashboard=False, **RAY)
    try:
        value = ray.get(ray.remote(num_cpus=1)(registration).remote())
    finally:
        ray.shutdown()
    assert isinstance(value, dict)
    return value
