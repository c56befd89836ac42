"""Loading weights: strict names and shapes, tied tensors, and only between responses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import torch
from torch import Tensor

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding import Completion, Engine, Request
from dataflex_rl.host.cpu.decoding.weights import load_weights
from tests.host.decoding.serving import make_engine, make_model, make_requests, run_all

ASK = Request(request_id="ask", prompt_ids=[7, 3, 11], max_new_tokens=12, seed=0, temperature=1.0)


def tensors(name: str = "llama", seed: int = 1) -> dict[str, Tensor]:
    return dict(make_model(name, seed).state_dict())


@pytest.mark.parametrize("name", ["llama", "llama_tied", "gpt2"])
def test_loaded_engine_equals_one_built_with_these_weights(name: str) -> None:
    requests = make_requests(12)
    engine = make_engine(name)
    before = run_all(engine, requests)
    engine.load_weights(tensors(name).items())
    after = run_all(engine, requests)
    assert after == run_all(make_engine(name, seed=1), requests)
    assert after != before


def test_tied_weight_may_come_under_either_name() -> None:
    for left_out in ("lm_head.weight", "model.embed_tokens.weight"):
        model = make_model("llama_tied")
        given = tensors("llama_tied")
        del given[left_out]
        load_weights(model, given.items())
        assert torch.equal(model.lm_head.weight, tensors("llama_tied")["lm_head.weight"])


def test_values_are_copied_and_converted() -> None:
    model = make_model()
    given = {name: tensor.to(torch.float64) for name, tensor in tensors().items()}
    load_weights(model, given.items())
    given["lm_head.weight"].zero_()
    assert model.lm_head.weight.dtype == torch.float32
    assert torch.equal(model.lm_head.weight, tensors()["lm_head.weight"])


def bad_tensors(change: str) -> list[tuple[str, Tensor]]:
    given = tensors("llama_tied")
    pairs = list(given.items())
    norm = given["model.norm.weight"]
    return {
        "unknown": [*pairs, ("model.nrom.weight", norm)],
        "missing": [(name, tensor) for name, tensor in pairs if name != "model.norm.weight"],
        "shape": [(name, tensor[:-1] if name == "model.norm.weight" else tensor) for name, tensor in pairs],
        "twice": [*pairs, ("model.norm.weight", norm)],
        "untied": [(name, tensor + 1 if name == "lm_head.weight" else tensor) for name, tensor in pairs],
    }[change]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("unknown", "unknown weight 'model.nrom.weight'"),
        ("missing", r"weights missing: model.norm.weight \(1 of"),
        ("shape", r"weight 'model.norm.weight' has shape \(31,\), expected \(32,\)"),
        ("twice", "weight 'model.norm.weight' came twice"),
        ("untied", "weight 'lm_head.weight' is tied"),
    ],
)
def test_bad_tensors_are_refused_and_no_mixture_is_served(change: str, words: str) -> None:
    engine = make_engine("llama_tied")
    with pytest.raises(ConfigError, match=words):
        engine.load_weights(bad_tensors(change))
    with pytest.raises(RuntimeError, match="request 'ask': the last load_weights"):
        run_all(engine, [ASK])
    engine.load_weights(tensors("llama_tied").items())
    assert run_all(engine, [ASK]) == run_all(make_engine("llama_tied", seed=1), [ASK])


def test_pause_holds_new_requests_until_resume_with_new_weights() -> None:
    async def scenario() -> tuple[Completion, Completion]:
        engine = make_engine(gather_s=0.0)
        early = asyncio.create_task(engine.generate(ASK))
        await first_tokens(engine)
        with pytest.raises(RuntimeError, match="1 responses are under way"):
            engine.load_weights(tensors().items())
        engine.pause()
        late = asyncio.create_task(engine.generate(ASK))
        await engine.drain()
        assert early.done()
        await asyncio.sleep(0.01)
        assert (late.done(), engine.stats.waiting) == (False, 1)
        engine.load_weights(tensors().items())
        engine.resume()
        return await early, await late

    early, late = asyncio.run(scenario())
    assert early == run_all(make_engine(), [ASK])[0]
    assert late == run_all(make_engine(seed=1), [ASK])[0]


async def first_tokens(engine: Engine) -> None:
    while engine.stats.new_tokens < 2:
        await asyncio.sleep(0)


def test_drain_of_an_idle_engine_returns_at_once() -> None:
    async def scenario() -> Any:
        engine = make_engine()
        await engine.drain()
        engine.resume()
        return await engine.generate(ASK)

    assert asyncio.run(scenario()) == run_all(make_engine(), [ASK])[0]
