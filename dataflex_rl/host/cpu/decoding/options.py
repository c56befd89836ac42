"""The settings of an engine as a configuration states them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.host.cpu.decoding.engine import Engine


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """`engine_kwargs.dataflex`: see `Engine`; threads is torch's thread count, which the server sets."""

    slots: int = 64
    prefill_rows: int = 16
    buckets: Sequence[int] | None = None
    chunk: int | None = None
    threads: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> EngineOptions:
        """Read a block of the configuration.

        Raises:
            ConfigError: a key that is no setting of the engine.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for key in given:
            if key not in known:
                raise ConfigError(str(unknown("setting in rollout.engine_kwargs.dataflex:", key, known)))
        return cls(**given)

    def engine(self, model: Any, *, max_model_len: int, pad_id: int, device: str = "cpu") -> Engine:
        """Return an engine of these settings for a model."""
        return Engine(
            model,
            slots=self.slots,
            prefill_rows=self.prefill_rows,
            buckets=self.buckets,
            chunk=self.chunk,
            max_model_len=max_model_len,
            device=device,
            pad_id=pad_id,
        )
