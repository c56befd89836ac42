"""Sums and means per response over a jagged batch: values laid end to end, cut by offsets.

Everything here walks the tokens in chunks of whole responses, so the extra memory is O(responses) plus one chunk, and
sums each response on its own in float64, so a response's result does not depend on where it stands in the batch.
Tokens of mask 0 may hold anything, NaN too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

CHUNK = 1 << 18  # tokens per chunk; a single longer response makes a longer chunk


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
        mask = mask_N[tokens]
        if all_data(mask):
            out_B[rows] = offset_B1[rows.start : rows.stop + 1].diff()
        else:  # float32 counts are exact below 2**24 tokens per response
            out_B[rows] = reduced((mask != 0).float(), offset_B1, rows).long()
    return out_B


def total_B(value_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float64 [B]: sum over all tokens of each response; 0 for an empty response.

    Fast where only the last token of each response has a value, as with outcome rewards.
    """
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    has_tokens_B = offset_B1.diff() > 0
    last_B = value_N[offset_B1[1:][has_tokens_B] - 1]
    if int(value_N.count_nonzero()) == int(last_B.count_nonzero()):
        out_B[has_tokens_B] = last_B.double()
        return out_B
    for rows, tokens in chunks(offset_B1):
        out_B[rows] = reduced(value_N[tokens].double(), offset_B1, rows)
    return out_B


def masked_sum_B(
    value_N: Tensor, mask_N: Tensor, offset_B1: Tensor, of: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """float64 [B]: sum of `of(value)` over the tokens with mask 1."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    for rows, tokens in chunks(offset_B1):
        value = value_N[tokens] if of is None else of(value_N[tokens])
        out_B[rows] = reduced(filled(value, mask_N[tokens], 0.0).double(), offset_B1, rows)
    return out_B


def masked_max_B(value_N: Tensor, mask_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float64 [B]: largest absolute value over the tokens with mask 1; 0 for a response without any."""
    out_B = torch.zeros(offset_B1.numel() - 1, dtype=torch.float64, device=offset_B1.device)
    for rows, tokens in chunks(offset_B1):
        value = filled(value_N[tokens].abs(), mask_N[tokens], 0.0)
        out_B[rows] = reduced(value.float(), offset_B1, rows, "max").clamp_(min=0.0).double()
    return out_B


def expand_N(value_B: Tensor, mask_N: Tensor, offset_B1: Tensor) -> Tensor:
    """float32 [N]: each response's value on its tokens with mask 1, 0 elsewhere."""
    out_N = torch.empty(mask_N.numel(), dtype=torch.float32, device=mask_N.device)
    value_B, length_B = value_B.float(), offset_B1.diff()
    for rows, tokens in chunks(offset_B1):
        owner = torch.repeat_interleave(length_B[rows], output_size=tokens.stop - tokens.start)
        torch.index_select(value_B[rows], 0, owner, out=out_N[tokens])
        if not all_data(mask_N[tokens]):
            out_N[tokens].masked_fill_(mask_N[tokens] == 0, 0.0)
    return out_N


def first_bad(value_N: Tensor, mask_N: Tensor, offset_B1: Tensor) -> int | None:
    """Index of the first response with a NaN or Inf on a token with mask 1, else None."""
    for _, tokens in chunks(offset_B1):
        if torch.isfinite(value_N[tokens].sum()):
            continue  # one NaN or Inf would have made the sum one; a sum that overflowed is looked at below
        bad = ~torch.isfinite(value_N[tokens]) & (mask_N[tokens] != 0)
        if bad.any():
            position = int(bad.nonzero()[0]) + tokens.start
            return int(torch.searchsorted(offset_B1, position, right=True)) - 1
    return None


def all_data(mask: Tensor) -> bool:
    """Whether every token of a chunk has mask 1."""
    return int(mask.count_nonzero()) == mask.numel()


def filled(value: Tensor, mask: Tensor, by: float) -> Tensor:
    """`value` with `by` where the mask is 0; the same tensor if it is 0 nowhere."""
    return value if all_data(mask) else value.masked_fill(mask == 0, by)


def reduced(value: Tensor, offset_B1: Tensor, rows: slice, how: str = "sum") -> Tensor:
    """Sum, max or min of a chunk's values per response of the chunk; an empty response has the reduction's identity."""
    cuts = offset_B1[rows.start : rows.stop + 1] - offset_B1[rows.start]
    return torch.segment_reduce(value, how, offsets=cuts, unsafe=True)
