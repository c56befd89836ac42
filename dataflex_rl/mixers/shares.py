"""Shares from scores, and the floor that holds after normalising."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dataflex_rl.components.options import within
from dataflex_rl.errors import ConfigError


def softmax_D(score_D: Tensor, temperature: float) -> Tensor:
    """float64 [D]: shares proportional to exp(score / temperature); equal at an infinite temperature."""
    raw_D = ((score_D.double() - score_D.max()) / temperature).exp()
    return raw_D / raw_D.sum()


def floored_D(share_D: Tensor, floor: float) -> Tensor:
    """float64 [D]: shares below the floor raised to it, the others scaled down in proportion, until none is below.

    Nothing changes where none is below. Every share is >= floor afterwards and the sum is 1; D x floor < 1.
    """
    size = share_D.numel()
    assert size * floor < 1, f"{size} domains with floor {floor}"
    raised_D = torch.zeros(size, dtype=torch.bool)
    out_D = share_D.double()
    while bool((out_D < floor).any()):
        raised_D = raised_D | (out_D < floor)
        if bool(raised_D.all()):  # by rounding only: D x floor is within an ulp of 1
            return torch.full((size,), 1.0 / size, dtype=torch.float64)
        rest = 1.0 - floor * int(raised_D.sum())
        scaled_D = share_D.double() * (rest / float(share_D[~raised_D].sum()))
        out_D = torch.where(raised_D, floor, scaled_D)
    return out_D


def check_options(mixer: str, temperature: float, floor: float) -> None:
    """Refuse a temperature that is not above 0 and a floor outside 0 <= floor < 1."""
    within(f"mixer {mixer!r}: temperature", temperature, "above 0", temperature > 0)
    within(f"mixer {mixer!r}: floor", floor, "at least 0 and below 1", 0 <= floor < 1)


def check_floor(mixer: str, floor: float, domains: Sequence[str]) -> None:
    """Refuse a floor that the domains cannot all have."""
    if len(domains) * floor >= 1:
        raise ConfigError(
            f"mixer {mixer!r}: floor {floor:g} for {len(domains)} domains ({', '.join(domains)}) takes "
            f"{len(domains) * floor:g} of the prompts; expected floor below 1/{len(domains)}"
        )
