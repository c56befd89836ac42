"""The law: a response depends on its request alone, bit for bit."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding import Completion, Engine, Request
from dataflex_rl.host.cpu.decoding.probe import _compare, check_rows
from tests.host.decoding.serving import MODELS, make_engine, make_requests, run_all

Responses = dict[str, Completion]


def by_id(requests: list[Request], responses: list[Completion]) -> Responses:
    return {request.request_id: response for request, response in zip(requests, responses, strict=True)}


def run_scattered(engine: Engine, requests: list[Request], seed: int) -> Responses:
    """Send the requests in random order, some late, at most a few at a time."""
    draw = random.Random(seed)
    shuffled = draw.sample(requests, len(requests))
    delays = [draw.choice([0.0, 0.0, 0.001, 0.02]) for _ in shuffled]
    few = draw.choice([1, 3, 20, 1000])

    async def scattered() -> list[Completion]:
        gate = asyncio.Semaphore(few)

        async def one(request: Request, delay: float) -> Completion:
            await asyncio.sleep(delay)
            async with gate:
                return await engine.generate(request)

        return list(await asyncio.gather(*map(one, shuffled, delays)))

    return by_id(shuffled, asyncio.run(scattered()))


@pytest.mark.parametrize("name", MODELS)
def test_order_delay_and_concurrency_change_nothing(name: str) -> None:
    requests = make_requests(30, seed=3)
    together = by_id(requests, run_all(make_engine(name), requests))
    engine = make_engine(name)
    for seed in range(3):
        assert run_scattered(engine, requests, seed) == together


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**31), chosen=st.sets(st.integers(0, 29), min_size=1, max_size=10))
def test_company_changes_nothing(seed: int, chosen: set[int]) -> None:
    requests = make_requests(30, seed=seed)
    together = by_id(requests, run_all(make_engine(), requests))
    few = [requests[index] for index in sorted(chosen)]
    strangers = make_requests(7, seed=seed + 1)
    engine = make_engine()
    run_all(engine, strangers)
    alone = by_id(few, run_all(engine, few))
    assert alone == {request.request_id: together[request.request_id] for request in few}


def test_gathering_and_later_use_change_nothing() -> None:
    requests = make_requests(30, seed=5)
    together = run_all(make_engine(gather_s=0.0), requests)
    engine = make_engine(gather_s=0.03)
    assert [run_all(engine, requests) for _ in range(2)] == [together, together]
    engine.clear_cache()
    assert run_all(engine, requests) == together


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", ["llama", "llama_tied"])
def test_rows_stay_equal_with_more_threads(name: str, threads: int) -> None:
    torch.set_num_threads(threads)
    engine = make_engine(name)
    with torch.inference_mode():
        check_rows(engine._runner, 8, 24, 40)


@pytest.mark.slow
def test_law_holds_with_two_threads() -> None:
    torch.set_num_threads(2)
    requests = make_requests(30, seed=7)
    engine = make_engine()
    together = by_id(requests, run_all(engine, requests))
    assert run_scattered(engine, requests, 1) == together


def test_equal_requests_are_equal_and_seeds_matter() -> None:
    settings_: dict[str, Any] = {"prompt_ids": [4, 8, 15], "max_new_tokens": 12, "temperature": 1.5}
    seeds = [9, 9, 10, 9 + 2**32]
    requests = [Request(request_id=f"r{row}", seed=seed, **settings_) for row, seed in enumerate(seeds)]
    first, again, other, high = run_all(make_engine(), requests)
    assert first == again
    assert len({tuple(response.token_ids) for response in (first, other, high)}) == 3


def test_longer_limit_continues_the_same_response() -> None:
    # Same cache bucket (24), same numbers: 5 tokens are the first 5 of 10.
    short, long = (
        Request(request_id=str(limit), prompt_ids=[1] * 8, max_new_tokens=limit, seed=3) for limit in (5, 10)
    )
    responses = run_all(make_engine(), [short, long])
    assert responses[0].token_ids == responses[1].token_ids[:5]
    assert responses[0].log_probs == responses[1].log_probs[:5]


def test_probe_passes_here_and_reports_rows_that_differ() -> None:
    engine = make_engine()
    with torch.inference_mode():
        check_rows(engine._runner, 8, 24, 40)
    _compare(torch.full((3, 5), torch.nan), "weights that are not finite")
    with pytest.raises(ConfigError, match="slots=9 gives equal prompts unequal logits on cpu with 1 threads"):
        _compare(torch.tensor([[1.0, 2.0], [1.0, 2.0 + 1e-6]]), "slots=9")
