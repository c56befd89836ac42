"""From logits to tokens and log-probs. Each row of a batch is drawn from its own numbers alone.

Draws are exact: probabilities become integer weights, so sums do not depend on the order of summation and a row's
token is the same on every engine shape that gives it the same logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

# Weights are multiples of 2**-52: as fine as float64 near 1, and the sum over any vocabulary fits an int64.
_SCALE = 2.0**52


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How each row is drawn.

    temperature_S: 1 where greedy_S is set. top_k_S: tokens kept, the vocabulary size where off. top_p_S: 1 where off.
    cut_R: the rows where one of the two is on. all_greedy: no row draws, so no row's weights are needed.
    """

    temperature_S: Tensor
    greedy_S: Tensor
    top_k_S: Tensor
    top_p_S: Tensor
    cut_R: Tensor
    all_greedy: bool

    @classmethod
    def of(
        cls,
        temperatures: Sequence[float],
        top_ks: Sequence[int],
        top_ps: Sequence[float],
        *,
        vocabulary: int,
        device: torch.device,
    ) -> SamplingOptions:
        """Build from one value per row in a request's terms: temperature 0 is greedy, top_k below 1 is off."""
        temperature_S = torch.tensor(temperatures, dtype=torch.float32, device=device)
        top_k_S = torch.tensor([k if 1 <= k < vocabulary else vocabulary for k in top_ks], device=device)
        top_p_S = torch.tensor(top_ps, dtype=torch.float64, device=device)
        greedy_S = temperature_S == 0
        cut_S = ~greedy_S & ((top_k_S < vocabulary) | (top_p_S < 1))
        return cls(
            temperature_S=temperature_S.masked_fill(greedy_S, 1.0),
            greedy_S=greedy_S,
            top_k_S=top_k_S,
            top_p_S=top_p_S,
            cut_R=cut_S.nonzero()[:, 0],
            all_greedy=bool(greedy_S.all()),
        )


def uniforms(seed: int, count: int) -> list[float]:
    """Return `count` numbers in [0, 1) of the stream `seed`; a longer draw begins with the shorter one.

    The stream is numpy's PCG64, which takes all 63 bits of a seed: torch's CPU generator keeps the low 32 only, so that
    seeds which differ above them would give equal responses.
    """
    stream: list[float] = np.random.Generator(np.random.PCG64(seed)).random(count).tolist()
    return stream


def sample(
    logits_SV: Tensor, uniform_S: Tensor, options: SamplingOptions, banned_SV: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Draw one token per row; return `token_S` (int64) and `log_prob_S` (float32).

    uniform_S: one float64 in [0, 1) per row, which decides the row's token (inverse of the cumulative distribution, in
    the order of token ids). Greedy rows take the largest logit, the lowest id on ties.
    banned_SV: tokens that must not be drawn, or None.
    log_prob_S is log softmax(logits / temperature) of the token, whatever was banned or cut off.
    A row whose logits are not finite gives a token id in range and the log-prob NaN.
    """
    scaled_SV = logits_SV.float() / options.temperature_S[:, None]
    log_prob_SV = torch.log_softmax(scaled_SV, dim=-1)
    if banned_SV is not None:
        scaled_SV = scaled_SV.masked_fill(banned_SV, -torch.inf)
    token_S = scaled_SV.argmax(dim=-1)
    if not options.all_greedy:
        draw_SV = log_prob_SV if banned_SV is None else torch.log_softmax(scaled_SV, dim=-1)
        weight_SV = (draw_SV.double().exp_() * _SCALE).round_().long()
        token_S = torch.where(options.greedy_S, token_S, _invert(_cut(weight_SV, options), uniform_S))
    return token_S, log_prob_SV.gather(1, token_S[:, None])[:, 0]


def _invert(weight_SV: Tensor, uniform_S: Tensor) -> Tensor:
    """Return per row the first token whose cumulative weight exceeds uniform x total."""
    cumulative_SV = weight_SV.cumsum(dim=-1)
    total_S = cumulative_SV[:, -1]
    target_S = torch.minimum((uniform_S * total_S.double()).long(), total_S - 1)
    found_S = torch.searchsorted(cumulative_SV, target_S[:, None], right=True)[:, 0]
    return found_S.clamp_(max=weight_SV.shape[1] - 1)


def _cut(weight_SV: Tensor, options: SamplingOptions) -> Tensor:
    """Set the weights that top-k, then top-p, leave out to 0; rows that use neither stay as they are.

    top-k keeps exactly k tokens (of equals, the lowest ids). top-p keeps the smallest set of most probable tokens, of
    those top-k kept, whose share reaches top_p; always at least one.
    """
    row_R = options.cut_R
    if row_R.numel() == 0:
        return weight_SV
    sorted_RV, token_RV = weight_SV[row_R].sort(dim=-1, descending=True, stable=True)
    rank_V = torch.arange(weight_SV.shape[1], device=weight_SV.device)
    sorted_RV = sorted_RV * (rank_V < options.top_k_S[row_R, None])
    before_RV = sorted_RV.cumsum(dim=-1) - sorted_RV
    limit_R = options.top_p_S[row_R] * sorted_RV.sum(dim=-1).double()
    off_R = options.top_p_S[row_R] >= 1
    sorted_RV = sorted_RV * ((before_RV.double() < limit_R[:, None]) | off_R[:, None])
    return weight_SV.index_put((row_R,), torch.empty_like(sorted_RV).scatter_(1, token_RV, sorted_RV))


def ban(ids_by_row: Sequence[frozenset[int]], vocabulary: int, device: torch.device) -> Tensor | None:
    """Return the mask [rows, vocabulary] of tokens that must not be drawn, or None if no row bans any."""
    if not any(ids_by_row):
        return None
    mask_SV = torch.zeros(len(ids_by_row), vocabulary, dtype=torch.bool)
    for row, ids in enumerate(ids_by_row):
        mask_SV[row, sorted(ids)] = True
    return mask_SV.to(device)
