"""The weights of a batch, summed up per response."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.segments import chunks, filled, masked_sum_B, reduced


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Per response, over its tokens that are data: mean, least and largest weight, sum of squares, tokens above 0.

    All are 0 for a response that is not live. `kept_B` (bool) is what takes part in the update.
    """

    mean_B: Tensor
    low_B: Tensor
    high_B: Tensor
    square_B: Tensor
    trained_B: Tensor
    kept_B: Tensor


def summarize(batch: Batch, weight_B: Tensor, factor_N: Tensor | None, keep_B: Tensor | None) -> Weights:
    """Sum up `weight_B` times `factor_N` (None: 1 everywhere). O(responses) memory.

    `weight_B` is 0 outside the live responses; `keep_B` None means that every live response is kept.
    """
    kept_B = batch.live_B if keep_B is None else keep_B
    if factor_N is None:
        square_B = weight_B.square() * batch.length_B
        trained_B = torch.where(weight_B > 0, batch.length_B, 0)
        return Weights(
            mean_B=weight_B, low_B=weight_B, high_B=weight_B, square_B=square_B, trained_B=trained_B, kept_B=kept_B
        )
    low_B, high_B, square_B = (torch.zeros_like(weight_B) for _ in range(3))
    positive_B = batch.length_B.clone()
    for rows, tokens in chunks(batch.offset_B1):
        factor, mask = factor_N[tokens], batch.mask_N[tokens]
        low_B[rows] = reduced(filled(factor, mask, float("inf")), batch.offset_B1, rows, "min").double()
        factor = filled(factor, mask, 0.0)
        high_B[rows] = reduced(factor, batch.offset_B1, rows, "max").double()
        square_B[rows] = reduced(factor.double().square_(), batch.offset_B1, rows)
        if int(factor.count_nonzero()) < int(positive_B[rows].sum()):
            positive_B[rows] = reduced((factor > 0).float(), batch.offset_B1, rows).long()
    sum_B = masked_sum_B(factor_N, batch.mask_N, batch.offset_B1)
    return Weights(
        mean_B=weight_B * sum_B / batch.length_B.clamp(min=1),
        low_B=torch.where(weight_B > 0, weight_B * low_B, 0.0),
        high_B=torch.where(weight_B > 0, weight_B * high_B, 0.0),
        square_B=weight_B.square() * square_B,
        trained_B=torch.where(weight_B > 0, positive_B, 0),
        kept_B=kept_B,
    )
