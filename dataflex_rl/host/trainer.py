"""verl's synchronous trainer with a data policy, a counted prompt feed and a run record.

`dataflex_sync` is verl's own `PPOTrainerSync` with these differences, each at a hook verl calls anyway: prompts get
stable uids (`_fetch_one_gen_batch`), batches come in a fixed order (`_build_replay_buffer`), the policy weighs the
batch after the advantages (`_compute_advantage`), validation results are kept per item (`on_validate_end`), and our
state is saved with verl's checkpoint. With `uniform` none of them changes a number verl computes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils import tensordict_utils as tu

from dataflex_rl.config.plain import plain
from dataflex_rl.data.benchmarks.rates import flags, rate_metrics
from dataflex_rl.data.catalogue import TRAIN, VAL
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.draw_counter import PromptLedger
from dataflex_rl.host import agent_loop
from dataflex_rl.host.cpu.native import SyncOnAnyDevice
from dataflex_rl.host.lengths import check_prompts
from dataflex_rl.host.logbook import Logbook
from dataflex_rl.host.policy_step import PolicyStep, host_facts
from dataflex_rl.host.replay import OrderedReplayBuffer
from dataflex_rl.host.state import check_fingerprint, load_state, save_state
from dataflex_rl.host.validation import read_items
from dataflex_rl.policy import Decision, Policy, split_block
from dataflex_rl.seeding import dataset_fingerprint

logger = logging.getLogger(__name__)


@register_trainer("dataflex_sync")
class DataflexSyncTrainer(SyncOnAnyDevice):
    """verl's sync trainer with a data policy (configuration block `dataflex`)."""

    replay_buffer_class: type[OrderedReplayBuffer] = OrderedReplayBuffer
    _decision: Decision  # of the current step
    _fields: frozenset[str] = frozenset()  # batch fields that are read besides the policy's

    def __init__(self, config: DictConfig) -> None:
        policy_block, mixer_block = split_block(plain(config.dataflex) if "dataflex" in config else {})
        self.policy = Policy.from_config(policy_block)
        self.policy.check(host_facts(config))
        self._mount_mixer(config, mixer_block)
        if config.algorithm.filter_groups.enable:
            raise ConfigError(
                "algorithm.filter_groups.enable=true would be dropped by this trainer; use actuator=difffilter"
            )
        _use_our_agent_loop(config)
        self.ledger = PromptLedger()
        self.book = Logbook.open(config)
        self._domain_key = str(mixer_block.get("domain_key", "domain"))
        self._skip_update = False
        self._decided = 0  # the last step on which the policy was applied
        super().__init__(config)

    # ------------------------------------------------------------------ set-up

    def _mount_mixer(self, config: DictConfig, block: Mapping[str, Any]) -> None:
        """Refuse a mixer, which this trainer's feed would ignore; the trainer that mixes overrides this."""
        if block["name"] != "none":
            raise ConfigError(
                f"mixer {block['name']!r} would do nothing under trainer.v1.trainer_mode=dataflex_sync; set it to "
                "dataflex_mix_sync"
            )

    def _build_replay_buffer(self) -> ReplayBuffer:
        sampler = self.config.trainer.v1.sampler
        if (sampler.get("custom_sampler") or {}).get("path"):
            buffer = super()._build_replay_buffer()
        else:
            buffer = self.replay_buffer_class(
                trainer_mode="sync",
                trainer_config=self.config.trainer.v1.get("sync", {}),
                max_off_policy_threshold=sampler.max_off_policy_threshold,
                max_off_policy_strategy=sampler.max_off_policy_strategy,
                sampler_kwargs=sampler.sampler_kwargs,
                refill_fn=self._add_prompts_to_generate,
            )
        if isinstance(buffer, OrderedReplayBuffer):
            buffer.on_validation = self._collect_items
        return buffer

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        check_prompts(self.config, self.tokenizer, {TRAIN: self.train_dataset, VAL: self.val_dataset})
        columns = self.train_dataset.dataframe.column_names
        self._domain_column = self._domain_key if self._domain_key in columns else "data_source"
        if self._domain_column != self._domain_key:
            logger.warning("train data has no column %r; domains are taken from 'data_source'", self._domain_key)
        self._fingerprint = dataset_fingerprint(
            _files(self.config.data.train_files),
            prompt_column=self.config.data.prompt_key,
            domain_column=self._domain_column,
        )
        correction = self.config.algorithm.get("rollout_correction") or {}
        self._policy_step = PolicyStep(
            self.policy,
            domain_column=self._domain_column,
            has_is_weights=correction.get("rollout_is") is not None,
            also=self._fields,
        )

    # ------------------------------------------------------------------ a step

    def _fetch_one_gen_batch(self) -> TensorDict:
        return self._identified(super()._fetch_one_gen_batch())

    def _identified(self, batch: TensorDict) -> TensorDict:
        """Give the drawn prompts their uids and enter them in the ledger."""
        prompts = batch["raw_prompt"]
        uids = self.ledger.take(
            [list(prompts[i]) for i in range(len(batch))], [str(name) for name in batch[self._domain_column]]
        )
        tu.assign_non_tensor_stack(batch, "uid", uids)
        return batch

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        batch = super()._compute_advantage(batch, metrics)
        batch, decision = self._policy_step(batch, step=self.global_steps)
        self._decision, self._decided = decision, self.global_steps
        self.book.applied(self.global_steps)
        metrics.update(decision.metrics)
        self.book.trace(self.global_steps, decision.trace)
        self._skip_update = decision.skip_update
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
        save_state(self._checkpoint_folder(), self._state())
        super()._save_checkpoint()
        self.book.checkpoint(self.global_steps)

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps > 0:
            folder = self._checkpoint_folder()
            self._load_state(load_state(folder), folder)
        self.book.begin(step=self.global_steps, steps=self.total_training_steps)

    def _state(self) -> dict[str, Any]:
        """Return all of our state, as plain data."""
        return {
            "policy": self.policy.state_dict(),
            "feed": self.ledger.state_dict(),
            "fingerprint": self._fingerprint,
            "mixer": None,
        }

    def _load_state(self, state: dict[str, Any], folder: Path) -> None:
        """Continue from the state of a checkpoint; ConfigError where it is of other data or components."""
        check_fingerprint(state, self._fingerprint, folder)
        self._check_mixer_state(state.get("mixer"), folder)
        self.policy.load_state_dict(state["policy"])
        self.ledger.load_state_dict(state["feed"])

    def _check_mixer_state(self, saved: Mapping[str, Any] | None, folder: Path) -> None:
        """Refuse the checkpoint of a mixed run: its feed stands elsewhere than verl's dataloader says."""
        if saved is not None:
            raise ConfigError(
                f"checkpoint {folder} is of a run with mixer {saved['mixer']!r}, but this run has none; resume with "
                "the same mixer, or start a new run"
            )

    def _checkpoint_folder(self) -> Path:
        trainer = self.config.trainer
        if trainer.resume_mode == "resume_path" and f"global_step_{self.global_steps}" in str(trainer.resume_from_path):
            return Path(trainer.resume_from_path)
        return Path(trainer.default_local_dir) / f"global_step_{self.global_steps}"

    def _compute_metrics(self, batch: KVBatchMeta, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        if self._decided != self.global_steps:
            raise RuntimeError(
                f"the policy {self.policy.name!r} was not applied at step {self.global_steps}: verl trained on the "
                "batch without calling PPOTrainer._compute_advantage"
            )
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        self.book.digest(self.global_steps, self.ledger.digest.state_dict())


def _use_our_agent_loop(config: DictConfig) -> None:
    """Put the seeded agent loop where verl's default stands; what a user chose stays."""
    agent = config.actor_rollout_ref.rollout.agent
    with open_dict(config):
        if agent.default_agent_loop == "single_turn_agent":
            agent.default_agent_loop = agent_loop.AGENT_LOOP
        if not agent.get("agent_loop_manager_class"):
            agent.agent_loop_manager_class = agent_loop.MANAGER


def _files(value: Any) -> list[str]:
    """Return verl's `train_files`, one path or a list, as a list."""
    return [str(value)] if isinstance(value, str) else [str(item) for item in value]
