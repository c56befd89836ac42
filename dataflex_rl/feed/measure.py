"""What a feed learns from a training batch, before any selection: outcomes, a mixer's statistic, what it consumed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.components.segments import masked_sum_B
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.feed.domains import DomainMap
from dataflex_rl.feed.interface import Outcomes, Realised, grouped
from dataflex_rl.mixers.statistics import Tally, tallied
from dataflex_rl.scorers import advantage_magnitude_B

_PER_TOKEN = frozenset({"advantages", "old_log_probs"})  # a response without a token that is data has none of these


def outcomes_of(
    batch: Batch,
    row_of: Mapping[str, int],
    step: int,
    *,
    success_threshold: float = 0.5,
    tally: Tally | None = None,
    realised: Realised | None = None,
) -> Outcomes:
    """Return what came of a step's prompts, over all responses that are no padding; `row_of`: dataset row of a uid.

    Raises:
        SignalError: a NaN or Inf among the rewards or the raw outcomes.
    """
    batch.check_finite(frozenset({"rm_scores"}), step)
    raw_B = batch.outcome_B if batch.raw_outcome_B is None else batch.raw_outcome_B
    kept = batch.real_B.nonzero().flatten().tolist()
    if bad := [batch.uid[place] for place in kept if not math.isfinite(raw_B[place])]:
        raise SignalError(f"the raw outcome of a response has a NaN or Inf at step {step}, uid {bad[0]!r}")
    return grouped(
        step,
        [row_of[batch.uid[place]] for place in kept],
        batch.outcome_B[kept].tolist(),
        raw_B[kept].tolist(),
        success_threshold=success_threshold,
        tally=tally,
        realised=realised,
    )


def tally_batch(config: MixerConfig, batch: Batch, domains: DomainMap, step: int) -> Tally:
    """Sum the mixer's statistic up per domain, over all responses of the batch that have it.

    Raises:
        SignalError: a NaN or Inf in a field that the statistic is computed from, or in a score.
    """
    batch.check_finite(config.requires, step)
    counted_B = batch.live_B if config.requires & _PER_TOKEN else batch.real_B
    value_B = _value_B(config, batch)
    if not bool(torch.isfinite(value_B[counted_B]).all()):
        raise SignalError(f"dataflex.mixer.scorer {config.statistic!r} gave a NaN or Inf at step {step}")
    return tallied(value_B, counted_B, batch.real_B, domain_of_B(batch, domains), len(domains.names))


def realised(batch: Batch, trained_B: Tensor, domains: DomainMap, shortage_D: Sequence[int]) -> Realised:
    """Count prompts, responses and trained tokens per domain; `trained_B` is the tokens of weight above 0."""
    size, domain_B = len(domains.names), domain_of_B(batch, domains)
    rows_B = batch.real_B & (domain_B >= 0)
    domain_of = dict(zip(batch.group_B[rows_B].tolist(), domain_B[rows_B].tolist(), strict=True))
    tokens_D = torch.zeros(size, dtype=torch.float64, device=trained_B.device)
    tokens_D.index_add_(0, domain_B[rows_B], trained_B[rows_B].double())
    return Realised(
        prompts_D=torch.bincount(torch.tensor(list(domain_of.values()), dtype=torch.int64), minlength=size).tolist(),
        responses_D=torch.bincount(domain_B[rows_B], minlength=size).tolist(),
        trained_tokens_D=tokens_D.tolist(),
        shortage_D=shortage_D,
    )


def domain_of_B(batch: Batch, domains: DomainMap) -> Tensor:
    """int64 [B]: index of each response's domain, -1 for one that is not mixed."""
    assert batch.domain is not None
    codes = [domains.index(name) for name in batch.domain]
    return torch.tensor(codes, dtype=torch.int64, device=batch.offset_B1.device)


def _value_B(config: MixerConfig, batch: Batch) -> Tensor:
    """float64 [B]: the statistic of each response; of a token-granular scorer its mean over the response."""
    if config.scorer is None:
        if config.statistic == "reward":
            return batch.outcome_B
        return advantage_magnitude_B(batch.advantages, batch.mask_N, batch.offset_B1, "mean")
    score: Tensor = config.scorer(batch)
    assert config.scorer_spec is not None
    if config.scorer_spec.granularity != ("token",):
        return score.double()
    return masked_sum_B(score, batch.mask_N, batch.offset_B1) / batch.length_B.clamp(min=1)
