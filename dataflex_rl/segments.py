"""Sums and means per response over a jagged batch: values laid end to end, cut by offsets.

Everything here walks the tokens in chunks of whole responses, so the extra memory is O(responses) plus one chunk, and
sums each response on its own in float64, so a response's result does not depend on where it stands in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

CHUNK = 1 << 20  # tokens per chunk; a single longer response makes a longer chunk


def chunks(offset_B1: Tensor, size: int = CHUNK) -> Iterator[tuple[slice, slice]]:
    """Yield (responses, tokens) slices that cover the batch, each of at most `size` tokens or one response."""
    total = offset_B1.numel() - 1
    first, start = 0, 0
    while first < total:
        last = int(torch.searchsorted(offset_B1, start + size, right=True)) - 1
        last = min(max(last, first + 1), total)
        stop = int(offset_B1[last])
        yield slice(first, last), slice(start, stop)
        first, start = last, stop


def count_B(mask_N: Tensor, offset_B1: Tensor) -> Tensor:
    """int64 [B]: how many tokens of each response have a non-zero mask."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.int64, device=offset_B1.device)
    for rows, tokens in chunks(offset_B1):
        # float32 counts are exact below 2**24 tokens per response
        out_B[rows] = _sums((mask_N[tokens] != 0).float(), offset_B1, rows).long()
    return out_B


def total_B(value_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float64 [B]: sum over all tokens of each response (fast when most values are 0); 0 for an empty response."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    for _, tokens in chunks(offset_B1):
        value = value_N[tokens]
        where = value.nonzero().squeeze(1)
        owner = torch.searchsorted(offset_B1, where + tokens.start, right=True) - 1
        out_B.index_add_(0, owner, value[where].double())
    return out_B


def masked_sum_B(
    value_N: Tensor, mask_N: Tensor, offset_B1: Tensor, of: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """float64 [B]: sum of `of(value)` over the tokens with mask 1; values elsewhere may be anything, NaN too."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    for rows, tokens in chunks(offset_B1):
        value = value_N[tokens].to(torch.float64, copy=True)
        value = value if of is None else of(value)
        out_B[rows] = _sums(value.masked_fill_(mask_N[tokens] == 0, 0.0), offset_B1, rows)
    return out_B


def masked_max_B(value_N: Tensor, mask_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float64 [B]: largest absolute value over the tokens with mask 1; 0 for a response without any."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    for rows, tokens in chunks(offset_B1):
        value = value_N[tokens].to(torch.float64, copy=True).abs_().masked_fill_(mask_N[tokens] == 0, 0.0)
        out_B[rows] = _sums(value, offset_B1, rows, reduce="max").clamp_(min=0.0)
    return out_B


def expand_N(value_B: Tensor, mask_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float32 [N]: each response's value on its tokens with mask 1, 0 elsewhere."""
    out_N = torch.empty(mask_N.numel(), dtype=torch.float32, device=mask_N.device)
    value_B, length_B = value_B.float(), offset_B1.diff()
    for rows, tokens in chunks(offset_B1):
        size = tokens.stop - tokens.start
        spread = torch.repeat_interleave(value_B[rows], length_B[rows], output_size=size)
        out_N[tokens] = spread.masked_fill_(mask_N[tokens] == 0, 0.0)
    return out_N


def first_bad(value_N: Tensor, mask_N: Tensor, offset_B1: Tensor) -> int | None:
    """Index of the first response with a NaN or Inf on a token with mask 1, else None."""
    for _, tokens in chunks(offset_B1):
        bad = ~torch.isfinite(value_N[tokens])
        if not bad.any():
            continue
        bad &= mask_N[tokens] != 0
        if bad.any():
            position = int(bad.nonzero()[0]) + tokens.start
            return int(torch.searchsorted(offset_B1, position, right=True)) - 1
    return None


def _sums(value: Tensor, offset_B1: Tensor, rows: slice, reduce: str = "sum") -> Tensor:
    cuts = offset_B1[rows.start : rows.stop + 1] - offset_B1[rows.start]
    return torch.segment_reduce(value, reduce, offsets=cuts, unsafe=True)
