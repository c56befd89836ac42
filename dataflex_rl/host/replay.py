"""A replay buffer that hands out batches in a fixed order.

verl's uids are random and its rows come in completion order, so two runs of one seed train on differently ordered
batches. Here rows are ordered by (prompt key, draw, rollout index, output index), read from the queue.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.identity import Identity, TrajectoryKey, from_uid, identify

_SETTINGS: dict[str, Any] = {"poll_interval": 0.02, "on_failure": "error", "filter_groups": False}


class OrderedReplayBuffer(ReplayBuffer):
    """verl's synchronous replay buffer in deterministic order.

    Settings (`trainer.v1.sampler.sampler_kwargs`): poll_interval [s] between looks at the queue (verl: 2.0);
    on_failure `error` or `pad` (verl: a prompt whose rollout failed trains with the responses that exist).
    `on_validation` is called with each validation batch before verl reads and clears it.

    Raises:
        ConfigError: an unknown setting, or `algorithm.filter_groups.enable`, which verl drops for custom samplers.
    """

    def __init__(self, **kwargs: Any) -> None:
        settings = _SETTINGS | dict(kwargs.get("sampler_kwargs") or {})
        if unknown := sorted(set(settings) - set(_SETTINGS)):
            raise ConfigError(f"trainer.v1.sampler.sampler_kwargs: unknown {unknown}; known: {sorted(_SETTINGS)}")
        if settings["filter_groups"]:
            raise ConfigError(
                "algorithm.filter_groups.enable=true is dropped by verl where a custom sampler is set; "
                "use actuator=difffilter, or trainer.v1.trainer_mode=sync with verl's own sampler"
            )
        super().__init__(**kwargs)
        self.poll_interval = float(settings["poll_interval"])
        self._on_failure = settings["on_failure"]
        self.on_validation: Callable[[KVBatchMeta], None] | None = None

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        if self.failure_keys[partition_id] and self._on_failure == "error":
            failed = sorted(self.failure_keys[partition_id])
            raise RuntimeError(
                f"the rollout of {len(failed)} prompts failed (first uid {failed[0]}); see the log above"
            )
        return float(super()._wait_for_next_poll(partition_id, last_debug_time))

    def _select_prompt_uids(
        self, partition_id: str, sampleable_keys: set[str], batch_size: int
    ) -> tuple[list[str], dict[str, dict[str, Any]], dict[str, int]]:
        if self.failure_keys[partition_id] and self._on_failure == "error":
            self._wait_for_next_poll(partition_id, time.time())
        snapshot = dict(self.partitions[partition_id])
        identity_of = self._identify(partition_id, sampleable_keys, snapshot)
        ordered = sorted(sampleable_keys, key=lambda uid: (*identity_of[uid], uid))
        return ordered[:batch_size], snapshot, dict(self.prompt_global_steps[partition_id])

    def _identify(self, partition_id: str, uids: set[str], snapshot: dict[str, Any]) -> dict[str, Identity]:
        """Return the identity of each finished prompt; foreign uids cost one read of their messages."""
        found = {uid: who for uid in uids if (who := from_uid(uid)) is not None}
        one_of = {TrajectoryKey.parse(key).uid: key for key in snapshot}
        foreign = [uid for uid in uids if uid not in found and uid in one_of]
        if foreign:
            rows = tq.kv_batch_get(
                keys=[one_of[uid] for uid in foreign], partition_id=partition_id, select_fields=["raw_prompt"]
            )
            prompts = rows["raw_prompt"]
            found |= {uid: identify(uid, list(prompts[i])) for i, uid in enumerate(foreign)}
        return {uid: found.get(uid, Identity("", 0)) for uid in uids}

    def _materialize_batch(
        self, partition_id: str, selected_prompt_uids: list[str], partition_snapshot: dict[str, dict[str, Any]]
    ) -> KVBatchMeta:
        batch = super()._materialize_batch(partition_id, selected_prompt_uids, partition_snapshot)
        place = {uid: i for i, uid in enumerate(selected_prompt_uids)}
        parts = [TrajectoryKey.parse(key) for key in batch.keys]
        order = sorted(range(len(parts)), key=lambda i: (place[parts[i].uid], parts[i].session, parts[i].output))
        batch.reorder(order)
        if partition_id == "val" and self.on_validation is not None:
            self.on_validation(batch)
        return batch
