"""What a mixer sees: sums and counts of one signal per step and domain, over the last steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Tally:
    """One step: float64 `sum_D` of the signal over int64 `count_D` responses, and int64 `seen_D` responses in all.

    `seen_D` counts every response that was generated and graded; `count_D` those that have the signal (a response
    without a token that is data has no advantage).
    """

    sum_D: Tensor
    count_D: Tensor
    seen_D: Tensor


def tallied(value_B: Tensor, counted_B: Tensor, real_B: Tensor, domain_B: Tensor, n_domains: int) -> Tally:
    """Sum up a batch: `value_B` where `counted_B`; rows that are not `real_B` (padding) are not data.

    `domain_B` is the domain's index per response, -1 for none of the mixed ones. Values of rows that do not count may
    be anything, NaN too.
    """
    real_B = real_B & (domain_B >= 0)
    counted_B = counted_B & real_B
    sum_D = torch.zeros(n_domains, dtype=torch.float64, device=value_B.device)
    sum_D.index_add_(0, domain_B[counted_B], value_B[counted_B].double())
    return Tally(
        sum_D=sum_D.cpu(),
        count_D=torch.bincount(domain_B[counted_B], minlength=n_domains).cpu(),
        seen_D=torch.bincount(domain_B[real_B], minlength=n_domains).cpu(),
    )


@dataclass(frozen=True, kw_only=True)
class DomainStats:
    """The window as a mixer reads it. `window` is its configured length [steps], W <= window the steps in it.

    `step_W` (int64) are the step numbers, `sum_WD` (float64) and `count_WD` (int64) the tallies, `seen_D` (int64) the
    responses of each domain since the start of the run.
    """

    domains: tuple[str, ...]
    window: int
    step_W: Tensor
    sum_WD: Tensor
    count_WD: Tensor
    seen_D: Tensor

    @cached_property
    def has_D(self) -> Tensor:
        """bool [D]: the window holds data of the domain."""
        return self.count_WD.sum(0) > 0

    @cached_property
    def mean_D(self) -> Tensor:
        """float64 [D]: mean over all responses of the domain in the window; 0 without data."""
        return self.sum_WD.sum(0) / self.count_WD.sum(0).clamp(min=1)


class Window:
    """The last `window` steps, and counts since the start."""

    def __init__(self, domains: tuple[str, ...], window: int) -> None:
        self._domains = domains
        self._window = window
        self._steps: list[tuple[int, list[float], list[int]]] = []
        self._seen: list[int] = [0] * len(domains)

    def add(self, step: int, tally: Tally) -> None:
        """Append a step; steps come in ascending order."""
        assert not self._steps or step > self._steps[-1][0], f"step {step} after step {self._steps[-1][0]}"
        self._steps.append((step, tally.sum_D.tolist(), tally.count_D.tolist()))
        del self._steps[: -self._window]
        self._seen = [old + new for old, new in zip(self._seen, tally.seen_D.tolist(), strict=True)]

    @property
    def stats(self) -> DomainStats:
        """The window as tensors."""
        shape = (len(self._steps), len(self._domains))
        return DomainStats(
            domains=self._domains,
            window=self._window,
            step_W=torch.tensor([step for step, _, _ in self._steps], dtype=torch.int64),
            sum_WD=torch.tensor([sums for _, sums, _ in self._steps], dtype=torch.float64).reshape(shape),
            count_WD=torch.tensor([counts for _, _, counts in self._steps], dtype=torch.int64).reshape(shape),
            seen_D=torch.tensor(self._seen, dtype=torch.int64),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the window as plain data."""
        return {"steps": [list(step) for step in self._steps], "seen": list(self._seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of the same domains and window."""
        self._steps = [(int(step), list(sums), list(counts)) for step, sums, counts in state["steps"]]
        self._seen = list(state["seen"])
