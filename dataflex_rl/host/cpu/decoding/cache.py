"""Key-value memory of the slots, behind transformers' cache interface.

Column c of a slot holds the token at position c, so a slot needs no padding and no offset.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class _Layer(CacheLayerMixin):
    """What both layers share: the engine passes masks and positions itself, so nobody asks for lengths."""

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Adopt the tensors of the first pass."""
        self.keys, self.values, self.is_initialized = key_states, value_states, True

    def get_seq_length(self) -> int:
        """Return 0: positions are always given."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the columns this layer shows and their offset."""
        return self.get_max_cache_shape(), 0

    def get_max_cache_shape(self) -> int:
        """Return the columns held, 0 before the first pass."""
        return int(self.keys.shape[2]) if self.is_initialized else 0


class PrefillLayer(_Layer):
    """Holds the keys and values [F, H, L, K] of one prefill."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Keep the prompt's keys and values and attend to just these."""
        self.lazy_initialization(key_states, value_states)
        return key_states, value_states


class ChunkLayer(_Layer):
    """Holds the keys and values [F, H, L, K] of one chunk behind those [F, H, P, K] of the chunks before it, if any."""

    def __init__(self, past: tuple[Tensor, Tensor] | None = None) -> None:
        super().__init__()
        self._past = past

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Keep the chunk's keys and values and attend to these and to all before."""
        self.lazy_initialization(key_states, value_states)
        if self._past is None:
            return key_states, value_states
        keys, values = self._past
        return torch.cat([keys, key_states], dim=2), torch.cat([values, value_states], dim=2)


class SlotLayer(_Layer):
    """Holds keys and values [S, H, C, K]; each pass writes one column per slot, at the slot's position."""

    def __init__(self, keys: Tensor, values: Tensor, slots: int, columns: int, position_S: Tensor) -> None:
        super().__init__()
        self.lazy_initialization(
            keys.new_zeros(slots, keys.shape[-3], columns, keys.shape[-1]),
            values.new_zeros(slots, values.shape[-3], columns, values.shape[-1]),
        )
        self.position_S = position_S

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write [S, H, 1, K] at each slot's position and attend to all columns; the mask hides what is not there."""
        index_S = self.position_S[:, None, None, None]
        self.keys.scatter_(2, index_S.expand_as(key_states), key_states)
        self.values.scatter_(2, index_S.expand_as(value_states), value_states)
        return self.keys, self.values

    def take(self, prefill: PrefillLayer, slot_N: Tensor, row_N: Tensor, column_NL: Tensor) -> None:
        """Copy row `row_N` of a prefill into slot `slot_N`, its columns in the order `column_NL`."""
        for mine, theirs in ((self.keys, prefill.keys), (self.values, prefill.values)):
            taken_NLHK = theirs[row_N[:, None], :, column_NL]
            mine[slot_N] = 0  # a slot holds what its own request wrote, or a NaN of the last one would spread
            mine[slot_N, :, : column_NL.shape[1]] = taken_NLHK.transpose(1, 2)


def prefill_cache() -> Cache:
    """Return an empty cache that keeps what one prefill computes."""
    return Cache(layer_class_to_replicate=PrefillLayer)


def chunk_cache(past: Tensor | None) -> Cache:
    """Return a cache for one chunk behind what is stacked in `past` [2 per layer, F, H, P, K], None for the first."""
    if past is None:
        return Cache(layer_class_to_replicate=ChunkLayer)
    return Cache(layers=[ChunkLayer((past[at], past[at + 1])) for at in range(0, len(past), 2)])


def memory_of(cache: Cache) -> Tensor:
    """Return what a chunk's cache holds of the chunk alone, stacked: keys and values of each layer in turn."""
    return torch.stack([part for layer in cache.layers for part in (layer.keys, layer.values)])


def slot_cache(like: Cache | Tensor, slots: int, columns: int, position_S: Tensor) -> Cache:
    """Return a zeroed cache of `slots` x `columns` with as many layers, heads and types as a prefill's or a chunk's.

    position_S: shared with the caller, who moves it on in place.
    """
    if isinstance(like, Tensor):
        pairs = [(like[at], like[at + 1]) for at in range(0, len(like), 2)]
    else:
        pairs = [(layer.keys, layer.values) for layer in like.layers]
    return Cache(layers=[SlotLayer(keys, values, slots, columns, position_S) for keys, values in pairs])


def put_prompt(cache: Cache, slot: int, memory: Tensor) -> None:
    """Write a prompt's keys and values [2 per layer, H, P, K] into a slot, from column 0; what does not fit is padding.

    The slot's other columns become 0, or a NaN of its last request would spread.
    """
    for at, layer in enumerate(cache.layers):
        for mine, theirs in ((layer.keys, memory[2 * at]), (layer.values, memory[2 * at + 1])):
            columns = min(mine.shape[2], theirs.shape[1])
            mine[slot, :, :columns] = theirs[:, :columns]
            mine[slot, :, columns:] = 0


def take_rows(cache: Cache, prefill: Cache, slot_N: Tensor, row_N: Tensor, start_N: Tensor) -> None:
    """Move prompts from a left-padded prefill into slots.

    start_N: padding columns of each row, which are left behind, so that a prompt's first token lands in column 0. What
    then lies behind the prompt's end is hidden until it is overwritten.
    """
    columns = prefill.layers[0].keys.shape[2]
    ahead_NL = start_N[:, None] + torch.arange(columns, device=start_N.device)
    for mine, theirs in zip(cache.layers, prefill.layers, strict=True):
        mine.take(theirs, slot_N, row_N, ahead_NL.clamp(max=columns - 1))
