"""verl's FSDP engines for the device "cpu"."""

from __future__ import annotations

import torch
from transformers import AutoModelForTokenClassification
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead, FSDPEngineWithValueHead

_BACKENDS = ["fsdp", "fsdp2"]


class CpuValueEngine(FSDPEngineWithValueHead):
    """verl's critic engine; verl asks for flash attention whatever the configuration says, this one takes torch's.

    The new value head is drawn from the engine's seed, so that runs repeat.
    """

    def _build_module(self) -> torch.nn.Module:
        config = self.model_config.hf_config
        config.num_labels, config.classifier_dropout = 1, 0.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.engine_config.seed)
            module: torch.nn.Module = AutoModelForTokenClassification.from_pretrained(
                self.model_config.local_path, config=config, dtype=torch.float32, attn_implementation="sdpa"
            )
        return module


def register_engines() -> None:
    """Offer verl's FSDP classes where the platform is the CPU: the actor's unchanged, the critic's with sdpa."""
    EngineRegistry.register(model_type="language_model", backend=_BACKENDS, device="cpu")(FSDPEngineWithLMHead)
    EngineRegistry.register(model_type="value_model", backend=_BACKENDS, device="cpu")(CpuValueEngine)
