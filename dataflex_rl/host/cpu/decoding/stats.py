"""What the engine counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(kw_only=True)
class Tally:
    """Running counts, shared by an engine and its schedulers; `seconds` is time spent computing."""

    requests: int = 0
    prompt_tokens: int = 0
    new_tokens: int = 0
    prefills: int = 0
    decodes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Counts since the engine was made; `active` (holding a slot) and `waiting` are requests at this moment."""

    requests: int
    prompt_tokens: int
    new_tokens: int
    prefills: int
    decodes: int
    seconds: float
    active: int
    waiting: int
