"""The feed of a run: which of the feeds, over which domains, with which source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omegaconf import DictConfig
from tensordict import TensorDict

from dataflex_rl.feed.blocks import FeedConfig
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import check_several, resolve_domains
from dataflex_rl.feed.interface import Feed
from dataflex_rl.feed.mixer_feed import MixerFeed
from dataflex_rl.feed.prompt_feed import PromptFeed
from dataflex_rl.feed.streams import DomainStreams
from dataflex_rl.host.feeds import LoaderFeed, RowFeed, generated
from dataflex_rl.host.rounds import RoundsFeed
from dataflex_rl.host.rows import SamplerOrder, column_of, domain_column, prompt_keys
from dataflex_rl.prompts.table import PromptTable


def make_feed(
    config: FeedConfig,
    data: DictConfig,
    dataset: Any,
    *,
    domain_key: str,
    steps: int,
    n: int,
    fetch: Callable[[int | None], TensorDict],
) -> LoaderFeed | RowFeed:
    """Return the feed of a run.

    Args:
        config: mixer and selector. data: verl's block of that name. dataset: verl's training data.
        domain_key: column of the domains where no mixer says which. steps: of the run. n: responses of a prompt.
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
    kind = RoundsFeed if config.gathers else RowFeed
    return kind(source, config, dataset, batch=batch, n=n, domains=domains)
