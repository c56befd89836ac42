"""Which domain each prompt of a batch is drawn for: a mixer's shares, or all data as one domain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap
from dataflex_rl.feed.interface import Outcomes
from dataflex_rl.feed.mix_quotas import MixQuotas
from dataflex_rl.prompts.table import IntArray, PromptTable

ALL = "all"


def check_sizes(names: Sequence[str], size_D: Sequence[int], share_D: Sequence[float], batch: int) -> None:
    """Refuse a batch that the data cannot fill, since no prompt is in it twice.

    Args:
        names: of the domains. size_D: distinct prompts of each. share_D: of each in a batch. batch: prompts.

    Raises:
        ConfigError: fewer prompts than a batch, or fewer in a domain than its share asks for.
    """
    if sum(size_D) < batch:
        raise ConfigError(f"the data has {sum(size_D)} distinct prompts, fewer than a batch of {batch}")
    for name, size, share in zip(names, size_D, share_D, strict=True):
        if size < int(share * batch):
            raise ConfigError(
                f"domain {name!r} has {size} distinct prompts, but its share {share:.3g} of a batch of {batch} asks "
                f"for {int(share * batch)}; lower the share or the batch"
            )


class Quotas:
    """Whole prompts per domain: of a mixer, its shares and their carried remainders; without one, one domain `all`.

    Raises:
        ConfigError: a domain has fewer distinct prompts than its share of a batch.
    """

    def __init__(
        self,
        table: PromptTable,
        domain_R: Sequence[str],
        batch: int,
        mixer: DomainMixer | None,
        domains: DomainMap | None,
    ) -> None:
        assert (mixer is None) == (domains is None)
        self.mix = None if mixer is None else MixQuotas(mixer)
        self.names = (ALL,) if mixer is None else mixer.domains
        self.domain_R = np.zeros(len(domain_R), np.int64)
        if domains is not None:
            names, code_R = np.unique(np.asarray(domain_R, dtype=object).astype(str), return_inverse=True)
            self.domain_R = np.array([domains.index(name) for name in names.tolist()], dtype=np.int64)[code_R]
        self.row_D = [np.flatnonzero(self.domain_R == d) for d in range(len(self.names))]
        self.prompt_D = [np.unique(table.prompt_R[row_R]) for row_R in self.row_D]
        self.size_D = [len(prompts) for prompts in self.prompt_D]
        self._batch = batch
        check_sizes(self.names, self.size_D, self.share_D, batch)

    @property
    def share_D(self) -> list[float]:
        """Share of each domain in the next batch."""
        return [1.0] if self.mix is None else self.mix.mixer.share_D.tolist()

    def pool(self, domain: int) -> tuple[IntArray | None, int]:
        """Return the prompts of a domain (None: all, without a mixer) and how many of them a batch takes."""
        if self.mix is None:
            return None, self._batch
        return self.prompt_D[domain], math.ceil(round(self.share_D[domain] * self._batch, 6))

    def next_D(self, n: int, surplus: int = 0) -> tuple[list[int], list[int]]:
        """Return the prompts of each domain in the next n and in what is generated beyond; remainders are carried."""
        return ([n], [surplus]) if self.mix is None else self.mix.next_D(n, surplus)

    def observe(self, outcomes: Outcomes) -> dict[str, float]:
        """Show the mixer a finished step; returns its metrics."""
        return {} if self.mix is None else self.mix.observe(outcomes)

    def state_dict(self) -> dict[str, Any]:
        """Return the mixer's state and remainders."""
        return {"mixer": None if self.mix is None else self.mix.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where one of the two has a mixer and the other none."""
        if (state["mixer"] is None) != (self.mix is None):
            here, there = ("a mixer", "none") if self.mix is not None else ("no mixer", "one")
            raise ConfigError(f"this run has {here}, but the saved prompt feed had {there}; resume with the same mixer")
        if self.mix is not None:
            self.mix.load_state_dict(state["mixer"])
