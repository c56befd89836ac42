"""The feed of a step that generates more than once: screening, continuing, backfilling, on verl's queue."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.utils import tensordict_utils as tu

from dataflex_rl.components.batch import REWARD_NOISE
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.backfill import Batch, Group
from dataflex_rl.feed.budget_config import TwoPhase
from dataflex_rl.feed.interface import Outcomes
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.rounds import ONE_DRAW, Continue, Draw, Result, Rounds
from dataflex_rl.host.cpu.rollout.groups import FIRST
from dataflex_rl.host.feeds import RowFeed, Submit
from dataflex_rl.host.policy_step import raw_outcome, verdicts
from dataflex_rl.host.rounds_replay import RoundsReplayBuffer
from dataflex_rl.host.rows import collated
from dataflex_rl.policy import Decision

PREFIX = "dataflex/rounds/"
ENDS = ("full", "max_rounds", "max_tokens", "no_prompts")


class RoundsFeed(RowFeed):
    """A `RowFeed` whose step goes on until `Rounds` says that it ends.

    Before a checkpoint nothing is carried, since the queue does not survive a kill; a run continued from there equals
    the undisturbed one. A kill inside of a step redoes the step.
    """

    def __init__(self, *args: Any, n: int, **kwargs: Any) -> None:
        super().__init__(*args, n=n, **kwargs)
        self._submit: Submit | None = None
        self.rounds: Rounds | None = None
        self._batch_of_step: Batch | None = None
        self._waiting: list[str] = []  # uids of the round under way, in the order of the draw
        self._exhausted = False
        self._carried: dict[str, tuple[int, Group]] = {}  # uid -> (row, group) that the last step left

    def mount(self, buffer: ReplayBuffer, submit: Submit) -> None:
        """Decide in the replay buffer, after each round, what comes next."""
        assert isinstance(buffer, RoundsReplayBuffer)
        buffer.settle, self._submit = self.settle, submit

    def draw(self, num_prompts: int | None) -> TensorDict:
        """Draw the first prompts of a step."""
        if num_prompts is not None:
            raise ConfigError("verl asked for prompts in place of failed ones; budget and backfill have none to give")
        assert isinstance(self.source, PromptFeed)
        self._row, self._place = {}, {}
        self.ask_D = self.source.quotas.next_D(self._batch)[0]
        self.shortage_D = [0] * len(self.ask_D)
        screening = self._config.budget if isinstance(self._config.budget, TwoPhase) else None
        self.rounds = Rounds(
            self.ask_D, n=self._n, screening=screening, options=self._config.backfill or ONE_DRAW,
            carried=[dataclasses.replace(group, age=0) for _, group in self._carried.values()],
        )  # fmt: skip
        order = self.rounds.order()
        assert isinstance(order, Draw), "a step begins with a draw: fewer groups are carried than a batch has"
        found = self._draw(order)
        if found is None:
            raise ConfigError(f"{self._config.acts} found no prompt: the training data are all being generated")
        return found

    def _draw(self, order: Draw) -> TensorDict | None:
        """Return the prompts of a draw; None where there are none left."""
        self._drawn = self.source.draw(sum(order.count_D), order.count_D)
        self._exhausted = self._drawn.short > 0
        self._waiting = []
        return self._dressed(collated(self._dataset, self._drawn.rows)) if self._drawn.rows else None

    def drew(self, uids: Sequence[str]) -> None:
        """Note the uids of the prompts that were drawn last: they are what the step waits for."""
        super().drew(uids)
        self._waiting = list(uids)

    def settle(self, keys_of: Mapping[str, list[str]]) -> tuple[list[str], list[str]] | None:
        """Take in a finished round; None where more is generated, else (uids to consume, uids to drop)."""
        assert self.rounds is not None
        self.rounds.add(self._read(keys_of), exhausted=self._exhausted)
        while (order := self.rounds.order()) is not None:
            batch = self._continued(order) if isinstance(order, Continue) else self._draw(order)
            if batch is not None:
                self._generate(batch, order.uids if isinstance(order, Continue) else None)
                return None
            self.rounds.add([], exhausted=True)
        return self._ended(self.rounds.finish())

    def _generate(self, batch: TensorDict, uids: Sequence[str] | None) -> None:
        assert self._submit is not None
        self._submit(batch, uids)
        if uids is not None:
            self._waiting = list(uids)

    def _continued(self, order: Continue) -> TensorDict:
        batch = collated(self._dataset, [self._row[uid] for uid in order.uids])
        tu.assign_non_tensor_stack(batch, "__rollout_n__", [order.n] * len(order.uids))
        tu.assign_non_tensor_stack(batch, FIRST, [order.first] * len(order.uids))
        return batch

    def _ended(self, batch: Batch) -> tuple[list[str], list[str]]:
        """Close the step. Without a group to train on verl gets some all the same, and makes no update of them."""
        if not self.may_carry:
            batch = dataclasses.replace(batch, carry=(), dropped=batch.dropped + batch.carry)
        picked = [group.uid for group in batch.train]
        if not picked:
            shown = (batch.dropped or batch.carry)[: self._batch]
            picked = [group.uid for group in shown]
            batch = dataclasses.replace(batch, carry=tuple(group for group in batch.carry if group not in shown))
        self._batch_of_step, self.skip_update = batch, batch.skip_update
        return picked, [group.uid for group in batch.dropped if group.uid not in picked]

    def _read(self, keys_of: Mapping[str, list[str]]) -> list[Result]:
        """Return what came of the prompts of the round, all of their responses together."""
        keys = [key for uid in self._waiting for key in keys_of.get(uid, [])]
        owner = np.repeat(np.arange(len(self._waiting)), [len(keys_of.get(uid, [])) for uid in self._waiting])
        assert self._config.prompts is not None
        reward, solved, tokens = _outcomes(keys, self._config.prompts.success_threshold)
        results = []
        for place, uid in enumerate(self._waiting):
            mine = reward[owner == place]
            spread = float(mine.max() - mine.min()) if len(mine) else 0.0
            results.append(
                Result(
                    uid=uid, domain=self._place[uid][0], tokens=int(tokens[owner == place].sum()), tries=len(mine),
                    solved=int(solved[owner == place].sum()), reward=float(mine.mean()) if len(mine) else 0.0,
                    signal=spread > REWARD_NOISE * max(1.0, float(np.abs(mine).max())) if len(mine) else False,
                )
            )  # fmt: skip
        return results

    def _outcomes_of(self, step: int, decision: Decision, mixed: Mapping[str, Any]) -> Outcomes:
        """Return the outcomes of all groups that this step generated, once each, trained on or not."""
        assert self.rounds is not None
        found = list(self.rounds.results.values())
        return Outcomes(
            step=step, row_G=np.array([self._row[result.uid] for result in found], np.int64),
            tries_G=np.array([result.tries for result in found], np.int64),
            solved_G=np.array([result.solved for result in found], np.int64),
            reward_G=np.array([result.reward for result in found], np.float64), **mixed,
        )  # fmt: skip

    def observe(self, step: int, decision: Decision) -> dict[str, float]:
        """Show the source what came of the step; what is carried stays out of the next draws."""
        metrics = super().observe(step, decision)
        assert self.rounds is not None
        assert self._batch_of_step is not None
        self.source.release([row for row, _ in self._carried.values()])
        rows = {**{uid: row for uid, (row, _) in self._carried.items()}, **self._row}
        self._carried = {group.uid: (rows[group.uid], group) for group in self._batch_of_step.carry}
        assert isinstance(self.source, PromptFeed)
        self.source.hold([row for row, _ in self._carried.values()])
        return {**metrics, **_metrics(self.rounds, self._batch_of_step, decision)}

    def let_go(self) -> None:
        """Forget what is carried: there is no next step."""
        self.source.release([row for row, _ in self._carried.values()])
        self._carried = {}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next draws depend on."""
        assert not self._carried, "nothing is carried over a checkpoint"
        return super().state_dict()


def _outcomes(keys: Sequence[str], threshold: float) -> tuple[Any, Any, Any]:
    """float64 [B], bool [B], int64 [B]: reward, solved and tokens of responses in the queue."""
    if not keys:
        return np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.int64)
    fields = ["rm_scores", "response_mask", "extra_fields"]
    data = tq.kv_batch_get(keys=list(keys), partition_id="train", select_fields=fields)
    offset_B1 = data["response_mask"].offsets()
    raw_B = raw_outcome(verdicts(data["extra_fields"]), data["rm_scores"], offset_B1)
    reward_B = raw_outcome([{}] * len(keys), data["rm_scores"], offset_B1)
    mask = data["response_mask"].values().to(torch.int64)
    sum1 = torch.cat([mask.new_zeros(1), mask.cumsum(0)])
    tokens_B = sum1[offset_B1[1:]] - sum1[offset_B1[:-1]]
    return reward_B.numpy(), raw_B.numpy() > threshold, tokens_B.numpy()


def _metrics(rounds: Rounds, batch: Batch, decision: Decision) -> dict[str, float]:
    """Return what the rounds cost. Tokens of a carried group are generated in one step, trained or dropped in the next.

    The keys of the policy for tokens are replaced: they count the batch alone.
    """
    lost = float(sum(group.tokens for group in batch.dropped))
    trained, dropped = (decision.metrics[f"dataflex/tokens_{name}"] for name in ("trained", "dropped"))
    if batch.skip_update:
        trained, dropped = 0.0, 0.0 if batch.dropped else trained + dropped
    ages = [group.age for group in batch.train]
    return {
        "dataflex/tokens_generated": float(rounds.tokens),
        "dataflex/tokens_trained": trained,
        "dataflex/tokens_dropped": dropped + lost,
        PREFIX + "tokens_screened": float(rounds.screened_tokens),
        PREFIX + "tokens_carried": float(sum(group.tokens for group in batch.carry)),
        PREFIX + "draws": float(rounds.state.rounds),
        PREFIX + "groups_generated": float(len(rounds.results)),
        PREFIX + "groups_trained": float(len(batch.train)),
        PREFIX + "groups_dropped": float(len(batch.dropped)),
        PREFIX + "groups_carried": float(len(batch.carry)),
        PREFIX + "missing": float(sum(batch.missing_D)),
        PREFIX + "age": sum(ages) / len(ages) if ages else 0.0,
        PREFIX + "skip_update": float(batch.skip_update),
        **{f"{PREFIX}ended/{name}": float(batch.ended == name) for name in ENDS},
    }
