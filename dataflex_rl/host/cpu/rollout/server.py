"""The rollout server: one Ray actor that decodes for every agent loop of its replica."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from verl.workers.config import HFModelConfig, RolloutConfig
from verl.workers.rollout.replica import TokenOutput

from dataflex_rl.host.cpu.decoding import EngineOptions, Request

_KNOWN = {"temperature", "top_p", "top_k", "seed", "max_tokens", "max_new_tokens", "ignore_eos", "logprobs"}
_NEUTRAL = {"repetition_penalty": 1.0}


def request_of(
    request_id: str, prompt_ids: list[int], params: dict[str, Any], *, limit: int, stop_ids: frozenset[int]
) -> Request:
    """Translate verl's sampling parameters into a decoding request.

    A request without a seed draws one from the operating system: it is then not reproducible, as the caller asked.

    Raises:
        ValueError: a parameter that this server does not implement, with a value that would change the result.
    """
    for name, value in params.items():
        if name not in _KNOWN and value != _NEUTRAL.get(name):
            raise ValueError(f"rollout 'dataflex' does not implement sampling parameter {name}={value!r}")
    max_tokens = params.get("max_tokens", params.get("max_new_tokens", limit))
    seed = params.get("seed")
    ignore_eos = bool(params.get("ignore_eos", False))
    return Request(
        request_id=request_id,
        prompt_ids=list(prompt_ids),
        max_new_tokens=max(1, min(int(max_tokens), limit)),
        temperature=float(params.get("temperature", 1.0)),
        top_p=float(params.get("top_p", 1.0)),
        top_k=int(params.get("top_k", -1)),
        seed=secrets.randbits(63) if seed is None else int(seed),
        stop_ids=frozenset() if ignore_eos else stop_ids,
    )


class RolloutServer:
    """Answers `generate` calls of agent loops and takes new weights between steps.

    The seven control calls below are the part of verl's server protocol that a synchronous trainer uses.
    """

    def __init__(self, config: RolloutConfig, model_config: HFModelConfig, options: dict[str, Any]) -> None:
        settings = EngineOptions.of(options)
        torch.set_num_threads(settings.threads)
        self.config = config
        self.global_steps = 0
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = AutoModelForCausalLM.from_pretrained(
            model_config.local_path, dtype=getattr(torch, config.dtype), attn_implementation="sdpa"
        ).to(device)
        self.limit = config.response_length
        self.stop_ids = stop_ids_of(model, model_config.tokenizer)
        longest = config.max_model_len or config.prompt_length + config.response_length
        pad_id = model_config.tokenizer.pad_token_id or 0
        self.engine = settings.engine(model, max_model_len=longest, device=device, pad_id=pad_id)

    async def generate(
        self, prompt_ids: list[int], sampling_params: dict[str, Any], request_id: str, **media: Any
    ) -> TokenOutput:
        """Decode one response; token ids include the stop token, log-probs are of the untruncated distribution."""
        if any(value is not None for key, value in media.items() if key.endswith("_data")):
            raise ValueError("rollout 'dataflex' decodes text only; got image, audio or video input")
        step = self.global_steps
        done = await self.engine.generate(
            request_of(request_id, prompt_ids, sampling_params, limit=self.limit, stop_ids=self.stop_ids)
        )
        return TokenOutput(
            token_ids=done.token_ids,
            log_probs=done.log_probs,
            stop_reason="aborted" if done.stop_reason == "aborted" else "completed",
            extra_fields={"global_steps": step, "finish": done.stop_reason},
        )

    async def generate_groups(
        self, asked: Sequence[tuple[list[int], list[dict[str, Any]]]]
    ) -> list[list[dict[str, Any]]]:
        """Decode all responses of several prompts: for each its token ids and the parameters of each response."""
        step = self.global_steps
        requests = [
            request_of(f"{i}-{j}", ids, params, limit=self.limit, stop_ids=self.stop_ids)
            for i, (ids, each) in enumerate(asked)
            for j, params in enumerate(each)
        ]
        done = iter(await asyncio.gather(*(self.engine.generate(request) for request in requests)))
        return [
            [
                {
                    "token_ids": one.token_ids,
                    "log_probs": one.log_probs,
                    "finish": one.stop_reason,
                    "global_steps": step,
                }
                for one in itertools.islice(done, len(each))
            ]
            for _, each in asked
        ]

    async def load_weights(self, weights: list[tuple[str, torch.Tensor]], global_steps: int | None) -> None:
        """Take the weights of a training step, once no response of the old ones is under way."""
        await self.engine.drain()
        self.engine.load_weights(weights)
        if global_steps is not None:
            self.global_steps = global_steps

    async def wake_up(self, tags: list[str] | None = None) -> None:
        """Serve again after `sleep`."""
        self.engine.resume()

    async def sleep(self) -> None:
        """Hold requests until `wake_up`: between the last response of a step and the next weights."""
        self.engine.pause()

    async def clear_kv_cache(self) -> None:
        """Forget cached keys and values; and the prompts that were read."""
        self.engine.clear_cache()

    async def release_kv_cache(self) -> None:
        """Hold requests; the cache is small and stays."""
        self.engine.pause()

    async def resume_kv_cache(self) -> None:
        """Serve again."""
        self.engine.resume()

    async def abort_all_requests(self, reset_prefix_cache: bool = True, reject_request: bool = False) -> None:
        """End every request in flight as aborted."""
        await self.engine.abort_all()

    async def resume_generation(self) -> None:
        """Serve again after `abort_all_requests`."""
        self.engine.resume()

    async def start_profile(self, **_kwargs: Any) -> None:
        """Profile nothing: this server has no profiler."""

    async def stop_profile(self) -> None:
        """Profile nothing."""


def stop_ids_of(model: torch.nn.Module, tokenizer: Any) -> frozenset[int]:
    """Return the token ids that end a response: the generation config's eos ids, else the tokenizer's."""
    settings: Any = model.generation_config
    eos = tokenizer.eos_token_id if settings.eos_token_id is None else settings.eos_token_id
    return frozenset([eos] if isinstance(eos, int) else (eos or []))
