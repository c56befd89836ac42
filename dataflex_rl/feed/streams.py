"""The k-th prompt of each domain: subsequences of one shuffled order, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dataflex_rl.errors import ConfigError
from dataflex_rl.seeding import stream_seed

_Rows = npt.NDArray[np.int64]

_PATIENCE = 100  # passes in a row without a prompt of a domain, after which there never comes one


def shuffled(seed: int, rows: int) -> Callable[[int], _Rows]:
    """Return the order of each pass, pass number -> rows, from a stream of the run's seed: for use without a host."""
    return lambda number: np.random.default_rng(stream_seed(seed, "prompt_order", number)).permutation(rows)


class DomainStreams:
    """Per domain a position in the sequence of its rows through pass 0, 1, 2, ... of the data.

    Args:
        order: pass number -> the dataset rows of that pass, in order; the same for the same number.
        domain_of_row: index of the domain per dataset row, -1 for rows that are never drawn.
        domains: names of the domains.

    Raises:
        ConfigError: a domain has no row.
    """

    def __init__(
        self, order: Callable[[int], Sequence[int]], domain_of_row: Sequence[int], domains: Sequence[str]
    ) -> None:
        self._order = order
        self._domain_of_row = np.asarray(domain_of_row, dtype=np.int64)
        self._domains = tuple(domains)
        self._codes = range(len(domains))
        self._whole = len(domains) == 1 and bool((self._domain_of_row == 0).all())
        self._at = [(0, 0)] * len(domains)  # (pass, rows of the domain taken from it)
        self._passes: dict[int, list[_Rows]] = {}
        present = set(np.unique(self._domain_of_row).tolist())
        if lacking := [name for index, name in enumerate(domains) if index not in present]:
            raise ConfigError(f"domain {lacking[0]!r} has no prompt in the training data (after its length filter)")

    def take(self, domain: int, count: int) -> tuple[list[int], int]:
        """Return (the next `count` rows of a domain, how many of them come from its second or a later pass)."""
        rows, recycled, self._at[domain] = self._walk(domain, count)
        self._forget()
        return rows.tolist(), recycled

    def peek(self, domain: int, count: int) -> _Rows:
        """int64 [count]: the next rows of a domain, which stay where they are."""
        return self._walk(domain, count)[0]

    def _walk(self, domain: int, count: int) -> tuple[_Rows, int, tuple[int, int]]:
        """Return the next `count` rows, how many come from a later pass than the first, and the position after them."""
        parts: list[_Rows] = [np.zeros(0, np.int64)]
        missing, recycled, (number, start) = count, 0, self._at[domain]
        while missing > 0:
            found = self._pass(number)[domain][start : start + missing]
            parts.append(found)
            missing -= len(found)
            recycled += len(found) if number > 0 else 0
            exhausted = start + len(found) == len(self._passes[number][domain])
            number, start = (self._next_pass(domain, number), 0) if exhausted else (number, start + len(found))
        return np.concatenate(parts), recycled, (number, start)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of each domain, by name."""
        return {name: list(at) for name, at in zip(self._domains, self._at, strict=True)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of the same domains and data."""
        self._at = [(int(state[name][0]), int(state[name][1])) for name in self._domains]
        self._passes.clear()

    def _next_pass(self, domain: int, number: int) -> int:
        """Return the next pass that has a prompt of the domain: verl cuts each pass to whole batches."""
        for later in range(number + 1, number + 1 + _PATIENCE):
            if len(self._pass(later)[domain]):
                return later
        raise ConfigError(
            f"domain {self._domains[domain]!r} stands only in the part of each pass that is cut off, since a pass is a "
            "whole number of batches; shuffle the data (data.shuffle=true) or use a smaller data.train_batch_size"
        )

    def _pass(self, number: int) -> list[_Rows]:
        if number not in self._passes:
            row_R = np.asarray(self._order(number), dtype=np.int64)
            domain_R = None if self._whole else self._domain_of_row[row_R]
            self._passes[number] = [row_R[domain_R == d] if domain_R is not None else row_R for d in self._codes]
        return self._passes[number]

    def _forget(self) -> None:
        """Drop the passes that every domain is through with."""
        oldest = min(number for number, _ in self._at)
        for number in [number for number in self._passes if number < oldest]:
            del self._passes[number]
