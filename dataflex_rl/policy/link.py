"""One scorer with one actuator on one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.components.pool import Pool, Selection, TokenPool
from dataflex_rl.components.registry import Spec
from dataflex_rl.policy.scaling import scale_N_, scaled_B


@dataclass(frozen=True, kw_only=True)
class Link:
    """A scorer, an actuator and how the actuator's answer becomes weights."""

    scorer: Any
    scorer_spec: Spec
    actuator: Any
    actuator_spec: Spec
    normalize: str
    cap: float | None
    on_empty: str

    @property
    def fields(self) -> frozenset[str]:
        """Fields of verl's batch that the pair reads."""
        return fields_of(self.scorer, self.scorer_spec) | fields_of(self.actuator, self.actuator_spec)

    @property
    def selects(self) -> bool:
        """Whether the actuator drops responses."""
        return self.actuator_spec.kind == "select"

    @property
    def per_token(self) -> bool:
        """Whether the actuator weighs tokens."""
        return self.actuator_spec.granularity == ("token",)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a link did. `weight_B` is 0 outside the pool; `reason_B` is -1 where the link dropped nothing."""

    score_B: Tensor | None
    score_N: Tensor | None
    weight_B: Tensor
    factor_N: Tensor | None
    keep_B: Tensor | None
    reasons: tuple[str, ...]
    reason_B: Tensor
    empty: bool


def fields_of(component: Any, spec: Spec) -> frozenset[str]:
    """Fields a component reads: what its `fields()` says for its options, else what it declared."""
    return component.fields() if hasattr(component, "fields") else frozenset(spec.requires)


def run_link(link: Link, batch: Batch, pool_B: Tensor, kept_unit: str) -> Outcome:
    """Score the whole batch and act on the pool `pool_B` (bool [B], at least one response).

    `kept_unit` is what `normalize: kept` counts: token, response or none (see `checks.kept_unit`).
    """
    score = link.scorer(batch)
    expected = batch.offset_B1[-1] if link.per_token else batch.size
    if score.shape != (int(expected),):
        raise SignalError(
            f"scorer {link.scorer_spec.name!r} gave shape {tuple(score.shape)}, expected ({int(expected)},)"
        )
    if link.per_token:
        return _weigh_tokens(link, batch, pool_B, score.detach())
    score_B = score.detach().double()
    if not torch.isfinite(score_B[pool_B]).all():
        raise SignalError(f"scorer {link.scorer_spec.name!r} gave a NaN or Inf on a response that is data")
    row_B = pool_B.nonzero().squeeze(1)
    pool = Pool(batch=batch, row_B=row_B, score_B=score_B[row_B])
    act = _select if link.selects else _weigh
    return act(link, batch, pool_B, pool, score_B, kept_unit)


def _select(link: Link, batch: Batch, pool_B: Tensor, pool: Pool, score_B: Tensor, kept_unit: str) -> Outcome:
    selection: Selection = link.actuator(pool)
    _check_selection(link, selection, pool)
    keep_B = torch.zeros_like(pool_B)
    keep_B[pool.row_B] = selection.keep_B
    empty = not bool(keep_B.any())
    if empty and link.on_empty == "keep_all":
        keep_B = pool_B.clone()
    reason_B = torch.full_like(batch.length_B, -1)
    code_B = selection.reason_B if selection.reason_B is not None else torch.zeros_like(pool.row_B)
    reason_B[pool.row_B] = code_B
    weight_B = keep_B.double()
    if link.normalize == "kept" and kept_unit != "none" and not (empty and link.on_empty != "keep_all"):
        unit_B = batch.length_B.double() if kept_unit == "token" else torch.ones_like(weight_B)
        weight_B *= float(unit_B[pool_B].sum()) / float(unit_B[keep_B].sum())
    if link.cap is not None:
        weight_B.clamp_(max=link.cap)
    return Outcome(
        score_B=score_B, score_N=None, weight_B=weight_B, factor_N=None, keep_B=keep_B,
        reasons=selection.reasons, reason_B=reason_B.masked_fill_(keep_B, -1), empty=empty,
    )  # fmt: skip


def _weigh(link: Link, batch: Batch, pool_B: Tensor, pool: Pool, score_B: Tensor, kept_unit: str) -> Outcome:
    raw_B = link.actuator(pool).double()
    _check_raw(link, raw_B, pool.row_B.shape)
    measure_B = pool.length_B.double() if link.normalize == "token" else torch.ones_like(raw_B)
    weight_B = torch.zeros_like(score_B)
    weight_B[pool.row_B] = scaled_B(raw_B, measure_B, link.cap)
    return Outcome(
        score_B=score_B, score_N=None, weight_B=weight_B, factor_N=None, keep_B=None,
        reasons=(), reason_B=torch.full_like(batch.length_B, -1), empty=False,
    )  # fmt: skip


def _weigh_tokens(link: Link, batch: Batch, pool_B: Tensor, score_N: Tensor) -> Outcome:
    raw_N = link.actuator(TokenPool(batch=batch, score_N=score_N)).float()
    if raw_N.data_ptr() == score_N.data_ptr():
        raw_N = raw_N.clone()  # it is scaled in place, and the score is reported
    measure_B = pool_B.double()
    if link.normalize == "response":
        measure_B = measure_B / batch.length_B.clamp(min=1)
    factor_N = scale_N_(raw_N, batch.mask_N, measure_B, batch.offset_B1, link.cap)
    _check_raw(link, factor_N, score_N.shape)
    return Outcome(
        score_B=None, score_N=score_N, weight_B=pool_B.double(), factor_N=factor_N, keep_B=None,
        reasons=(), reason_B=torch.full_like(batch.length_B, -1), empty=False,
    )  # fmt: skip


def _check_selection(link: Link, selection: object, pool: Pool) -> None:
    """A selector's answer must be a Selection with one bool per response of the pool."""
    name, expected = link.actuator_spec.name, tuple(pool.row_B.shape)
    if not isinstance(selection, Selection):
        raise SignalError(
            f"actuator {name!r} gave a {type(selection).__name__}, expected a dataflex_rl.components.pool.Selection"
        )
    for field, value in (("keep_B", selection.keep_B), ("reason_B", selection.reason_B)):
        if value is not None and tuple(value.shape) != expected:
            raise SignalError(f"actuator {name!r} gave {field} of shape {tuple(value.shape)}, expected {expected}")
    if selection.keep_B.dtype != torch.bool:
        raise SignalError(f"actuator {name!r} gave keep_B of {selection.keep_B.dtype}, expected torch.bool")


def _check_raw(link: Link, raw: Tensor, shape: torch.Size) -> None:
    """A reweighter's answer must be finite, not negative and of the pool's length."""
    name = link.actuator_spec.name
    if raw.shape != shape:
        raise SignalError(f"actuator {name!r} gave weights of shape {tuple(raw.shape)}, expected {tuple(shape)}")
    if raw.numel() and not (float(raw.min()) >= 0.0 and float(raw.max()) < float("inf")):
        raise SignalError(f"actuator {name!r} gave a negative, NaN or infinite weight")
