"""The trainer that mixes domains: a mixer's shares decide which prompts are generated.

`dataflex_mix_sync` is `dataflex_sync` with another feed. Where verl's sync trainer takes the next batch of its shuffled
dataloader, this one takes the next prompts of each domain's stream, the subsequence of that same shuffled order, in the
numbers that the shares ask for. With `oversample` above 1 it generates more than a batch and the replay buffer realises
the shares among the finished groups. A selector or reweighter acts as in `dataflex_sync`; the mixer's statistics are
taken from all responses, before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils import tensordict_utils as tu

from dataflex_rl.config.mixing import MIX_MODE, PLAIN_MODE, check_not_shadow
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.choose import chosen
from dataflex_rl.feed.config import parse_mixer
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import check_several, resolve_domains
from dataflex_rl.feed.measure import realised, tally_batch
from dataflex_rl.feed.planner import Planner
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.host.mix_feed import SamplerOrder, check_mixer, collated, domain_column
from dataflex_rl.host.mix_replay import MixReplayBuffer
from dataflex_rl.host.policy_step import host_facts
from dataflex_rl.host.trainer import DataflexSyncTrainer
from dataflex_rl.policy.metrics import summarize


@register_trainer(MIX_MODE)
class DataflexMixSyncTrainer(DataflexSyncTrainer):
    """verl's sync trainer with a data policy and a domain mixer (configuration block `dataflex.mixer`)."""

    replay_buffer_class = MixReplayBuffer

    def _mount_mixer(self, config: DictConfig, block: Mapping[str, Any]) -> None:
        parsed = parse_mixer(block)
        if parsed is None:
            raise ConfigError(
                f"trainer.v1.trainer_mode={MIX_MODE} needs a mixer; set dataflex.mixer.name, or use {PLAIN_MODE}"
            )
        check_not_shadow(parsed.name, config.dataflex.get("shadow", False))
        check_mixer(parsed, host_facts(config))
        steps = (config.trainer.v1.get("sync") or {}).get("parameter_sync_step", 1)
        if steps != 1:
            raise ConfigError(
                f"trainer.v1.sync.parameter_sync_step={steps} cuts a batch in parts, which would break a mixer's "
                "counts; set it to 1"
            )
        self.mixing = parsed
        self._fields = parsed.requires
        self._place: dict[str, tuple[int, int]] = {}  # uid -> (domain, place in the draw), of the step's prompts
        self._ask_D: list[int] = []
        self._shortage_D: list[int] = []

    def _build_replay_buffer(self) -> ReplayBuffer:
        buffer = super()._build_replay_buffer()
        if isinstance(buffer, MixReplayBuffer):
            buffer.choose = self._choose
        elif self.mixing.oversample > 1:
            raise ConfigError(
                f"dataflex.mixer.oversample={self.mixing.oversample} needs our replay buffer, but "
                f"trainer.v1.sampler.custom_sampler is {type(buffer).__name__}; leave one of the two out"
            )
        return buffer

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        data, mixing = self.config.data, self.mixing
        names = domain_column(self.train_dataset, mixing.domain_key)
        self._domains = resolve_domains(mixing.domains, names)
        check_several(mixing.name, self._domains.names)
        streams = DomainStreams(
            SamplerOrder(data, self.train_dataset, data.get("gen_batch_size") or data.train_batch_size),
            [self._domains.index(name) for name in names],
            self._domains.names,
        )
        self.planner = Planner(DomainMixer(mixing, self._domains.names), streams)

    # ------------------------------------------------------------------ a step

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        """Draw the prompts of a step; verl asks for a number only to replace failed ones."""
        consume = int(self.config.data.train_batch_size)
        if num_prompts is None:
            draw = self.planner.draw(consume, math.ceil(round(self.mixing.oversample * consume, 6)))
            self._place, self._ask_D, self._shortage_D = {}, draw.ask_D, [0] * len(draw.ask_D)
        else:
            draw = self.planner.draw(num_prompts, num_prompts)
            self._ask_D = [old + new for old, new in zip(self._ask_D, draw.ask_D, strict=True)]
        batch = self._identified(collated(self.train_dataset, draw.rows))
        for uid, domain in zip(batch["uid"], draw.domain_of, strict=True):
            self._place[str(uid)] = (domain, len(self._place))
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        return batch

    def _choose(self, complete: Sequence[str], partial: Sequence[str], batch_size: int) -> list[str]:
        """Return the groups to consume: of each domain those that were drawn first, complete ones before others."""
        available: list[list[str]] = [[] for _ in self._ask_D]
        for uids in (complete, partial):
            for uid in sorted(uids, key=self._place.__getitem__):
                available[self._place[uid][0]].append(uid)
        picked, self._shortage_D = chosen(available, self._ask_D, self.planner.target_D, batch_size)
        return picked

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        batch = super()._compute_advantage(batch, metrics)
        decision = self._decision
        tally = tally_batch(self.mixing, decision.batch, self._domains, self.global_steps)
        weights = summarize(decision.batch, decision.weight_B, decision.factor_N, decision.keep_B)
        consumed = realised(decision.batch, weights.trained_B, self._domains, self._shortage_D)
        metrics.update(self.planner.finish(self.global_steps, tally, consumed))
        if isinstance(self.replay_buffer, MixReplayBuffer):
            metrics["dataflex/surplus_prompts"] = float(self.replay_buffer.surplus_prompts)
            metrics["dataflex/surplus_tokens"] = surplus = float(self.replay_buffer.surplus_tokens)
            metrics["dataflex/tokens_generated"] += surplus  # they were generated, and cost what they cost
            metrics["dataflex/tokens_dropped"] += surplus
        return batch

    # ------------------------------------------------------------------ state

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "mixer": self.planner.state_dict()}

    def _load_state(self, state: dict[str, Any], folder: Path) -> None:
        super()._load_state(state, folder)
        self.planner.load_state_dict(state["mixer"])

    def _check_mixer_state(self, saved: Mapping[str, Any] | None, folder: Path) -> None:
        if saved is None:
            raise ConfigError(f"checkpoint {folder} has no mixer state: it was not written by trainer_mode={MIX_MODE}")
