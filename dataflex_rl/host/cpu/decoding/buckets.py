"""The ladder of lengths. A request's found depend on that request alone, never on its company."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dataflex_rl.errors import ConfigError

SMALLEST = 32
# Lengths are multiples of this, so that what threads share out begins on a cache line (see `attention`).
STEP = 8


def ladder(max_model_len: int) -> tuple[int, ...]:
    """Lengths 32, 48, 64, 96, 128, 192, ... below `max_model_len`, then `max_model_len` itself [tokens]."""
    found: list[int] = []
    base = SMALLEST
    while base < max_model_len:
        found += [bucket for bucket in (base, base * 3 // 2) if bucket < max_model_len]
        base *= 2
    return (*found, max_model_len)


def checked(buckets: Sequence[int] | None, max_model_len: int) -> tuple[int, ...]:
    """Return the ladder to use: the given one, or the default for `max_model_len` if None, in multiples of 8.

    Each length is rounded up; a ladder that ends below `max_model_len` gets it as a last bucket.
    Errors: `ConfigError` unless the lengths rise strictly from at least 1.
    """
    if max_model_len < 2:
        raise ConfigError(f"max_model_len={max_model_len}, expected an integer >= 2 (one prompt token, one new token)")
    if buckets is None:
        buckets = ladder(max_model_len)
    rising = all(low < high for low, high in pairwise(buckets))
    if (buckets and buckets[0] < 1) or not rising:
        raise ConfigError(f"buckets={tuple(buckets)}, expected lengths >= 1 that rise strictly")
    whole = (*buckets, max_model_len) if not buckets or buckets[-1] < max_model_len else buckets
    return tuple(sorted({-(-bucket // STEP) * STEP for bucket in whole}))


def bucket(buckets: Sequence[int], needed: int) -> int:
    """Return the smallest bucket of at least `needed` tokens; the caller has checked that one exists."""
    return next(bucket for bucket in buckets if bucket >= needed)
