"""A replay buffer that realises a mixer's shares among the finished groups, where more is generated than consumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflex_rl.feed.identity import TrajectoryKey
from dataflex_rl.host.replay import OrderedReplayBuffer


class MixReplayBuffer(OrderedReplayBuffer):
    """The ordered buffer; groups beyond the batch are counted and dropped, after everything in flight has finished.

    It is verl's `trainer.v1.sampler.custom_sampler`, with the settings of `OrderedReplayBuffer` in `sampler_kwargs`.
    The trainer sets `choose`: (uids of complete groups, uids of groups of which a response failed, groups expected) ->
    uids that the batch consumes. Until it does, and for validation, nothing differs from the ordered buffer.
    `surplus_prompts` and `surplus_tokens` [response tokens] are what the last batch dropped.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choose: Callable[[Sequence[str], Sequence[str], int], Sequence[str]] | None = None
        self.surplus_prompts = 0
        self.surplus_tokens = 0

    def _sampleable_terminal_keys(self, partition_id: str, eviction_reasons: Any) -> set[str]:
        in_flight = self.pending_keys[partition_id] or self.running_keys[partition_id]
        if self.choose is not None and partition_id != "val" and in_flight:
            return set()  # what is still generated would be finished by other weights
        found: set[str] = super()._sampleable_terminal_keys(partition_id, eviction_reasons)
        return found

    def _select_prompt_uids(
        self, partition_id: str, sampleable_keys: set[str], batch_size: int
    ) -> tuple[list[str], dict[str, dict[str, Any]], dict[str, int]]:
        if self.choose is None or partition_id == "val":
            return super()._select_prompt_uids(partition_id, sampleable_keys, batch_size)
        ordered, snapshot, steps = super()._select_prompt_uids(partition_id, sampleable_keys, len(sampleable_keys))
        failed = self.failure_keys[partition_id]
        has_rows = {TrajectoryKey.parse(key).uid for key in snapshot}
        usable = [uid for uid in ordered if uid in has_rows]
        complete, partial = [uid for uid in usable if uid not in failed], [uid for uid in usable if uid in failed]
        picked = set(self.choose(complete, partial, batch_size))
        self._drop(partition_id, set(ordered) - picked, snapshot)
        return [uid for uid in ordered if uid in picked], snapshot, steps

    def _drop(self, partition_id: str, surplus: set[str], snapshot: dict[str, dict[str, Any]]) -> None:
        """Clear the groups that no one consumes from the queue, and count them."""
        tags = [tag for key, tag in snapshot.items() if TrajectoryKey.parse(key).uid in surplus]
        self.surplus_prompts = len(surplus)
        self.surplus_tokens = sum(int(tag["response_len"]) for tag in tags)
        self._clear_groups(partition_id, surplus)

    def count_surplus(self, metrics: dict[str, Any]) -> None:
        """Log what the last batch dropped; its tokens were generated, and cost what they cost."""
        surplus = float(self.surplus_tokens)
        metrics["dataflex/surplus_prompts"] = float(self.surplus_prompts)
        metrics["dataflex/surplus_tokens"] = surplus
        metrics["dataflex/tokens_generated"] += surplus
        metrics["dataflex/tokens_dropped"] += surplus
