"""verl's own synchronous trainer on a CPU: the baseline that `uniform` must equal, bit for bit."""

from __future__ import annotations

from typing import Any

import ray
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.device import get_device_name

from dataflex_rl.host.cpu.workers import CpuActorRolloutRefWorker, CpuTrainingWorker

ROLLED_OUT = ("prompts", "responses", "response_mask", "loss_mask", "input_ids", "position_ids")  # in every row
READ_BY_WORKERS = frozenset(
    (*ROLLED_OUT, "rollout_log_probs", "old_log_probs", "ref_log_prob", "advantages", "returns", "values", "entropy",
     "rm_scores", "token_level_scores", "token_level_rewards", "rollout_is_weights")
)  # fmt: skip


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

    def _compute_old_log_prob(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        return super()._compute_old_log_prob(self._lean(batch), metrics)

    def _compute_ref_log_prob(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        return super()._compute_ref_log_prob(self._lean(batch), metrics)

    def _update_actor(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        return super()._update_actor(self._lean(batch), metrics)

    def _lean(self, batch: KVBatchMeta) -> KVBatchMeta:
        """Name the fields that a worker reads of text; on a CPU, moving all the others costs more than the model does.

        Without names a worker fetches everything: prompts as messages, golds, what the verifier said.
        """
        if get_device_name() == "cpu" and self.processor is None:
            known = ROLLED_OUT if batch.fields is None else batch.fields
            batch.fields = [name for name in known if name in READ_BY_WORKERS]
        return batch


@register_trainer("sync_cpu")
class NativeSyncTrainer(SyncOnAnyDevice):
    """verl's own sync trainer; nothing but the workers differs."""
