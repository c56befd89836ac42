"""One training batch as a data policy sees it: jagged tensors, group ids and what is data in them. Imports torch only.

Response i owns the tokens `offset_B1[i]:offset_B1[i + 1]`. Rows that the host appended (`is_padding_B`) and tokens with
mask 0 are not data. Three sets of responses follow from that:

- *real*: every row that is not padding. Outcomes (rewards, solve rates) are counted over these.
- *live*: real and with at least one token of mask 1. Only these can be kept, dropped or weighted; a response that
  verl's rejection sampling masked completely is real (it was generated and graded) but not live.
- *pool*: the live responses that earlier links of a chain kept; what an actuator acts on (`components.pool`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from dataflex_rl.components.segments import count_B, first_bad, total_B
from dataflex_rl.errors import ConfigError

# Rewards that differ by less are the same reward: one rounding step of float32, relative above 1 (CASES: float noise
# must not make a constant group look mixed).
REWARD_NOISE = 1e-7


class SignalError(ConfigError):
    """A batch or a signal does not fit: missing, of another length, NaN or Inf. Names the field and the place."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One training batch. Either `rm_score_N` (token rewards, summed per response) or `reward_B` must be given.

    `raw_outcome_B` (optional): the verifier's raw outcome of each response, where it gives none the reward.
    `tie_B` (optional): the order that decides ties, smaller first; else (prompt_key, rollout_index), then position.

    Raises:
        SignalError: a field has another length than the offsets or the number of responses say.
    """

    offset_B1: Tensor
    response_mask_N: Tensor
    uid: Sequence[str]
    prompt_key: Sequence[str]
    rollout_index_B: Tensor
    is_padding_B: Tensor
    rm_score_N: Tensor | None = None
    reward_B: Tensor | None = None
    advantage_N: Tensor | None = None
    old_log_prob_N: Tensor | None = None
    acc_B: Tensor | None = None
    raw_outcome_B: Tensor | None = None
    domain: Sequence[str] | None = None
    rollout_is_weight_N: Tensor | None = None
    tie_B: Tensor | None = None

    def __post_init__(self) -> None:
        """Check every length once."""
        if self.offset_B1.dtype != torch.int64 or self.offset_B1.dim() != 1 or self.offset_B1.numel() < 1:
            raise SignalError("offset_B1 must be a one-dimensional int64 tensor of B + 1 entries")
        if (self.rm_score_N is None) == (self.reward_B is None):
            raise SignalError("a batch needs either rm_score_N or reward_B, and not both")
        size, tokens = self.size, int(self.offset_B1[-1])
        for name in ("response_mask_N", "rm_score_N", "advantage_N", "old_log_prob_N", "rollout_is_weight_N"):
            value = getattr(self, name)
            if value is not None and value.shape != (tokens,):
                raise SignalError(f"{name} has shape {tuple(value.shape)}, but the offsets end at {tokens} tokens")
        rows = ("uid", "prompt_key", "rollout_index_B", "is_padding_B", "reward_B", "acc_B", "raw_outcome_B", "domain",
                "tie_B")  # fmt: skip
        for name in rows:
            value = getattr(self, name)
            if value is not None and len(value) != size:
                raise SignalError(f"{name} has {len(value)} entries, but the batch has {size} responses")

    @property
    def size(self) -> int:
        """Number of rows B, padding included."""
        return self.offset_B1.numel() - 1

    @cached_property
    def real_B(self) -> Tensor:
        """bool [B]: not padding."""
        return ~self.is_padding_B.to(torch.bool)

    @cached_property
    def length_B(self) -> Tensor:
        """int64 [B]: tokens with mask 1; 0 for padding."""
        return count_B(self.mask_N, self.offset_B1)

    @cached_property
    def mask_N(self) -> Tensor:
        """[N]: the response mask, with the rows of padding zeroed (the same tensor where they already are)."""
        mask_N, bounds_B1 = self.response_mask_N, self.offset_B1.tolist()
        for row in self.is_padding_B.nonzero().flatten().tolist():
            tokens = slice(bounds_B1[row], bounds_B1[row + 1])
            if mask_N[tokens].any():
                mask_N = mask_N.clone() if mask_N is self.response_mask_N else mask_N
                mask_N[tokens] = 0
        return mask_N

    @cached_property
    def live_B(self) -> Tensor:
        """bool [B]: real and with at least one token that is data."""
        return self.length_B > 0

    @cached_property
    def outcome_B(self) -> Tensor:
        """float64 [B]: reward of each response, over all its tokens (a token masked later was graded all the same)."""
        if self.reward_B is not None:
            return self.reward_B.double()
        assert self.rm_score_N is not None
        return total_B(self.rm_score_N.detach(), self.offset_B1)

    @cached_property
    def group_B(self) -> Tensor:
        """int64 [B]: dense group id of each response, numbered by first appearance of its uid."""
        return _codes(self.uid).to(self.offset_B1.device)

    @cached_property
    def n_groups(self) -> int:
        """Number of distinct uids, those of padding rows included."""
        return int(self.group_B.max()) + 1 if self.size else 0

    @cached_property
    def order_B(self) -> Tensor:
        """int64 [B], >= 0: what decides ties, smaller first; equal numbers fall back to the position."""
        if self.size == 0:
            return torch.zeros_like(self.rollout_index_B)
        if self.tie_B is not None:
            rank_B: Tensor = torch.unique(self.tie_B, return_inverse=True)[1]
            return rank_B
        index_B = self.rollout_index_B - self.rollout_index_B.min()
        key_B = _ordered_codes(self.prompt_key).to(self.offset_B1.device)
        return key_B * (index_B.max() + 1) + index_B

    @cached_property
    def domains(self) -> list[str]:
        """Sorted names of the domains that real responses have; empty when the batch carries none."""
        if self.domain is None:
            return []
        return sorted({name for name, real in zip(self.domain, self.real_B.tolist(), strict=True) if real})

    @cached_property
    def domain_B(self) -> Tensor:
        """int64 [B]: index into `domains`; 0 for padding rows."""
        assert self.domain is not None
        code = {name: index for index, name in enumerate(self.domains)}
        return torch.tensor([code.get(name, 0) for name in self.domain], dtype=torch.int64, device=self.group_B.device)

    def outcome(self, signal: str) -> Tensor:
        """float64 [B]: `reward` or the raw outcome `acc`."""
        return self.outcome_B if signal == "reward" else self.acc.double()

    @property
    def acc(self) -> Tensor:
        """The raw outcome per response; missing is an error."""
        return _given(self.acc_B, "acc")

    @property
    def advantages(self) -> Tensor:
        """The advantage per token; missing is an error."""
        return _given(self.advantage_N, "advantages").detach()

    @property
    def old_log_probs(self) -> Tensor:
        """The log-probability per token under the policy that generated it; missing is an error."""
        return _given(self.old_log_prob_N, "old_log_probs").detach()

    def check_finite(self, fields: frozenset[str], step: int, names: dict[str, str] | None = None) -> None:
        """Refuse NaN and Inf on data in the required fields (verl's names).

        Raises:
            SignalError: names the field (through `names` if given), the step and the prompt.
        """
        for field in sorted(fields & {"rm_scores", "acc", "advantages", "old_log_probs"}):
            row = self._first_bad(field)
            if row is not None:
                shown = (names or {}).get(field, field)
                raise SignalError(
                    f"{shown} has a NaN or Inf at step {step}, prompt {self.prompt_key[row]!r} (response {row}, "
                    f"uid {self.uid[row]!r}); a data policy needs finite values"
                )

    def _first_bad(self, field: str) -> int | None:
        if field in ("rm_scores", "acc"):
            value_B = self.outcome_B if field == "rm_scores" else self.acc
            bad_B = ~torch.isfinite(value_B) & self.real_B
            return int(bad_B.nonzero()[0]) if bad_B.any() else None
        value_N = self.advantages if field == "advantages" else self.old_log_probs
        return first_bad(value_N, self.mask_N, self.offset_B1)


def _given(value: Tensor | None, field: str) -> Tensor:
    if value is None:
        raise SignalError(f"the batch has no {field!r}, which this data policy requires")
    return value


def _codes(labels: Sequence[str]) -> Tensor:
    """int64: label -> number, by first appearance."""
    return _numbered(labels, dict.fromkeys(labels))


def _ordered_codes(labels: Sequence[str]) -> Tensor:
    """int64: label -> number, in the sorted order of the labels."""
    return _numbered(labels, sorted(set(labels)))


def _numbered(labels: Sequence[str], distinct: Iterable[str]) -> Tensor:
    code = {label: index for index, label in enumerate(distinct)}
    return torch.tensor(list(map(code.__getitem__, labels)), dtype=torch.int64)
