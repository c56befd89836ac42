"""verl's FSDP engines for the device "cpu"."""

from __future__ import annotations

from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead, FSDPEngineWithValueHead

_BACKENDS = ["fsdp", "fsdp2"]


def register_engines() -> None:
    """Offer verl's FSDP classes, unchanged, where the platform is the CPU."""
    EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cpu")(FSDPEngineWithLMHead)
    EngineRegistry.register(model_type="value_model", backend=_BACKENDS, device="cpu")(FSDPEngineWithValueHead)
