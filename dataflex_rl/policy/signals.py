"""Plain Python signals of one batch, checked and laid end to end as a `Batch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch, SignalError

PER_TOKEN = ("response_mask", "advantages", "old_log_probs")
KNOWN = ("uid", "reward", "response_id", "advantages", "old_log_probs", "response_mask", "acc", "domain")
FIELD_NAMES = {"rm_scores": "reward"}  # verl's field -> the signal's key, for error messages


def to_batch(signals: Mapping[str, Any], requires: frozenset[str], reads_length: bool) -> Batch:
    """Build a batch from `signals` (see `api.apply_policy`).

    Without any per-token signal each response counts as one token; `reads_length` says that this would be wrong.

    Raises:
        SignalError: a key is unknown or missing, or a length, type or value does not fit; one line.
    """
    if not isinstance(signals, Mapping):
        raise SignalError(f"signals must be a mapping of names to columns, got {type(signals).__name__}")
    for key in signals:
        if key not in KNOWN:
            raise SignalError(f"unknown signal {key!r}; known: {', '.join(KNOWN)}")
    given = {key: value for key, value in signals.items() if value is not None}
    needed = {FIELD_NAMES.get(field, field) for field in requires} - {"response_mask"} | {"uid", "reward"}
    for key in sorted(needed - given.keys()):
        raise SignalError(f"signals lacks {key!r}, which this policy requires; given: {', '.join(sorted(given))}")
    if reads_length and not any(key in given for key in PER_TOKEN):
        raise SignalError(f"this policy reads the length of each response; give one of {', '.join(PER_TOKEN)}")
    uid = _strings("uid", given["uid"])
    size = len(uid)
    if size == 0:
        raise SignalError("signals has no response: uid is empty")
    tokens = {key: _token_rows(key, given[key], size) for key in PER_TOKEN if key in given}
    length = _lengths(tokens, size)
    offset_B1 = torch.tensor([0, *length]).cumsum(0)
    laid = {key: torch.cat([torch.empty(0, dtype=torch.float64), *rows]).float() for key, rows in tokens.items()}
    mask_N = laid.get("response_mask", torch.ones(int(offset_B1[-1])))
    if not ((mask_N == 0) | (mask_N == 1)).all():
        raise SignalError("response_mask must hold 0 and 1 only")
    return Batch(
        offset_B1=offset_B1,
        response_mask_N=mask_N,
        uid=uid,
        prompt_key=uid,
        rollout_index_B=torch.arange(size),
        is_padding_B=torch.zeros(size, dtype=torch.bool),
        reward_B=_column("reward", given["reward"], size),
        advantage_N=laid.get("advantages"),
        old_log_prob_N=laid.get("old_log_probs"),
        acc_B=_column("acc", given["acc"], size) if "acc" in given else None,
        domain=_strings("domain", given["domain"], size) if "domain" in given else None,
        tie_B=_tie_B(given["response_id"], uid) if "response_id" in given else torch.arange(size),
    )


def split_N(value_N: Tensor, offset_B1: Tensor) -> list[Tensor]:
    """Cut a jagged tensor into one tensor per response."""
    return list(torch.split(value_N, offset_B1.diff().tolist()))


def _tie_B(response_id: Any, uid: Sequence[str]) -> Tensor:
    """int64 [B]: rank by (response_id, uid); both must tell the responses apart."""
    items = _items("response_id", response_id, len(uid))
    ids = list(items.tolist() if hasattr(items, "tolist") else items)
    if not (all(isinstance(x, str) for x in ids) or all(isinstance(x, int) for x in ids)):
        raise SignalError("response_id must be all strings or all integers")
    keys = list(zip(ids, uid, strict=True))
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SignalError(f"response_id {twice[0]!r} stands twice in group {twice[1]!r}; it must be unique there")
    rank_B = torch.empty(len(keys), dtype=torch.int64)
    rank_B[torch.tensor(sorted(range(len(keys)), key=keys.__getitem__))] = torch.arange(len(keys))
    return rank_B


def _lengths(tokens: Mapping[str, Sequence[Tensor]], size: int) -> list[int]:
    """Tokens per response, the same in every per-token signal."""
    if not tokens:
        return [1] * size
    first, *rest = tokens
    length = [row.numel() for row in tokens[first]]
    for key in rest:
        for i, row in enumerate(tokens[key]):
            if row.numel() != length[i]:
                raise SignalError(f"{key}[{i}] has {row.numel()} tokens, but {first}[{i}] has {length[i]}")
    return length


def _token_rows(key: str, value: Any, size: int) -> list[Tensor]:
    rows = []
    for i, row in enumerate(_items(key, value, size)):
        if isinstance(row, (str, bytes)) or not hasattr(row, "__len__"):
            raise SignalError(f"{key}[{i}] must be a sequence of one number per token, got {row!r}")
        rows.append(_numbers(f"{key}[{i}]", row))
    return rows


def _column(key: str, value: Any, size: int) -> Tensor:
    items = _items(key, value, size)
    return _numbers(key, items if isinstance(items, Tensor) else list(items))


def _numbers(where: str, value: Any) -> Tensor:
    """float64, one-dimensional."""
    try:
        tensor = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise SignalError(f"{where} must hold numbers only: {str(error).splitlines()[0]}") from error
    if tensor.dim() != 1:
        raise SignalError(f"{where} must be one-dimensional, got shape {tuple(tensor.shape)}")
    return tensor


def _strings(key: str, value: Any, size: int | None = None) -> list[str]:
    items = [str(item) if type(item).__module__ == "numpy" else item for item in _items(key, value, size)]
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise SignalError(f"{key}[{i}] must be a string, got {item!r}")
    return items


def _items(key: str, value: Any, size: int | None) -> Iterable[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__"):
        raise SignalError(f"{key} must be a sequence with one entry per response, got {type(value).__name__}")
    if size is not None and len(value) != size:
        raise SignalError(f"{key} has {len(value)} entries, but uid has {size}")
    items: Iterable[Any] = value
    return items
