"""What is logged per step. Every key starts with `dataflex/`, and all but the flags come again as `<key>/<domain>`.

Counts are over real data. Shares of responses and tokens have the live responses (real, with tokens) below the line;
`reward_all` and the group shares count every real response, as the verifier did. A key whose value would be 0/0 is left
out: `reward_effective` when every weight is 0, what is per live response where there is none.

- kept_frac, kept_token_frac, kept_group_frac [share]; dropped/<reason> [responses]
- weight_mean, weight_std over responses (of a response's mean token weight); weight_min, weight_max, weight_token_std
  over tokens that are data
- ess = (sum w)^2 / (B sum w^2) [share]; grad_scale = mean weight over tokens
- groups [count]; groups_all_solved, groups_all_failed, groups_mixed, groups_constant (rewards equal but for float
  noise) [share]; of a domain: of the group's responses there
- reward_all, reward_effective = sum w R / sum w
- tokens_generated (tokens of mask 1), tokens_trained (of weight above 0), tokens_dropped (the difference) [tokens]
- acting, empty_step [0 or 1], empty_steps [count since the start]: flags
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dataflex_rl.components.batch import REWARD_NOISE, Batch
from dataflex_rl.policy.summary import Weights, summarize

__all__ = ["PREFIX", "Weights", "drop_metrics", "group_metrics", "step_metrics", "summarize"]

PREFIX = "dataflex/"


def step_metrics(batch: Batch, weights: Weights, reasons: Sequence[str], reason_B: Tensor) -> dict[str, float]:
    """Shares, weights, rewards, tokens and drop counts. `reason_B` indexes `reasons`; -1: not dropped."""
    out: dict[str, float] = {}
    for which_B, suffix in _slices(batch):
        part = _shares(batch, weights, which_B) | _weight_stats(batch, weights, which_B)
        part |= drop_metrics(reasons, torch.where(which_B, reason_B, -1), "")
        generated = float(batch.length_B[which_B].sum())
        trained = float(weights.trained_B[which_B].sum())
        part |= {"tokens_generated": generated, "tokens_trained": trained, "tokens_dropped": generated - trained}
        out |= {f"{PREFIX}{key}{suffix}": value for key, value in part.items()}
    return out


def group_metrics(batch: Batch, outcome_B: Tensor, threshold: float) -> dict[str, float]:
    """Shares of groups all solved, all failed, mixed (by outcome > threshold) and constant; over real responses."""
    out: dict[str, float] = {}
    for which_B, suffix in _slices(batch):
        part = _groups(batch.group_B[which_B], outcome_B[which_B], batch.n_groups, threshold)
        out |= {f"{PREFIX}{key}{suffix}": value for key, value in part.items()}
    return out


def drop_metrics(reasons: Sequence[str], reason_B: Tensor, prefix: str = PREFIX) -> dict[str, float]:
    """Number of responses dropped for each reason."""
    count = torch.bincount(reason_B[reason_B >= 0], minlength=len(reasons)).tolist()
    out: dict[str, float] = {}
    for name, number in zip(reasons, count, strict=True):
        out[f"{prefix}dropped/{name}"] = out.get(f"{prefix}dropped/{name}", 0.0) + float(number)
    return out


def _slices(batch: Batch) -> Iterator[tuple[Tensor, str]]:
    """All real responses, then those of each domain, with the suffix of their keys."""
    yield batch.real_B, ""
    for index, name in enumerate(batch.domains):
        yield batch.real_B & (batch.domain_B == index), f"/{name}"


def _shares(batch: Batch, weights: Weights, which_B: Tensor) -> dict[str, float]:
    live_B, kept_B = batch.live_B & which_B, weights.kept_B & which_B
    reward, weight = batch.outcome_B[which_B], weights.mean_B[which_B]
    out: dict[str, float] = {}
    if live_B.any():
        groups = [torch.bincount(batch.group_B[some_B], minlength=batch.n_groups) > 0 for some_B in (kept_B, live_B)]
        out["kept_frac"] = int(kept_B.sum()) / int(live_B.sum())
        out["kept_token_frac"] = int(batch.length_B[kept_B].sum()) / int(batch.length_B[live_B].sum())
        out["kept_group_frac"] = int(groups[0].sum()) / int(groups[1].sum())
    if reward.numel():
        out["reward_all"] = float(reward.mean())
    if float(weight.sum()) > 0:
        out["reward_effective"] = float((weight * reward).sum()) / float(weight.sum())
    return out


def _weight_stats(batch: Batch, weights: Weights, which_B: Tensor) -> dict[str, float]:
    live_B = batch.live_B & which_B
    weight, length = weights.mean_B[live_B], batch.length_B[live_B]
    if not weight.numel():
        return {}
    tokens, total, square_sum = float(length.sum()), float(weight.sum()), float(weight.square().sum())
    token_mean = float((weight * length).sum()) / tokens
    token_variance = float(weights.square_B[live_B].sum()) / tokens - token_mean**2
    return {
        "weight_mean": total / weight.numel(),
        "weight_std": float(weight.std(correction=0)),
        "weight_min": float(weights.low_B[live_B].min()),
        "weight_max": float(weights.high_B[live_B].max()),
        "weight_token_std": max(token_variance, 0.0) ** 0.5,
        "ess": total * total / (weight.numel() * square_sum) if square_sum > 0 else 0.0,
        "grad_scale": token_mean,
    }


def _groups(group_B: Tensor, outcome_B: Tensor, n_groups: int, threshold: float) -> dict[str, float]:
    size_G = torch.bincount(group_B, minlength=n_groups)
    seen_G = size_G > 0
    groups = int(seen_G.sum())
    if groups == 0:
        return {"groups": 0.0}
    solved_G = torch.bincount(group_B[outcome_B > threshold], minlength=n_groups)
    low_G = torch.full((n_groups,), float("inf"), dtype=torch.float64, device=outcome_B.device)
    high_G = -low_G
    low_G.scatter_reduce_(0, group_B, outcome_B, reduce="amin")
    high_G.scatter_reduce_(0, group_B, outcome_B, reduce="amax")
    slack_G = REWARD_NOISE * torch.maximum(low_G.abs(), high_G.abs()).clamp(min=1.0)
    counts = {
        "groups_all_solved": (solved_G == size_G) & seen_G,
        "groups_all_failed": (solved_G == 0) & seen_G,
        "groups_mixed": (solved_G > 0) & (solved_G < size_G),
        "groups_constant": (high_G - low_G <= slack_G) & seen_G,
    }
    return {"groups": float(groups), **{key: int(which_G.sum()) / groups for key, which_G in counts.items()}}
