"""A replay buffer for steps that generate more than once: it waits for each round, and asks what comes next."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from transfer_queue import KVBatchMeta

from dataflex_rl.feed.identity import TrajectoryKey
from dataflex_rl.host.replay import OrderedReplayBuffer

Settle = Callable[[Mapping[str, list[str]]], "tuple[list[str], list[str]] | None"]


class RoundsReplayBuffer(OrderedReplayBuffer):
    """The ordered buffer; a batch has as many groups as the rounds end with, fewer or other ones than were drawn first.

    The trainer sets `settle`: (keys of the trajectories there are, by the uid of their prompt) -> None where it has
    asked for more to be generated, else the uids that the batch consumes, and those that nobody will. Groups in neither
    list wait for the next step. Until it is set, and for validation, nothing differs from the ordered buffer.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.settle: Settle | None = None
        self._picked: set[str] | None = None

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Return the batch that the rounds of this step end with."""
        if self.settle is None or partition_id == "val":
            return super().sample(global_steps, partition_id, batch_size)  # type: ignore[no-any-return]
        picked, dropped = self._settled(partition_id)
        self._clear_groups(partition_id, set(dropped))
        self._picked = set(picked)
        try:
            return super().sample(global_steps, partition_id, len(picked))  # type: ignore[no-any-return]
        finally:
            self._picked = None

    def _settled(self, partition_id: str) -> tuple[list[str], list[str]]:
        """Wait for round after round until the step has its groups."""
        assert self.settle is not None
        last = time.time()
        while True:
            self._sync_metadata_from_transfer_queue()
            if self.pending_keys[partition_id] or self.running_keys[partition_id]:
                last = self._wait_for_next_poll(partition_id, last)
                continue
            if self.failure_keys[partition_id] and self._on_failure == "error":
                self._wait_for_next_poll(partition_id, last)
            keys_of: dict[str, list[str]] = {}
            for key in self.partitions[partition_id]:
                keys_of.setdefault(TrajectoryKey.parse(key).uid, []).append(key)
            if (found := self.settle(keys_of)) is not None:
                return found

    def _sampleable_terminal_keys(self, partition_id: str, eviction_reasons: Any) -> set[str]:
        found: set[str] = super()._sampleable_terminal_keys(partition_id, eviction_reasons)
        return found if self._picked is None or partition_id == "val" else found & self._picked
