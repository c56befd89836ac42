"""Raw weights to mean 1, with an optional largest weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from dataflex_rl.components.segments import all_data, chunks, count_B, masked_sum_B

Parts = Callable[[], Iterator[tuple[Tensor, Tensor]]]  # (raw weight, share of the mean it stands for), float64


def scaled_B(raw_B: Tensor, measure_B: Tensor, cap: float | None) -> Tensor:
    """float64 [B]: weights proportional to `raw_B` with sum(measure * weight) = sum(measure) and none above `cap`.

    `measure_B` is 1 for the mean over responses, the length for the mean over tokens. Raw weights that are all 0 say
    nothing: every weight is 1. Where too few weights are above 0 to reach mean 1 under the cap, those are at the cap
    and the mean is below 1.
    """
    mass = float((raw_B * measure_B).sum())
    if mass == 0.0:
        return torch.ones_like(raw_B)
    target = float(measure_B.sum())
    scale = target / mass
    if cap is None:
        return raw_B * scale
    return (raw_B * _capped(scale, target, lambda: iter([(raw_B, measure_B)]), cap)).clamp(max=cap)


def scale_N_(raw_N: Tensor, mask_N: Tensor, measure_B: Tensor, offset_B1: Tensor, cap: float | None) -> Tensor:
    """float32 [N], in place: as `scaled_B` for a weight per token; every token of i has the measure `measure_B[i]`.

    Tokens with mask 0 get 0 and do not count; responses of measure 0 do not count.
    """
    for _, tokens in chunks(offset_B1):
        if not all_data(mask_N[tokens]):
            raw_N[tokens].masked_fill_(mask_N[tokens] == 0, 0.0)
    mass = float((masked_sum_B(raw_N, mask_N, offset_B1) * measure_B).sum())
    if mass == 0.0:
        return raw_N.fill_(1.0).mul_(mask_N != 0)
    target = float((count_B(mask_N, offset_B1) * measure_B).sum())
    scale = target / mass
    if cap is None:
        return _times_(raw_N, scale)
    length_B = offset_B1.diff()

    def parts() -> Iterator[tuple[Tensor, Tensor]]:
        for rows, tokens in chunks(offset_B1):
            size = tokens.stop - tokens.start
            measure = torch.repeat_interleave(measure_B[rows], length_B[rows], output_size=size)
            yield raw_N[tokens].double(), measure.masked_fill_(mask_N[tokens] == 0, 0.0)

    return _times_(raw_N, _capped(scale, target, parts, cap)).clamp_(max=cap)


def _times_(raw_N: Tensor, scale: float) -> Tensor:
    """float32 [N], in place: raw * scale, in two steps where the scale itself would not fit a float32."""
    if scale < 2.0**100:
        return raw_N.mul_(scale)
    root = math.sqrt(scale)
    return raw_N.mul_(root).mul_(root)


def _capped(scale: float, target: float, parts: Parts, cap: float) -> float:
    """Factor c with sum(measure * min(c * raw, cap)) = target, from below; each round holds more weights at the cap."""
    while True:
        held, free = 0.0, 0.0
        for raw, measure in parts():
            over = raw * scale >= cap
            held += float(measure[over].sum())
            free += float((raw * measure)[~over].sum())
        better = (target - cap * held) / free if free > 0.0 else scale
        if not math.isfinite(better) or better <= scale * (1 + 1e-12):
            return scale
        scale = better
