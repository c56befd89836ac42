"""verl's workers on a CPU.

verl builds the process group with the backend string "cpu:gloo,<device>:<backend>"; on a CPU that names the device
twice and torch refuses it. It does so only when no group exists, so these subclasses create the gloo group first.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from verl.utils.device import get_device_name
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker


def start_gloo() -> None:
    """Create the gloo process group of this worker from the environment verl set, once."""
    if get_device_name() != "cpu" or torch.distributed.is_initialized():
        return
    torch.distributed.init_process_group(
        backend="gloo",
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
        init_method=os.environ.get("DIST_INIT_METHOD"),
    )


class CpuTrainingWorker(TrainingWorker):
    """verl's training worker (critic) with the gloo group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        start_gloo()
        super().__init__(*args, **kwargs)


class CpuActorRolloutRefWorker(ActorRolloutRefWorker):
    """verl's actor, rollout and reference worker with the gloo group."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        start_gloo()
        super().__init__(*args, **kwargs)
