"""Raw weights to mean 1, with an optional largest weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from dataflex_rl.segments import chunks

Parts = Callable[[], Iterator[tuple[Tensor, Tensor]]]  # (raw weight, share of the mean it stands for), float64


def scaled_B(raw_B: Tensor, measure_B: Tensor, cap: float | None) -> Tensor:
    """float64 [B]: weights proportional to `raw_B` with sum(measure * weight) = sum(measure) and none above `cap`.

    `measure_B` is 1 for the mean over responses, the length for the mean over tokens. Raw weights that are all 0 say
    nothing: every weight is 1. Where too few weights are above 0 to reach mean 1 under the cap, those are at the cap
    and the mean is below 1.
    """
    scale = _scale(lambda: iter([(raw_B, measure_B)]), float(measure_B.sum()), cap)
    if scale is None:
        return torch.ones_like(raw_B)
    return (raw_B * scale).clamp(max=math.inf if cap is None else cap)


def scale_N_(raw_N: Tensor, mask_N: Tensor, measure_B: Tensor, offset_B1: Tensor, cap: float | None) -> Tensor:
    """float32 [N], in place: as `scaled_B` for a weight per token; every token of i has the measure `measure_B[i]`.

    Tokens with mask 0, and those of responses with measure 0, get 0 and do not count.
    """
    length_B = offset_B1.diff()

    def parts() -> Iterator[tuple[Tensor, Tensor]]:
        for rows, tokens in chunks(offset_B1):
            size = tokens.stop - tokens.start
            measure = torch.repeat_interleave(measure_B[rows], length_B[rows], output_size=size)
            yield raw_N[tokens].double(), measure.masked_fill_(mask_N[tokens] == 0, 0.0)

    total = 0.0
    for rows, tokens in chunks(offset_B1):
        live = torch.repeat_interleave(measure_B[rows] > 0, length_B[rows], output_size=tokens.stop - tokens.start)
        raw_N[tokens].masked_fill_(~live | (mask_N[tokens] == 0), 0.0)
    for _, measure in parts():
        total += float(measure.sum())
    scale = _scale(parts, total, cap)
    if scale is not None:
        return raw_N.mul_(scale).clamp_(max=math.inf if cap is None else cap)
    for _, tokens in chunks(offset_B1):
        raw_N[tokens] = 1.0
    return raw_N


def _scale(parts: Parts, target: float, cap: float | None) -> float | None:
    """Factor c with sum(measure * min(c * raw, cap)) = target; None if every raw weight is 0."""
    mass = sum(float((raw * measure).sum()) for raw, measure in parts())
    if mass == 0.0:
        return None
    scale = target / mass
    while cap is not None:
        held, free = 0.0, 0.0
        for raw, measure in parts():
            over = raw * scale >= cap
            held += float(measure[over].sum())
            free += float((raw * measure)[~over].sum())
        better = (target - cap * held) / free if free > 0.0 else scale
        if better <= scale * (1 + 1e-12):
            break
        scale = better
    return scale
