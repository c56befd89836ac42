"""The feeds of a trainer: verl's own dataloader, or rows of its dataset that a mixer or a prompt selector draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensordict import TensorDict
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.utils import tensordict_utils as tu

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig
from dataflex_rl.feed.choose import chosen
from dataflex_rl.feed.domains import DomainMap
from dataflex_rl.feed.interface import Drawn, Feed, Outcomes
from dataflex_rl.feed.measure import outcomes_of, realised, tally_batch
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.host.mix_replay import MixReplayBuffer
from dataflex_rl.host.rows import collated
from dataflex_rl.policy import Decision
from dataflex_rl.policy.metrics import summarize

# generates a batch: new prompts, or more responses of the prompts with these uids
Submit = Callable[[TensorDict, "Sequence[str] | None"], None]


class LoaderFeed:
    """verl's own dataloader: its shuffled order, and its state in verl's part of a checkpoint.

    Args:
        fetch: prompts expected (None: a batch) -> verl's next batch.
    """

    part = None  # of our state in a checkpoint
    skip_update = False
    may_carry = True

    def __init__(self, fetch: Callable[[int | None], TensorDict]) -> None:
        self.draw = fetch

    def mount(self, buffer: ReplayBuffer, submit: Submit) -> None:
        """Do nothing: verl's order needs neither."""

    def drew(self, uids: Sequence[str]) -> None:
        """Do nothing: verl keeps count."""

    def observe(self, step: int, decision: Decision) -> dict[str, float]:
        """Return no metrics: the order does not depend on outcomes."""
        return {}

    def let_go(self) -> None:
        """Do nothing: nothing waits for the next step."""

    def predictions(self) -> dict[str, Any] | None:
        """Return nothing: nobody predicts."""
        return None

    def state_dict(self) -> dict[str, Any] | None:
        """Return nothing: verl saves its dataloader."""
        return None

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Never called: there is no state."""
        raise AssertionError("verl's own order has no state of ours")


class RowFeed:
    """Rows of verl's dataset as a `Feed` draws them, in batches like those of verl's dataloader.

    Args:
        source: what draws. config: of mixer and selector. dataset: verl's. batch: prompts that a step consumes.
        n: responses of a prompt without a budget. domains: those that are mixed, None without a mixer.

    `skip_update`: the last step has nothing to train on. The trainer says in `may_carry` whether groups may wait for
    the next step.
    """

    skip_update = False
    may_carry = True

    def __init__(
        self, source: Feed, config: FeedConfig, dataset: Any, *, batch: int, n: int, domains: DomainMap | None = None
    ) -> None:
        self.source, self._config, self._dataset, self._batch, self._n = source, config, dataset, batch, n
        self.part = "mixer" if config.prompts is None else "prompts"
        self.domains = domains
        self._row: dict[str, int] = {}  # of the step's prompts, by uid
        self._place: dict[str, tuple[int, int]] = {}  # uid -> (domain, place in the draw)
        self.ask_D: list[int] = []
        self.shortage_D: list[int] = []

    def mount(self, buffer: ReplayBuffer, submit: Submit) -> None:
        """Choose what a batch of the replay buffer consumes, where more is generated."""
        if isinstance(buffer, MixReplayBuffer):
            buffer.choose = self.choose

    def draw(self, num_prompts: int | None) -> TensorDict:
        """Draw the prompts of a step; verl asks for a number only to replace failed ones."""
        if num_prompts is None:
            self._row, self._place = {}, {}
            drawn = self.source.draw(self._batch, surplus=generated(self._config, self._batch) - self._batch)
            self.ask_D, self.shortage_D = drawn.quota_D, [0] * len(drawn.quota_D)
        else:
            drawn = self.source.draw(num_prompts)
            self.ask_D = [old + new for old, new in zip(self.ask_D, drawn.quota_D, strict=True)]
        if drawn.short:
            raise ConfigError(
                f"{self._config.acts} found {len(drawn.rows)} prompts where {len(drawn.rows) + drawn.short} are "
                "expected: all others of the training data are being generated; use more data or a smaller batch"
            )
        self._drawn: Drawn = drawn
        return self._dressed(collated(self._dataset, drawn.rows))

    def _dressed(self, batch: TensorDict) -> TensorDict:
        """Give each prompt that was drawn last its number of responses, where there is a budget."""
        if (budget := self._config.budget) is not None:
            rates = self._drawn.rates or [0.5] * len(self._drawn.rows)
            tu.assign_non_tensor_stack(batch, "__rollout_n__", budget.first(rates, self._n, self._batch))
        return batch

    def drew(self, uids: Sequence[str]) -> None:
        """Note the uids of the prompts that were drawn last."""
        for uid, row, domain in zip(uids, self._drawn.rows, self._drawn.domain_of, strict=True):
            self._row[uid], self._place[uid] = row, (domain, len(self._place))

    def choose(self, complete: Sequence[str], partial: Sequence[str], batch_size: int) -> list[str]:
        """Return the groups to consume: of each domain those that were drawn first, complete ones before others."""
        available: list[list[str]] = [[] for _ in self.ask_D]
        for uids in (complete, partial):
            for uid in sorted(uids, key=self._place.__getitem__):
                available[self._place[uid][0]].append(uid)
        picked, self.shortage_D = chosen(available, self.ask_D, self._drawn.share_D, batch_size)
        return picked

    def observe(self, step: int, decision: Decision) -> dict[str, float]:
        """Show the source what came of all responses of a batch, whatever the policy made of them."""
        batch, mixing, mixed = decision.batch, self._config.mixer, {}
        if mixing is not None and self.domains is not None:
            weights = summarize(batch, decision.weight_B, decision.factor_N, decision.keep_B)
            mixed = {
                "tally": tally_batch(mixing, batch, self.domains, step),
                "realised": realised(batch, weights.trained_B, self.domains, self.shortage_D),
            }
        outcomes = self._outcomes_of(step, decision, mixed)
        metrics = self.source.observe(outcomes)
        self.source.release(sorted(set(self._row.values()) - set(outcomes.row_G.tolist())))
        return metrics

    def let_go(self) -> None:
        """Do nothing: nothing waits for the next step."""

    def predictions(self) -> dict[str, Any] | None:
        """Return the scores of the predicted solve rates so far; None where none are predicted."""
        if not isinstance(self.source, PromptFeed) or not self.source.predicted.scores.responses:
            return None
        return {"selector": self.source.config.name, "passes": self.source.predicted.scores.summary()}

    def _outcomes_of(self, step: int, decision: Decision, mixed: Mapping[str, Any]) -> Outcomes:
        prompts = self._config.prompts
        threshold = 0.5 if prompts is None else prompts.success_threshold
        return outcomes_of(decision.batch, self._row, step, success_threshold=threshold, **mixed)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next draws depend on."""
        return self.source.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where it is of other data or another configuration."""
        self.source.load_state_dict(state)


def generated(config: FeedConfig, batch: int) -> int:
    """Return the prompts generated for a batch."""
    return math.ceil(round(config.oversample * batch, 6))
