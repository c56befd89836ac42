"""Plain implementations of the eight methods on padded tensors, one group after the other: what the bench compares to.

They start from padded [B, T] tensors and return one weight per response, float32 [B]; ar one per token, [B, T].
Defaults of the study, no metrics. Written to be read, not to be fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch


@dataclass(frozen=True, kw_only=True)
class Padded:
    """A batch as padded tensors."""

    uid: Sequence[str]
    order: Sequence[int]
    mask_BT: Tensor
    reward_BT: Tensor
    advantage_BT: Tensor
    old_log_prob_BT: Tensor

    @classmethod
    def of(cls, batch: Batch) -> Padded:
        """Pad a jagged batch with zeros."""
        assert batch.rm_score_N is not None
        bounds, width = batch.offset_B1.tolist(), int(batch.offset_B1.diff().max())

        def pad(value_N: Tensor) -> Tensor:
            out_BT = torch.zeros(batch.size, width)
            for row in range(batch.size):
                out_BT[row, : bounds[row + 1] - bounds[row]] = value_N[bounds[row] : bounds[row + 1]]
            return out_BT

        return cls(
            uid=batch.uid,
            order=batch.order_B.tolist(),
            mask_BT=pad(batch.response_mask_N),
            reward_BT=pad(batch.rm_score_N),
            advantage_BT=pad(batch.advantages),
            old_log_prob_BT=pad(batch.old_log_probs),
        )

    def groups(self) -> Iterator[list[int]]:
        """Rows of each group, in tie order."""
        for name in sorted(set(self.uid)):
            yield sorted((row for row, other in enumerate(self.uid) if other == name), key=self.order.__getitem__)


def reference(method: str, data: Padded) -> Tensor:
    """float32 [B], or [B, T] for ar: the weights by the plain implementation of `method`."""
    return _METHODS[method](data)


def _difffilter(data: Padded) -> Tensor:
    weight_B = torch.zeros(len(data.uid))
    for rows in data.groups():
        solved = (data.reward_BT[rows] * data.mask_BT[rows]).sum(1) > 0.5
        if 0.2 * len(rows) < int(solved.sum()) < 0.8 * len(rows):
            weight_B[rows] = 1.0
    return weight_B


def _maxvar(data: Padded) -> Tensor:
    weight_B = torch.zeros(len(data.uid))
    for rows in data.groups():
        reward = (data.reward_BT[rows] * data.mask_BT[rows]).sum(1)
        up = torch.sort(reward, stable=True).indices.tolist()
        down = torch.sort(reward, descending=True, stable=True).indices.tolist()
        count, best, chosen = max(round(0.5 * len(rows)), 1), -1.0, None
        for low in range(count + 1):
            picked = sorted({*up[:low], *down[: count - low]})
            if len(picked) < count:
                continue
            spread = float(reward[picked].double().var(correction=0))
            if spread > best + 1e-9 or (abs(spread - best) <= 1e-9 and chosen is not None and picked < chosen):
                best, chosen = spread, picked
        assert chosen is not None
        kept = [rows[i] for i in chosen]
        weight_B[kept] = 1.0
    return weight_B


def _gfpo(data: Padded) -> Tensor:
    weight_B = torch.zeros(len(data.uid))
    for rows in data.groups():
        merit = (data.reward_BT[rows] * data.mask_BT[rows]).sum(1).double() / data.mask_BT[rows].sum(1).double()
        kept = [rows[i] for i in torch.sort(merit, descending=True, stable=True).indices.tolist()[:3]]
        weight_B[kept] = 1.0
    return weight_B


def _magnitude_B(data: Padded) -> Tensor:
    return (data.advantage_BT.abs() * data.mask_BT).sum(1) / data.mask_BT.sum(1)


def _topk(data: Padded) -> Tensor:
    score = _magnitude_B(data)
    weight_B = torch.zeros(len(score))
    kept = torch.sort(score, descending=True, stable=True).indices[: max(round(0.5 * len(score)), 1)]
    weight_B[kept] = 1.0
    return weight_B


def _ar(data: Padded) -> Tensor:
    weight_BT = (0.5 * data.old_log_prob_BT.exp() + 0.5) * data.mask_BT
    return weight_BT * (data.mask_BT.sum() / weight_BT.sum())


def _per(data: Padded) -> Tensor:
    weight = (_magnitude_B(data) + 1e-8) ** 0.5
    return weight / weight.mean()


def _softmax(data: Padded) -> Tensor:
    score = _magnitude_B(data)
    return torch.softmax(score, 0) * len(score)


def _diffband(data: Padded) -> Tensor:
    reward = (data.reward_BT * data.mask_BT).sum(1)
    low, high = torch.quantile(reward, torch.tensor([0.25, 0.75]))
    weight = torch.where((reward >= low) & (reward <= high), 2.0, 1.0)
    return weight / weight.mean()


_METHODS: dict[str, Callable[[Padded], Tensor]] = {
    "difffilter": _difffilter,
    "maxvar": _maxvar,
    "gfpo": _gfpo,
    "topk": _topk,
    "ar": _ar,
    "per": _per,
    "softmax": _softmax,
    "diffband": _diffband,
}
