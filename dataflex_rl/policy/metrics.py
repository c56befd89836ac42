"""What is logged per step, over all data and per domain. Every key starts with `dataflex/`.

Counts are over real data. Shares of responses and tokens have the live responses (real, with tokens) below the line;
`reward_all` and the group shares count every real response, as the verifier did. A key whose value would be 0/0 is left
out: `reward_effective` when every weight is 0, everything per response when the batch has no live response.

- kept_frac, kept_token_frac, kept_group_frac [share]; each also `/<domain>`
- dropped/<reason> [responses]
- weight_mean, weight_std over responses (of a response's mean token weight); weight_min, weight_max,
  weight_token_std over tokens that are data
- ess = (sum w)^2 / (B sum w^2) [share]; grad_scale = mean weight over tokens
- groups [count]; groups_all_solved, groups_all_failed, groups_mixed, groups_constant (rewards equal but for float
  noise) [share]
- reward_all, reward_effective = sum w R / sum w; each also `/<domain>`
- tokens_generated (tokens of mask 1), tokens_trained (of weight above 0), tokens_dropped (the difference) [tokens]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.batch import REWARD_NOISE, Batch
from dataflex_rl.segments import chunks, filled, masked_sum_B, reduced

PREFIX = "dataflex/"


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of a batch, summed up: per response the mean over its tokens and the tokens above 0; extremes of all."""

    mean_B: Tensor
    kept_B: Tensor
    low: float
    high: float
    token_std: float
    trained_B: Tensor


def summarize(batch: Batch, weight_B: Tensor, factor_N: Tensor | None, keep_B: Tensor | None) -> Weights:
    """Sum up `weight_B` (times `factor_N`); 0 outside the live responses. O(responses) memory."""
    live_B, length_B = batch.live_B, batch.length_B
    kept_B = live_B if keep_B is None else keep_B
    if factor_N is None:
        live = weight_B[live_B]
        low, high = (float(live.min()), float(live.max())) if live.numel() else (0.0, 0.0)
        square_sum = float((weight_B.square() * length_B).sum())
        mean_B, trained_B = weight_B, torch.where(weight_B > 0, length_B, 0)
    else:
        low, high, square_sum, trained_B = _token_range(batch, weight_B, factor_N)
        mean_B = weight_B * masked_sum_B(factor_N, batch.mask_N, batch.offset_B1) / length_B.clamp(min=1)
    tokens = max(int(length_B.sum()), 1)
    mean = float((mean_B * length_B).sum()) / tokens
    token_std = max(square_sum / tokens - mean * mean, 0.0) ** 0.5
    return Weights(mean_B=mean_B, kept_B=kept_B, low=low, high=high, token_std=token_std, trained_B=trained_B)


def step_metrics(batch: Batch, weights: Weights) -> dict[str, float]:
    """The metrics of one step (see the module's list), without the group shares and the drop counts."""
    live_B, length_B, reward_B = batch.live_B, batch.length_B, batch.outcome_B
    count_B = torch.stack(
        [
            live_B.double(), weights.kept_B.double(), length_B.double(), length_B.double() * weights.kept_B,
            batch.real_B.double(), torch.where(batch.real_B, reward_B, 0.0), weights.mean_B,
            weights.mean_B * torch.where(batch.real_B, reward_B, 0.0),
        ]
    )  # fmt: skip
    out = _shares(count_B.sum(1), "")
    if batch.domain is not None:
        sums = torch.zeros(count_B.shape[0], len(batch.domains), dtype=torch.float64, device=count_B.device)
        sums.index_add_(1, batch.domain_B, count_B)
        for index, name in enumerate(batch.domains):
            out |= _shares(sums[:, index], f"/{name}")
    out |= _kept_groups(batch, weights.kept_B)
    out |= _weight_stats(batch, weights)
    generated, trained = float(length_B.sum()), float(weights.trained_B.sum())
    out |= {"tokens_generated": generated, "tokens_trained": trained, "tokens_dropped": generated - trained}
    return {PREFIX + key: value for key, value in out.items()}


def group_metrics(batch: Batch, outcome_B: Tensor, threshold: float) -> dict[str, float]:
    """Shares of groups all solved, all failed, mixed (by outcome > threshold) and constant; over real responses."""
    real_B = batch.real_B
    group_B, value_B = batch.group_B[real_B], outcome_B[real_B]
    size_G = torch.bincount(group_B, minlength=batch.n_groups)
    seen_G = size_G > 0
    groups = int(seen_G.sum())
    if groups == 0:
        return {PREFIX + "groups": 0.0}
    solved_G = torch.bincount(group_B[value_B > threshold], minlength=batch.n_groups)
    low_G = torch.full((batch.n_groups,), float("inf"), dtype=torch.float64, device=value_B.device)
    high_G = -low_G
    low_G.scatter_reduce_(0, group_B, value_B, reduce="amin")
    high_G.scatter_reduce_(0, group_B, value_B, reduce="amax")
    slack_G = REWARD_NOISE * torch.maximum(low_G.abs(), high_G.abs()).clamp(min=1.0)
    counts = {
        "groups_all_solved": (solved_G == size_G) & seen_G,
        "groups_all_failed": (solved_G == 0) & seen_G,
        "groups_mixed": (solved_G > 0) & (solved_G < size_G),
        "groups_constant": (high_G - low_G <= slack_G) & seen_G,
    }
    shares = {PREFIX + key: int(which_G.sum()) / groups for key, which_G in counts.items()}
    return {PREFIX + "groups": float(groups), **shares}


def drop_metrics(reasons: Sequence[str], reason_B: Tensor, prefix: str = PREFIX) -> dict[str, float]:
    """Number of responses dropped for each reason."""
    count = torch.bincount(reason_B[reason_B >= 0], minlength=len(reasons)).tolist()
    out: dict[str, float] = {}
    for name, number in zip(reasons, count, strict=True):
        out[f"{prefix}dropped/{name}"] = out.get(f"{prefix}dropped/{name}", 0.0) + float(number)
    return out


def _shares(sums: Tensor, suffix: str) -> dict[str, float]:
    live, kept, tokens, kept_tokens, real, reward, weight, weighted = sums.tolist()
    out: dict[str, float] = {}
    if live > 0:
        out[f"kept_frac{suffix}"] = kept / live
        out[f"kept_token_frac{suffix}"] = kept_tokens / tokens
    if real > 0:
        out[f"reward_all{suffix}"] = reward / real
    if weight > 0:
        out[f"reward_effective{suffix}"] = weighted / weight
    return out


def _kept_groups(batch: Batch, kept_B: Tensor) -> dict[str, float]:
    """Groups with a kept response over groups with a live one; per domain, of the group's responses there."""
    live, kept = _groups_with(batch, batch.live_B), _groups_with(batch, kept_B)
    out = {"kept_group_frac": int(kept[0]) / int(live[0])} if live[0] else {}
    for name, live_groups, kept_groups in zip(batch.domains, live[1:].tolist(), kept[1:].tolist(), strict=True):
        if live_groups:
            out[f"kept_group_frac/{name}"] = kept_groups / live_groups
    return out


def _groups_with(batch: Batch, which_B: Tensor) -> Tensor:
    """int64 [1 + D]: groups with a response in `which_B`, over all and per domain."""
    width = max(len(batch.domains), 1)
    cell_B = batch.group_B * width + (batch.domain_B if batch.domains else 0)
    found_GD = torch.bincount(cell_B[which_B], minlength=batch.n_groups * width).view(-1, width) > 0
    per_D = found_GD.sum(0) if batch.domains else found_GD.new_zeros(0, dtype=torch.int64)
    return torch.cat([found_GD.any(1).sum().view(1), per_D])


def _weight_stats(batch: Batch, weights: Weights) -> dict[str, float]:
    live = weights.mean_B[batch.live_B]
    if not live.numel():
        return {}
    square_sum = float(live.square().sum())
    total = float(live.sum())
    return {
        "weight_mean": total / live.numel(),
        "weight_std": float(live.std(correction=0)),
        "weight_min": weights.low,
        "weight_max": weights.high,
        "weight_token_std": weights.token_std,
        "ess": total * total / (live.numel() * square_sum) if square_sum > 0 else 0.0,
        "grad_scale": float((weights.mean_B * batch.length_B).sum()) / float(batch.length_B.sum()),
    }


def _token_range(batch: Batch, weight_B: Tensor, factor_N: Tensor) -> tuple[float, float, float, Tensor]:
    """(min, max, sum of squares) of the weights over tokens that are data, and how many are above 0 per response."""
    low, high, square_sum = float("inf"), 0.0, 0.0
    positive_B = batch.length_B.clone()
    live = weight_B[batch.live_B]
    even = not live.numel() or bool((live == live[0]).all())  # then one factor for all, applied at the end
    length_B = batch.offset_B1.diff()
    for rows, tokens in chunks(batch.offset_B1):
        weight, mask = factor_N[tokens], batch.mask_N[tokens]
        if not weight.numel():
            continue
        if not even:
            weight = weight * torch.repeat_interleave(
                weight_B[rows].float(), length_B[rows], output_size=weight.numel()
            )
        low = min(low, float(filled(weight, mask, float("inf")).min()))
        weight = filled(weight, mask, 0.0)
        high = max(high, float(weight.max()))
        square_sum += float(weight.double().square_().sum())
        if int(weight.count_nonzero()) < int(positive_B[rows].sum()):
            positive_B[rows] = reduced((weight > 0).float(), batch.offset_B1, rows).long()
    if low == float("inf"):
        return 0.0, 0.0, 0.0, positive_B
    unit = float(live[0]) if even else 1.0
    return low * unit, high * unit, square_sum * unit * unit, torch.where(weight_B > 0, positive_B, 0)
