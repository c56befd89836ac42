"""Small random models and a way to run many requests through an engine."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from dataflex_rl.host.cpu.decoding import Completion, Engine, Request

VOCABULARY = 61

# initializer_range 0.2: the default 0.02 gives nearly uniform logits, where greedy and argmax ties tell little.
_COMMON = {"vocab_size": VOCABULARY, "initializer_range": 0.2}
_SIZES = {
    **_COMMON,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def _gpt2() -> Any:
    return GPT2LMHeadModel(GPT2Config(**_COMMON, n_embd=32, n_layer=2, n_head=4, n_positions=64))


MODELS: dict[str, Callable[[], Any]] = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**_SIZES)),
    "llama_tied": lambda: LlamaForCausalLM(
        LlamaConfig(**{**_SIZES, "num_key_value_heads": 4}, tie_word_embeddings=True)
    ),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**_SIZES)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**_SIZES, head_dim=16)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**_SIZES, sliding_window=None)),
    "gpt2": _gpt2,
}


def make_model(name: str = "llama", seed: int = 0) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return MODELS[name]().eval()


def make_engine(name: str = "llama", seed: int = 0, **settings: Any) -> Engine:
    defaults = {"max_model_len": 40, "slots": 8, "prefill_rows": 4, "buckets": (8, 24, 40)}
    return Engine(make_model(name, seed), **{**defaults, **settings})


def make_requests(count: int, seed: int = 0, **settings: Any) -> list[Request]:
    """Requests of mixed length, settings and stop ids; every third shares its prompt with the one before."""
    draw = random.Random(seed)
    requests: list[Request] = []
    for index in range(count):
        prompt = [draw.randrange(VOCABULARY) for _ in range(draw.randint(1, 24))]
        if index % 3 == 2:
            prompt = requests[-1].prompt_ids
        mixed = {
            "max_new_tokens": draw.randint(1, 16),
            "temperature": draw.choice([0.0, 0.7, 1.0, 1.3]),
            "top_p": draw.choice([1.0, 1.0, 0.9]),
            "top_k": draw.choice([-1, -1, 5]),
            "stop_ids": draw.choice([frozenset[int](), frozenset({3, 17, 40})]),
            "seed": draw.randrange(2**63),
        }
        requests.append(Request(request_id=f"r{index}", prompt_ids=prompt, **{**mixed, **settings}))
    return requests


def run_all(engine: Engine, requests: Sequence[Request]) -> list[Completion]:
    async def together() -> list[Completion]:
        return list(await asyncio.gather(*(engine.generate(request) for request in requests)))

    return asyncio.run(together())
