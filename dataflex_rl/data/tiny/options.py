"""Every setting of the embedded model and task; the cache is keyed by them."""

from __future__ import annotations

from dataclasses import dataclass

MODEL_VERSION = 1  # raise it with any change of the pre-training or the tokenizer


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """The data of `toy3`: seed of the problems and total prompts per split, a multiple of the three domains."""

    seed: int = 0
    train_size: int = 2400
    val_size: int = 300


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The tiny Llama and its pre-training: seed, sizes, optimiser steps, problems per step, peak learning rate."""

    seed: int = 0
    hidden: int = 64
    intermediate: int = 64
    layers: int = 2
    heads: int = 4
    steps: int = 1000
    batch: int = 256
    learning_rate: float = 3e-3
    warmup_steps: int = 50
