"""A request on its way through the engine."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from dataflex_rl.host.cpu.decoding.request import Completion, Request, StopReason
from dataflex_rl.host.cpu.decoding.sampling import uniforms


@dataclass(kw_only=True, eq=False)
class Job:
    """What a request has so far, the random numbers it will use, and who waits for it.

    prompt_columns: its prefill bucket [tokens].
    """

    request: Request
    prompt_columns: int
    future: asyncio.Future[Completion]
    token_ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    uniforms: list[float] = field(init=False)
    ends: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        request = self.request
        self.ends = request.ends
        greedy = request.temperature == 0
        self.uniforms = [0.0] * request.max_new_tokens if greedy else uniforms(request.seed, request.max_new_tokens)

    @property
    def bans(self) -> frozenset[int]:
        """The ids that must not be drawn next."""
        return self.ends if len(self.token_ids) < self.request.min_new_tokens else frozenset()

    def record(self, token_id: int, log_prob: float) -> bool:
        """Append a token; return whether the response is over, in which case the caller has been told."""
        if not math.isfinite(log_prob):
            self.fail(FloatingPointError(f"request {self.request.request_id!r}: the model's logits are not finite"))
            return True
        self.token_ids.append(token_id)
        self.log_probs.append(log_prob)
        if token_id in self.ends:
            self.finish("stop")
        elif len(self.token_ids) == self.request.max_new_tokens:
            self.finish("length")
        return self.future.done()

    def finish(self, reason: StopReason) -> None:
        """Hand the response to its caller, unless the caller has gone."""
        if not self.future.done():
            response = Completion(token_ids=self.token_ids, log_probs=self.log_probs, stop_reason=reason)
            self.future.set_result(response)

    def fail(self, error: BaseException) -> None:
        """Hand an error to the caller, unless the caller has gone."""
        if not self.future.done():
            self.future.set_exception(error)
