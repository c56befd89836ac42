"""Which domain each prompt of a batch is drawn for: a mixer's shares, or all data as one domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.core import DomainMixer
from dataflex_rl.feed.domains import DomainMap
from dataflex_rl.feed.quotas import apportioned_D
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.prompts.table import PromptTable

ALL = "all"


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
        self.mixer = mixer
        self.names = (ALL,) if mixer is None else mixer.domains
        self.domain_R = np.zeros(len(domain_R), np.int64)
        if domains is not None:
            names, code_R = np.unique(np.asarray(domain_R, dtype=object).astype(str), return_inverse=True)
            self.domain_R = np.array([domains.index(name) for name in names.tolist()], dtype=np.int64)[code_R]
        self.row_D = [np.flatnonzero(self.domain_R == d) for d in range(len(self.names))]
        self.size_D = [int(np.unique(table.prompt_R[row_R]).size) for row_R in self.row_D]
        self._carry_D = [0.0] * len(self.names)
        self._check(batch)

    def _check(self, batch: int) -> None:
        if sum(self.size_D) < batch:
            raise ConfigError(f"the data has {sum(self.size_D)} distinct prompts, fewer than a batch of {batch}")
        for name, size, share in zip(self.names, self.size_D, self.share_D, strict=True):
            if size < int(share * batch):
                raise ConfigError(
                    f"domain {name!r} has {size} distinct prompts, but its share {share:.3g} of a batch of {batch} "
                    f"asks for {int(share * batch)}; lower the share or the batch"
                )

    @property
    def share_D(self) -> list[float]:
        """Share of each domain in the next batch."""
        return [1.0] if self.mixer is None else self.mixer.share_D.tolist()

    def next_D(self, n: int) -> list[int]:
        """Return the prompts of each domain in the next n, and carry what is left over."""
        if self.mixer is None:
            return [n]
        quota_D, self._carry_D = apportioned_D(self.share_D, self._carry_D, n)
        return quota_D

    def observe(self, step: int, tally: Tally | None) -> dict[str, float]:
        """Show the mixer a finished step; returns the shares that hold from now on."""
        if self.mixer is None:
            return {}
        if tally is None:
            raise ConfigError(f"outcomes of step {step} have no tally, which mixer {self.mixer.config.name!r} reads")
        self.mixer.observe(step, tally)
        return {f"dataflex/share_next/{name}": share for name, share in zip(self.names, self.share_D, strict=True)}

    def state_dict(self) -> dict[str, Any]:
        """Return the remainders and the mixer's state."""
        return {"carry": list(self._carry_D), "mixer": None if self.mixer is None else self.mixer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; ConfigError where one of the two has a mixer and the other none."""
        if (state["mixer"] is None) != (self.mixer is None):
            here, there = ("a mixer", "none") if self.mixer is not None else ("no mixer", "one")
            raise ConfigError(f"this run has {here}, but the saved prompt feed had {there}; resume with the same mixer")
        self._carry_D = list(state["carry"])
        if self.mixer is not None:
            self.mixer.load_state_dict(state["mixer"])
