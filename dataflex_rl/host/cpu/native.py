"""verl's own synchronous trainer on a CPU: the baseline that `uniform` must equal, bit for bit."""

from __future__ import annotations

from typing import Any

import ray
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.device import get_device_name

from dataflex_rl.host.cpu.workers import CpuActorRolloutRefWorker, CpuTrainingWorker


class SyncOnAnyDevice(PPOTrainerSync):
    """verl's sync trainer under another name, with workers that start gloo where the platform is the CPU."""

    role_worker_mapping: dict[Role, Any]

    # verl treats every mode but the literal "sync" as asynchronous, so the base class is told "sync".
    trainer_mode = property(lambda self: "sync", lambda self, value: None)

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        if get_device_name() != "cpu":
            return
        for role in self.role_worker_mapping:
            worker = CpuTrainingWorker if role == Role.Critic else CpuActorRolloutRefWorker
            self.role_worker_mapping[role] = ray.remote(worker)


@register_trainer("sync_cpu")
class NativeSyncTrainer(SyncOnAnyDevice):
    """verl's own sync trainer; nothing but the workers differs."""
