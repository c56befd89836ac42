"""What goes into the engine and what comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dataflex_rl.errors import ConfigError

StopReason = Literal["stop", "length", "aborted"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One response to generate.

    seed: chooses the random numbers, 0 <= seed < 2**63; the same request with the same seed gives the same response.
    temperature: 0 is greedy (ties go to the lowest id). top_k: -1 or 0 is off. top_p: 1 is off.
    stop_ids: generation ends with the first of these, which is part of the response; ignored if `ignore_eos`.
    min_new_tokens: no stop id is drawn before that many tokens.
    Errors: `ConfigError` for a value out of range.
    """

    request_id: str
    prompt_ids: list[int]
    max_new_tokens: int
    seed: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    stop_ids: frozenset[int] = frozenset()
    ignore_eos: bool = False
    min_new_tokens: int = 0

    def __post_init__(self) -> None:
        def need(good: bool, name: str, value: object, expected: str) -> None:
            if not good:
                raise ConfigError(f"request {self.request_id!r}: {name}={value!r}, expected {expected}")

        need(len(self.prompt_ids) > 0, "prompt_ids", self.prompt_ids, "at least one token")
        need(self.max_new_tokens >= 1, "max_new_tokens", self.max_new_tokens, "an integer >= 1")
        need(0 <= self.seed < 2**63, "seed", self.seed, "an integer in 0..2**63-1")
        need(0 <= self.temperature < math.inf, "temperature", self.temperature, "a finite number >= 0")
        need(0 < self.top_p <= 1, "top_p", self.top_p, "a number in (0, 1]")
        need(self.top_k >= -1, "top_k", self.top_k, "an integer >= 1, or -1 or 0 for off")
        in_range = 0 <= self.min_new_tokens <= self.max_new_tokens
        need(in_range, "min_new_tokens", self.min_new_tokens, f"0..max_new_tokens={self.max_new_tokens}")

    @property
    def ends(self) -> frozenset[int]:
        """The ids that end this response."""
        return frozenset() if self.ignore_eos else self.stop_ids

    @property
    def total(self) -> int:
        """Tokens of prompt and longest response together."""
        return len(self.prompt_ids) + self.max_new_tokens


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One generated response.

    log_probs: per token, log softmax(logits / temperature) over the whole vocabulary, before top-k, top-p and
    min_new_tokens take anything away: what a trainer computes for the same tokens. Temperature 0 uses the raw logits.
    stop_reason: "stop" (a stop id, the last token), "length" (max_new_tokens reached) or "aborted" (what was there).
    """

    token_ids: list[int]
    log_probs: list[float]
    stop_reason: StopReason
