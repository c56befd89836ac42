"""Attention of one new token over its slot's cache, registered with transformers under a name of its own.

transformers' own function copies every key and value once per query head that shares it. With one query token those
heads can stand in the place of query tokens instead: the same sums, and nothing is copied.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from dataflex_rl.errors import ConfigError

NAME = "dataflex_slots"

# torch's CPU kernel gives each thread a stretch of one scratch buffer. With a multiple of 8 queries every stretch
# starts on a cache line; otherwise threads differ in the last bits, and a row's result depends on who computed it.
_QUERIES = 8


def slot_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attend from query [S, heads, T, K] to key and value [S, H, C, K]; return [S, T, heads, K] and no weights.

    attention_mask: [S, 1, T, C], added to the scores. T > 1 is left to transformers' function.
    """
    if query.shape[2] != 1:
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)
        return output, None
    slots, heads, _, width = query.shape
    group = heads // key.shape[1]
    grouped = query.reshape(slots, key.shape[1], group, width)
    if query.device.type == "cpu" and torch.get_num_threads() > 1:
        grouped = pad(grouped, (0, 0, 0, -group % _QUERIES))
    attended = scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return attended[:, :, :group].reshape(slots, 1, heads, value.shape[3]), None


def use_slot_attention(model: Any) -> None:
    """Switch a model to `slot_attention`.

    Errors: `ConfigError` if the model does not take its attention from transformers' interface.
    """
    AttentionInterface.register(NAME, slot_attention)
    model.set_attn_implementation(NAME)
    if model.config._attn_implementation != NAME:
        raise ConfigError(f"{type(model).__name__} has attention code of its own: expected transformers' interface")
