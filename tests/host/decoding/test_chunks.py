"""Prompts read in chunks: right against transformers, and what is remembered changes no bit."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding import Engine, EngineOptions, Request
from dataflex_rl.host.cpu.decoding.probe import check_chunks
from tests.host.decoding.serving import MODELS, VOCABULARY, make_engine, make_model, make_requests, run_all
from tests.host.decoding.test_against_transformers import reference_greedy, reference_log_probs
from tests.host.decoding.test_order import by_id, run_scattered


def chunked(name: str = "llama", **settings: Any) -> Engine:
    return make_engine(name, **{"chunk": 8, "buckets": (), **settings})


def related(count: int, seed: int = 0, **settings: Any) -> list[Request]:
    """Requests whose prompts begin with 0 to 24 of the same tokens and are 1 to 24 tokens long."""
    draw = random.Random(seed)
    common = [draw.randrange(VOCABULARY) for _ in range(24)]
    requests = make_requests(count, seed=seed, **settings)
    return [
        Request(**{**vars(one), "prompt_ids": (common[: draw.randint(0, 24)] + one.prompt_ids)[:24]})
        for one in requests
    ]


@pytest.mark.parametrize("name", MODELS)
def test_greedy_and_log_probs_equal_transformers(name: str) -> None:
    greedy = related(15, temperature=0.0, stop_ids=frozenset(), top_k=-1, top_p=1.0)
    drawn = related(15, seed=1)
    responses = run_all(chunked(name), [*greedy, *drawn])
    model = make_model(name)
    for request, response in zip([*greedy, *drawn], responses, strict=True):
        assert response.log_probs == pytest.approx(reference_log_probs(model, request, response), abs=1e-5)
    for request, response in zip(greedy, responses, strict=False):
        assert response.token_ids == reference_greedy(model, request.prompt_ids, request.max_new_tokens)


@pytest.mark.parametrize("name", MODELS)
def test_order_memory_and_company_change_nothing(name: str) -> None:
    requests = related(30, seed=3)
    together = by_id(requests, run_all(chunked(name), requests))
    forgetful, warm = chunked(name, remembered=0), chunked(name)
    run_all(warm, related(7, seed=4))
    for seed in range(2):
        assert run_scattered(forgetful, requests, seed) == together
        assert run_scattered(warm, requests, seed) == together


@pytest.mark.slow
def test_law_holds_with_two_threads() -> None:
    torch.set_num_threads(2)
    requests = related(30, seed=7)
    together = by_id(requests, run_all(chunked(), requests))
    assert run_scattered(chunked(remembered=16), requests, 1) == together


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_are_checked_on_this_machine(threads: int) -> None:
    torch.set_num_threads(threads)
    engine = chunked()
    with torch.inference_mode():
        check_chunks(engine._runner, 8, 8, 40)


def test_what_prompts_have_in_common_is_read_once_and_remembered() -> None:
    engine = chunked()
    assert engine._reader is not None
    passes: list[int] = []
    read_some = engine._reader._read_some
    engine._reader._read_some = lambda prefixes, index: (passes.append(len(prefixes)), read_some(prefixes, index))  # type: ignore[assignment,func-returns-value]
    common = list(range(16))
    prompts = [[*common, 20], [*common, 30, 31], [*common, 20], common, [5]]
    requests = [
        Request(request_id=str(at), prompt_ids=prompt, max_new_tokens=2, seed=at) for at, prompt in enumerate(prompts)
    ]
    run_all(engine, requests)
    # First chunks: 0..7 and [5]; second: 8..15; third: [20] and [30, 31].
    assert passes == [2, 1, 2]
    run_all(engine, requests)
    assert passes == [2, 1, 2]
    engine.clear_cache()
    run_all(engine, requests[3:4])
    assert passes == [2, 1, 2, 1, 1]


def test_no_more_is_kept_than_the_limit() -> None:
    engine = chunked(remembered=40)
    run_all(engine, related(30, seed=5))
    assert engine._reader is not None
    assert len(engine._reader._known) == 5  # chunks of 8 tokens


def test_new_weights_forget_what_the_old_ones_read() -> None:
    requests = related(12, seed=6)
    engine = chunked(seed=0)
    before = run_all(engine, requests)
    engine.load_weights(make_model(seed=1).state_dict().items())
    assert run_all(engine, requests) == run_all(chunked(seed=1), requests) != before


def test_a_chunk_that_is_no_multiple_of_eight_is_refused() -> None:
    for chunk in (0, 12):
        with pytest.raises(ConfigError, match=f"chunk={chunk}, expected a multiple of 8, or None"):
            chunked(chunk=chunk)


def test_a_setting_that_does_not_exist_is_refused() -> None:
    assert EngineOptions.of({"slots": 8, "chunk": 32}) == EngineOptions(slots=8, chunk=32)
    with pytest.raises(ConfigError, match=r"engine_kwargs\.dataflex: 'slot'; known: buckets, chunk, "):
        EngineOptions.of({"slot": 8})
