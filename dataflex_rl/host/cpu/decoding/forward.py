"""The two passes through the model, each in a fixed shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding.cache import chunk_cache, memory_of, prefill_cache

_ROUTED = ("num_experts", "num_local_experts", "n_routed_experts")


@dataclass(frozen=True, kw_only=True)
class Prefill:
    """What a prefill leaves behind: the last token's logits, the keys and values, and each row's padding columns."""

    logits_FV: Tensor
    cache: Cache
    start_F: Tensor


@dataclass(frozen=True, kw_only=True)
class ChunkRead:
    """What reading one chunk of each row leaves: the logits after its last token, and its keys and values.

    memory: [2 per layer, F, H, L, K]; L are the columns of the chunk alone.
    """

    logits_FV: Tensor
    memory: Tensor


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A model with the fixed number of rows per prefill; it has places for `positions` tokens."""

    model: Any
    device: torch.device
    pad_id: int
    rows: int
    positions: int

    def prefill(self, prompts: Sequence[Sequence[int]], columns: int) -> Prefill:
        """Run up to `rows` prompts, padded on the left to `columns` tokens; rows without a prompt run padding."""
        lengths = [len(prompt) for prompt in prompts] + [1] * (self.rows - len(prompts))
        padded = [[self.pad_id] * (columns - len(prompt)) + list(prompt) for prompt in prompts]
        padded += [[self.pad_id] * columns] * (self.rows - len(prompts))
        input_FL = torch.tensor(padded, device=self.device)
        start_F = columns - torch.tensor(lengths, device=self.device)
        column_L = torch.arange(columns, device=self.device)
        cache = prefill_cache()
        output = self.model(
            input_ids=input_FL,
            attention_mask=self._hide(_prompt_view(start_F, column_L)),
            position_ids=(column_L - start_F[:, None]).clamp_(min=0),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return Prefill(logits_FV=output.logits[:, -1], cache=cache, start_F=start_F)

    def read_chunk(self, chunks: Sequence[Sequence[int]], start: int, columns: int, past: Tensor | None) -> ChunkRead:
        """Run up to `rows` chunks that begin at position `start`, each padded on the right to `columns` tokens.

        past: keys and values [2 per layer, F, H, start, K] of what comes before; None where `start` is 0.
        """
        chunks = [*chunks, *[[self.pad_id]] * (self.rows - len(chunks))]
        padded = [[*chunk, *[self.pad_id] * (columns - len(chunk))] for chunk in chunks]
        column_C = torch.arange(start + columns, device=self.device)
        view_LC = column_C <= column_C[start:, None]
        cache = chunk_cache(past)
        last_F = torch.tensor([len(chunk) - 1 for chunk in chunks], device=self.device)
        output = self.model(
            input_ids=torch.tensor(padded, device=self.device),
            attention_mask=self._hide(view_LC.expand(self.rows, 1, -1, -1)),
            position_ids=column_C[start:].clamp(max=self.positions - 1).expand(self.rows, -1),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=last_F,
        )
        # The model takes one list of positions for all rows: row r's own is the r-th.
        row_F = torch.arange(self.rows, device=self.device)
        return ChunkRead(logits_FV=output.logits[row_F, row_F], memory=memory_of(cache))

    def decode(self, token_S: Tensor, position_S: Tensor, cache: Cache) -> Tensor:
        """Run one token per slot at its position; return the logits [S, V] of what comes next."""
        column_C = torch.arange(cache.get_max_cache_shape(), device=self.device)
        view_S11C = (column_C <= position_S[:, None])[:, None, None, :]
        output = self.model(
            input_ids=token_S[:, None],
            attention_mask=self._hide(view_S11C),
            position_ids=position_S[:, None],
            past_key_values=cache,
            use_cache=True,
        )
        return output.logits[:, -1]  # type: ignore[no-any-return]

    def _hide(self, view: Tensor) -> Tensor:
        """Turn "may look at" into what is added to attention scores: 0 or -inf."""
        return torch.zeros_like(view, dtype=self.model.dtype).masked_fill_(~view, -torch.inf)


def _prompt_view(start_F: Tensor, column_L: Tensor) -> Tensor:
    """Return who looks at whom [F, 1, L, L]: the past without padding; padding looks at itself, or it would be NaN."""
    past_LL = column_L <= column_L[:, None]
    itself_LL = column_L == column_L[:, None]
    real_F1L = (column_L >= start_F[:, None])[:, None, :]
    return ((past_LL & real_F1L) | itself_LL)[:, None]


def check_model(model: Any, max_model_len: int) -> None:
    """Refuse models whose rows would feel each other, or that look at less than everything before them.

    Errors: `ConfigError` for routed experts, attention other than full, and fewer positions than `max_model_len`.
    """
    config = model.config
    name = type(model).__name__
    for key in _ROUTED:
        if (getattr(config, key, 0) or 0) > 1:
            raise ConfigError(f"{name} routes tokens to experts ({key}={getattr(config, key)}): expected a dense model")
    cap = getattr(config, "attn_logit_softcapping", None)
    if cap is not None:
        raise ConfigError(f"{name} caps attention scores (attn_logit_softcapping={cap}): expected plain attention")
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if not kinds <= {"full_attention", "sliding_attention"}:
        raise ConfigError(f"{name} has layers of kind {sorted(kinds)}: expected full attention in every layer")
    window = getattr(config, "sliding_window", None)
    explicit = getattr(config, "layer_types", None) is not None
    slides = "sliding_attention" in kinds if explicit else window is not None
    if slides and window is not None and window < max_model_len:
        raise ConfigError(
            f"{name} looks back {window} tokens: expected max_model_len={max_model_len} or less than that"
        )
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and positions < max_model_len:
        raise ConfigError(f"max_model_len={max_model_len}, but {name} has max_position_embeddings={positions}")
