"""verl's synchronous trainer with a data policy, a feed of prompts and a run record.

`dataflex_sync` is verl's own `PPOTrainerSync` with these differences, each at a hook verl calls anyway: prompts come
from a feed and get stable uids (`_next_train_batch`), batches come in a fixed order (`_build_replay_buffer`), the
policy weighs the batch after the advantages (`_compute_advantage`), validation results are kept per item
(`on_validate_end`), and our state is saved with verl's checkpoint. The feed is verl's own dataloader, unless a mixer or
a prompt selector draws; with `uniform` none of these changes a number verl computes. `dataflex_mix_sync` is the same
trainer under the name that mixed runs have in their records.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils import tensordict_utils as tu

from dataflex_rl.config.mixing import MIX_MODE, PLAIN_MODE, check_mode, listed
from dataflex_rl.config.plain import plain
from dataflex_rl.data.benchmarks.rates import flags, rate_metrics
from dataflex_rl.data.catalogue import TRAIN, VAL
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import parse_feed, take_feed
from dataflex_rl.feed.draw_counter import PromptLedger
from dataflex_rl.host import agent_loop
from dataflex_rl.host.early_end import EndsEarly
from dataflex_rl.host.feed_checks import check_feed
from dataflex_rl.host.feed_of import make_feed
from dataflex_rl.host.feeds import LoaderFeed, RowFeed
from dataflex_rl.host.lengths import check_prompts
from dataflex_rl.host.logbook import Logbook
from dataflex_rl.host.mix_replay import MixReplayBuffer
from dataflex_rl.host.policy_step import PolicyStep, host_facts
from dataflex_rl.host.replay import OrderedReplayBuffer
from dataflex_rl.host.rounds_replay import RoundsReplayBuffer
from dataflex_rl.host.state import check_fingerprint, feed_state, folder_of, load_state, save_state
from dataflex_rl.host.validation import read_items
from dataflex_rl.policy import Policy
from dataflex_rl.seeding import dataset_fingerprint

logger = logging.getLogger(__name__)


@register_trainer(MIX_MODE)
@register_trainer(PLAIN_MODE)
class DataflexSyncTrainer(EndsEarly):
    """verl's sync trainer with a data policy, a mixer and a prompt selector (configuration block `dataflex`)."""

    feed: LoaderFeed | RowFeed  # once the data are loaded

    def __init__(self, config: DictConfig) -> None:
        policy_block, blocks = take_feed(plain(config.dataflex) if "dataflex" in config else {})
        self.policy = Policy.from_config(policy_block)
        self.policy.check(host_facts(config))
        self.sources = parse_feed(blocks)
        check_mode(str(config.trainer.v1.trainer_mode), self.sources)
        check_feed(self.sources, config, host_facts(config))
        if config.algorithm.filter_groups.enable:
            raise ConfigError(
                "algorithm.filter_groups.enable=true would be dropped by this trainer; use actuator=difffilter"
            )
        agent_loop.use_ours(config)
        self.ledger = PromptLedger()
        self.book = Logbook.open(config)
        self._domain_key = self.sources.domain_key
        self._skip_update = False
        self._decided = 0  # the last step on which the policy was applied
        super().__init__(config)

    # ------------------------------------------------------------------ set-up

    def _build_replay_buffer(self) -> ReplayBuffer:
        sampler = self.config.trainer.v1.sampler
        if (sampler.get("custom_sampler") or {}).get("path"):
            buffer = super()._build_replay_buffer()
        else:
            kind = OrderedReplayBuffer if self.sources.mixer is None else MixReplayBuffer
            kind = RoundsReplayBuffer if self.sources.gathers else kind
            buffer = kind(
                trainer_mode="sync",
                trainer_config=self.config.trainer.v1.get("sync", {}),
                max_off_policy_threshold=sampler.max_off_policy_threshold,
                max_off_policy_strategy=sampler.max_off_policy_strategy,
                sampler_kwargs=sampler.sampler_kwargs,
                refill_fn=self._add_prompts_to_generate,
            )
        if isinstance(buffer, OrderedReplayBuffer):
            buffer.on_validation = self._collect_items
        if self.sources.oversample > 1 and not isinstance(buffer, MixReplayBuffer):
            raise ConfigError(
                f"dataflex.mixer.oversample={self.sources.oversample} needs our replay buffer, but "
                f"trainer.v1.sampler.custom_sampler is {type(buffer).__name__}; leave one of the two out"
            )
        return buffer

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        check_prompts(self.config, self.tokenizer, {TRAIN: self.train_dataset, VAL: self.val_dataset})
        columns = self.train_dataset.dataframe.column_names
        self._domain_column = self._domain_key if self._domain_key in columns else "data_source"
        if self._domain_column != self._domain_key:
            logger.warning("train data has no column %r; domains are taken from 'data_source'", self._domain_key)
        self._fingerprint = dataset_fingerprint(
            listed(self.config.data.train_files),
            prompt_column=self.config.data.prompt_key,
            domain_column=self._domain_column,
        )
        correction = self.config.algorithm.get("rollout_correction") or {}
        self._policy_step = PolicyStep(
            self.policy,
            domain_column=self._domain_column,
            has_is_weights=correction.get("rollout_is") is not None,
            also=self.sources.requires,
        )
        self.feed = make_feed(
            self.sources,
            self.config.data,
            self.train_dataset,
            domain_key=self._domain_column,
            steps=self.total_training_steps,
            n=self.config.actor_rollout_ref.rollout.n,
            fetch=super()._next_train_batch,
        )
        self.feed.mount(self.replay_buffer, self._submit_round)

    # ------------------------------------------------------------------ a step

    def _next_train_batch(self, num_prompts: int | None = None) -> TensorDict:
        """Draw prompts, give them their uids and enter them in the ledger."""
        every, last = self.config.trainer.save_freq, self.global_steps >= self.total_training_steps
        self.feed.may_carry = not (every > 0 and (last or self.global_steps % every == 0))
        return self._stamped(self.feed.draw(num_prompts))

    def _submit_round(self, batch: TensorDict, uids: Sequence[str] | None) -> None:
        """Generate further prompts of this step, or more responses of those with these uids."""
        self._submit_batch_to_rollout(self._stamped(batch, uids))

    def _stamped(self, batch: TensorDict, uids: Sequence[str] | None = None) -> TensorDict:
        if uids is None:
            prompts, domains = batch["raw_prompt"], [str(name) for name in batch[self._domain_column]]
            uids = self.ledger.take([list(prompts[i]) for i in range(len(batch))], domains)
            self.feed.drew(uids)
        tu.assign_non_tensor_stack(batch, "uid", list(uids))
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        return batch

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        batch, decision = self._policy_step(super()._compute_advantage(batch, metrics), step=self.global_steps)
        self._decided = self.global_steps
        self.book.applied(self.global_steps)
        metrics.update({**decision.metrics, **self.feed.observe(self.global_steps, decision)})
        if isinstance(self.feed, RowFeed) and isinstance(self.replay_buffer, MixReplayBuffer):
            self.replay_buffer.count_surplus(metrics)
        if self._generated(metrics["dataflex/tokens_generated"]):
            self.book.end_at(self.global_steps)
            self.feed.let_go()
        self.book.trace(self.global_steps, decision.trace)
        self._skip_update = decision.skip_update or self.feed.skip_update
        return batch

    def _update_actor(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        return batch if self._skip_update else super()._update_actor(batch, metrics)

    # ------------------------------------------------------------------ evaluation and records

    def on_validate_begin(self) -> None:
        """Start collecting the items of a validation."""
        self._items: list[dict[str, Any]] = []
        self.book.phase("untrained" if self.global_steps == 0 else "evaluate")
        super().on_validate_begin()

    def on_validate_end(self) -> None:
        """Put the items into the record."""
        super().on_validate_end()
        self.book.evaluation(self._items, step=self.global_steps)
        self.book.phase("train")

    def _validate(self) -> dict[str, float]:
        metrics: dict[str, float] = super()._validate()
        for line in flags(self._items):
            logger.warning("evaluation at step %d: %s", self.global_steps, line)
        return metrics | rate_metrics(self._items)

    def _collect_items(self, batch: KVBatchMeta) -> None:
        columns = self.val_dataset.dataframe.column_names
        self._items += read_items(
            batch,
            domain_column=self._domain_key if self._domain_key in columns else None,
            response_length=self.config.actor_rollout_ref.rollout.response_length,
        )

    @property
    def logger(self) -> Any:
        """verl's Tracking, preceded by the run record."""
        return self._logger

    @logger.setter
    def logger(self, tracking: Any) -> None:
        self._logger = self.book.wrap(tracking)

    def _save_checkpoint(self) -> None:
        save_state(folder_of(self.config.trainer, self.global_steps), self._state())
        super()._save_checkpoint()
        self.book.checkpoint(self.global_steps)

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps > 0:
            folder = folder_of(self.config.trainer, self.global_steps)
            self._load_state(load_state(folder), folder)
        self.book.begin(step=self.global_steps, steps=self.total_training_steps)

    def _state(self) -> dict[str, Any]:
        """Return all of our state, as plain data."""
        return {
            "policy": self.policy.state_dict(),
            "feed": self.ledger.state_dict(),
            "fingerprint": self._fingerprint,
            "mixer": None,
            "tokens": self._tokens,
            **({} if self.feed.part is None else {self.feed.part: self.feed.state_dict()}),
        }

    def _load_state(self, state: dict[str, Any], folder: Path) -> None:
        """Continue from the state of a checkpoint; ConfigError where it is of other data or components."""
        check_fingerprint(state, self._fingerprint, folder)
        saved = feed_state(state, self.feed.part, folder)
        self.policy.load_state_dict(state["policy"])
        self.ledger.load_state_dict(state["feed"])
        self._tokens = int(state.get("tokens", 0))
        if saved is not None:
            self.feed.load_state_dict(saved)

    def _compute_metrics(self, batch: KVBatchMeta, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        if self._decided != self.global_steps:
            raise RuntimeError(
                f"the policy {self.policy.name!r} was not applied at step {self.global_steps}: verl trained on the "
                "batch without calling PPOTrainer._compute_advantage"
            )
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        self.book.digest(self.global_steps, self.ledger.digest.state_dict())
        self.book.predictions(self.global_steps, self.feed.predictions())
