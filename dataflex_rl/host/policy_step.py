"""The data policy inside verl's step: read the signals from the queue, write the weights back.

The weights go into `rollout_is_weights`, the one per-token factor that verl's policy losses multiply before they
aggregate. Where verl's rollout correction already wrote importance weights, the policy multiplies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf
from tensordict import TensorDict
from transfer_queue import KVBatchMeta

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.segments import total_B
from dataflex_rl.feed.blocks import RAW_OUTCOME
from dataflex_rl.feed.identity import TrajectoryKey, identify
from dataflex_rl.policy import Decision, HostFacts, Policy

_FIELDS = frozenset({"rm_scores", "response_mask", "uid", "advantages", "old_log_probs", "acc"})


def host_facts(config: DictConfig) -> HostFacts:
    """Return what a policy must know of the run before it may be mounted."""
    correction = config.algorithm.get("rollout_correction") or {}
    loss_mode = config.actor_rollout_ref.actor.policy_loss.get("loss_mode", "vanilla")
    return HostFacts(
        adv_estimator=str(config.algorithm.adv_estimator),
        group_estimator=OmegaConf.select(config, "dataflex.group_estimator"),
        rollout_n=int(config.actor_rollout_ref.rollout.n),
        loss_mode=str(loss_mode),
        loss_agg_mode=str(config.actor_rollout_ref.actor.loss_agg_mode),
        bypass_mode=bool(correction.get("bypass_mode", False)) or loss_mode == "bypass_mode",
        fields=_FIELDS,
    )


class PolicyStep:
    """Applies one policy to each batch of a trainer.

    Args:
        policy: already checked against the host.
        domain_column: dataset column with each prompt's domain.
        has_is_weights: verl's rollout correction writes importance weights in this run.
        also: batch fields that the feed reads besides the policy; `raw_outcome` among them.
    """

    def __init__(
        self, policy: Policy, *, domain_column: str, has_is_weights: bool, also: frozenset[str] = frozenset()
    ) -> None:
        self.policy = policy
        self._wanted = policy.requires | also
        self._domain_column = domain_column
        self._has_is_weights = has_is_weights

    def __call__(self, batch: KVBatchMeta, step: int) -> tuple[KVBatchMeta, Decision]:
        """Decide on a batch and, unless the policy acts as uniform, write its weights into the queue.

        Returns the batch to go on with: workers fetch the fields that its metadata names, no others.
        """
        signals = self.read(batch)
        decision = self.policy.apply(signals, step=step)
        if self.policy.kind != "uniform" and decision.acts:
            weights = torch.nested.nested_tensor_from_jagged(decision.weight_N, signals.offset_B1)
            batch = tq.kv_batch_put(
                keys=batch.keys,
                partition_id=batch.partition_id,
                fields=TensorDict({"rollout_is_weights": weights}, batch_size=len(batch)),
            )
        return batch, decision

    def read(self, batch: KVBatchMeta) -> Batch:
        """Return the batch's signals as flat tensors, in the batch's order."""
        fields = ["response_mask", "rm_scores", "advantages", self._domain_column, "raw_prompt"]
        fields += ["old_log_probs"] if "old_log_probs" in self._wanted else []
        fields += ["extra_fields"] if self._wanted & {"acc", RAW_OUTCOME} else []
        fields += ["rollout_is_weights"] if self._has_is_weights else []
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        keys = [TrajectoryKey.parse(key) for key in batch.keys]
        uids = [key.uid for key in keys]
        prompts = data["raw_prompt"]
        mask = data["response_mask"]
        infos = verdicts(data["extra_fields"]) if "extra_fields" in fields else []
        raw_B = raw_outcome(infos, data["rm_scores"], mask.offsets()) if RAW_OUTCOME in self._wanted else None
        return Batch(
            offset_B1=mask.offsets(),
            response_mask_N=mask.values(),
            uid=uids,
            prompt_key=[identify(uid, list(prompts[i])).key for i, uid in enumerate(uids)],
            rollout_index_B=torch.tensor([key.session for key in keys]),
            is_padding_B=torch.tensor([bool(tag.get("is_padding", False)) for tag in batch.tags]),
            rm_score_N=data["rm_scores"].values(),
            advantage_N=data["advantages"].values(),
            old_log_prob_N=data["old_log_probs"].values() if "old_log_probs" in fields else None,
            acc_B=_accuracy(infos) if "acc" in self._wanted else None,
            raw_outcome_B=raw_B,
            domain=[str(name) for name in data[self._domain_column]],
            rollout_is_weight_N=data["rollout_is_weights"].values() if self._has_is_weights else None,
        )


def verdicts(extra_fields: Any) -> list[dict[str, Any]]:
    """Return what the verifier said of each response besides its reward."""
    return [dict(item).get("reward_extra_info", {}) for item in extra_fields]


def _accuracy(infos: Sequence[Mapping[str, Any]]) -> torch.Tensor:
    """Return the verifier's raw outcome of each response.

    Raises:
        KeyError: the reward function returned no `acc`.
    """
    if missing := sum("acc" not in info for info in infos):
        raise KeyError(f"signal 'acc': the reward function gave no 'acc' for {missing} of {len(infos)} responses")
    return torch.tensor([float(info["acc"]) for info in infos])


def raw_outcome(infos: Sequence[Mapping[str, Any]], rm_scores: Any, offset_B1: torch.Tensor) -> torch.Tensor:
    """float64 [B]: the verifier's raw outcome `acc`, where it gave none the reward, the sum of the token rewards."""
    reward_B = total_B(rm_scores.values(), offset_B1)
    raw = [float(info["acc"]) if "acc" in info else float(reward) for info, reward in zip(infos, reward_B, strict=True)]
    return torch.tensor(raw, dtype=torch.float64)
