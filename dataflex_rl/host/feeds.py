"""The feeds of a trainer: verl's own dataloader, or rows of its dataset that a mixer or a prompt selector draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig
from tensordict import TensorDict

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig
from dataflex_rl.feed.choose import chosen
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap, check_several, resolve_domains
from dataflex_rl.feed.interface import Drawn, Feed
from dataflex_rl.feed.measure import outcomes_of, realised, tally_batch
from dataflex_rl.feed.mixer_feed import MixerFeed
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.host.rows import SamplerOrder, collated, column_of, domain_column, prompt_keys
from dataflex_rl.policy import GROUP_ESTIMATORS, Decision, HostFacts
from dataflex_rl.policy.metrics import summarize
from dataflex_rl.prompts.table import PromptTable


class LoaderFeed:
    """verl's own dataloader: its shuffled order, and its state in verl's part of a checkpoint.

    Args:
        fetch: prompts expected (None: a batch) -> verl's next batch.
    """

    part = None  # of our state in a checkpoint

    def __init__(self, fetch: Callable[[int | None], TensorDict]) -> None:
        self.draw = fetch

    def drew(self, uids: Sequence[str]) -> None:
        """Do nothing: verl keeps count."""

    def observe(self, step: int, decision: Decision) -> dict[str, float]:
        """Return no metrics: the order does not depend on outcomes."""
        return {}

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
        domains: those that are mixed, None without a mixer.
    """

    def __init__(
        self, source: Feed, config: FeedConfig, dataset: Any, *, batch: int, domains: DomainMap | None = None
    ) -> None:
        self.source, self._config, self._dataset, self._batch = source, config, dataset, batch
        self.part = "mixer" if config.prompts is None else "prompts"
        self.domains = domains
        self._row: dict[str, int] = {}  # of the step's prompts, by uid
        self._place: dict[str, tuple[int, int]] = {}  # uid -> (domain, place in the draw)
        self.ask_D: list[int] = []
        self.shortage_D: list[int] = []

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
        return collated(self._dataset, drawn.rows)

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
        batch, mixing, prompts, mixed = decision.batch, self._config.mixer, self._config.prompts, {}
        if mixing is not None and self.domains is not None:
            weights = summarize(batch, decision.weight_B, decision.factor_N, decision.keep_B)
            mixed = {
                "tally": tally_batch(mixing, batch, self.domains, step),
                "realised": realised(batch, weights.trained_B, self.domains, self.shortage_D),
            }
        threshold = {} if prompts is None else {"success_threshold": prompts.success_threshold}
        outcomes = outcomes_of(batch, self._row, step, **threshold, **mixed)  # type: ignore[arg-type]
        metrics = self.source.observe(outcomes)
        self.source.release(sorted(set(self._row.values()) - set(outcomes.row_G.tolist())))
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next draws depend on."""
        return self.source.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where it is of other data or another configuration."""
        self.source.load_state_dict(state)


def make_feed(
    config: FeedConfig,
    data: DictConfig,
    dataset: Any,
    *,
    domain_key: str,
    steps: int,
    fetch: Callable[[int | None], TensorDict],
) -> LoaderFeed | RowFeed:
    """Return the feed of a run.

    Args:
        config: mixer and selector. data: verl's block of that name. dataset: verl's training data.
        domain_key: column of the domains where no mixer says which. steps: of the run.
        fetch: verl's own next batch.

    Raises:
        ConfigError: a column is missing, or mixer or selector do not fit the data.
    """
    if not config.acts:
        return LoaderFeed(fetch)
    mixing, prompts, batch = config.mixer, config.prompts, int(data.train_batch_size)
    names = domain_column(dataset, domain_key if mixing is None else mixing.domain_key)
    order = SamplerOrder(data, dataset, data.get("gen_batch_size") or batch)
    mixer = domains = None
    if mixing is not None:
        domains = resolve_domains(mixing.domains, names)
        check_several(mixing.name, domains.names)
        mixer = DomainMixer(mixing, domains.names)
    source: Feed
    if prompts is not None:
        columns = {name: column_of(dataset, name, f"prompt selector {prompts.name!r}") for name in prompts.columns}
        source = PromptFeed(
            prompts, PromptTable.of(prompt_keys(dataset, data), names, columns, prompts.buckets), names, order,
            seed=data.seed, batch=generated(config, batch), steps=steps, mixer=mixer, domains=domains,
        )  # fmt: skip
    else:
        assert mixer is not None
        assert domains is not None
        source = MixerFeed(mixer, DomainStreams(order, [domains.index(name) for name in names], domains.names))
    return RowFeed(source, config, dataset, batch=batch, domains=domains)


def generated(config: FeedConfig, batch: int) -> int:
    """Return the prompts generated for a batch."""
    return math.ceil(round(config.oversample * batch, 6))


def check_feed(config: FeedConfig, run: DictConfig, facts: HostFacts) -> None:
    """Check once that a run has what mixer and prompt selector need.

    Raises:
        ConfigError: it has not.
    """
    sync = run.trainer.v1.get("sync") or {}
    config.check_host(
        shadow=run.get("dataflex", {}).get("shadow", False), steps_of_batch=sync.get("parameter_sync_step", 1)
    )
    if config.prompts is not None and run.data.get("seed") is None:
        raise ConfigError(f"{config.acts} needs data.seed: without it verl shuffles unseeded, and no run could resume")
    if config.mixer is not None:
        check_mixer(config.mixer, facts)


def check_mixer(config: MixerConfig, facts: HostFacts) -> None:
    """Check once that the run has what the mixer's statistic needs.

    Raises:
        ConfigError: a batch field is missing, or a scorer of groups meets an estimator that makes none.
    """
    if missing := sorted(config.requires - facts.fields):
        raise ConfigError(
            f"mixer {config.name!r} averages {config.statistic!r}, which requires the batch field {missing[0]!r}, but "
            f"the host provides {', '.join(sorted(facts.fields))}"
        )
    scorer = config.scorer_spec
    if scorer is not None and scorer.needs_groups and not (facts.makes_groups and facts.rollout_n > 1):
        raise ConfigError(
            f"dataflex.mixer.scorer {scorer.name!r} needs groups, but algorithm.adv_estimator={facts.adv_estimator!r} "
            f"with rollout.n={facts.rollout_n} makes none; use one of {', '.join(GROUP_ESTIMATORS)} and n above 1"
        )
