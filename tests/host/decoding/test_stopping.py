"""How a response ends, and how callers and the owner of the engine can intervene."""

from __future__ import annotations

import asyncio
from typing import Any

import torch

from dataflex_rl.host.cpu.decoding import Completion, Engine, Request
from tests.host.decoding.serving import make_engine, make_requests, run_all


def greedy(count: int = 12, **settings: Any) -> Request:
    return Request(
        **{
            "request_id": "g",
            "prompt_ids": [7, 3, 11],
            "max_new_tokens": count,
            "seed": 0,
            "temperature": 0.0,
            **settings,
        }
    )


def free_run() -> Completion:
    """Twelve greedy tokens; the tests stop at one of them."""
    return run_all(make_engine(), [greedy()])[0]


def test_stop_id_ends_the_response_and_belongs_to_it() -> None:
    tokens = free_run().token_ids
    stop = tokens[4]
    first = tokens.index(stop)
    response = run_all(make_engine(), [greedy(stop_ids=frozenset({stop}))])[0]
    assert response.token_ids == tokens[: first + 1]
    assert len(response.log_probs) == first + 1
    assert response.stop_reason == "stop"


def test_stop_id_as_last_allowed_token_is_a_stop() -> None:
    tokens = free_run().token_ids
    first = tokens.index(tokens[4])
    response = run_all(make_engine(), [greedy(first + 1, stop_ids=frozenset({tokens[4]}))])[0]
    assert (response.token_ids, response.stop_reason) == (tokens[: first + 1], "stop")


def test_one_token_needs_no_decode() -> None:
    engine = make_engine()
    response = run_all(engine, [greedy(1)])[0]
    assert response == Completion(
        token_ids=free_run().token_ids[:1], log_probs=free_run().log_probs[:1], stop_reason="length"
    )
    assert (engine.stats.prefills, engine.stats.decodes, engine.stats.new_tokens) == (1, 0, 1)


def test_ignored_stop_id_does_not_stop() -> None:
    stop = frozenset({free_run().token_ids[4]})
    assert run_all(make_engine(), [greedy(stop_ids=stop, ignore_eos=True)])[0] == free_run()


def test_stop_ids_wait_for_the_minimum() -> None:
    every_other = frozenset(range(0, 61, 2))
    requests = [
        greedy(request_id=str(seed), seed=seed, temperature=1.0, stop_ids=every_other, min_new_tokens=6)
        for seed in range(20)
    ]
    for response in run_all(make_engine(), requests):
        assert len(response.token_ids) >= 7 or response.stop_reason == "length"
        assert all(token % 2 for token in response.token_ids[:6])


def test_equal_prompts_share_a_prefill() -> None:
    engine = make_engine(prefill_rows=2)
    run_all(engine, [greedy(request_id=str(row), prompt_ids=[1 + row % 2]) for row in range(8)])
    assert engine.stats.prefills == 1
    assert (engine.stats.requests, engine.stats.prompt_tokens, engine.stats.new_tokens) == (8, 8, 96)


async def wait_for_tokens(engine: Engine, count: int) -> None:
    while engine.stats.new_tokens < count:
        await asyncio.sleep(0)


def test_abort_all_returns_what_was_there() -> None:
    async def scenario() -> tuple[list[str], list[Completion]]:
        engine = make_engine(gather_s=0.0)
        tasks = [asyncio.create_task(engine.generate(greedy(request_id=f"r{row}"))) for row in range(9)]
        await wait_for_tokens(engine, 3 * 8)  # 8 slots: the ninth waits
        names = await engine.abort_all()
        responses = list(await asyncio.gather(*tasks))
        assert (engine.stats.active, engine.stats.waiting) == (0, 0)
        assert (await engine.generate(greedy())).token_ids == free_run_tokens
        return names, responses

    free_run_tokens = free_run().token_ids
    names, responses = asyncio.run(scenario())
    assert sorted(names) == [f"r{row}" for row in range(9)]
    assert {response.stop_reason for response in responses} == {"aborted"}
    assert [response.token_ids for response in responses] == [free_run_tokens[:3]] * 8 + [[]]


def test_abort_one_leaves_the_others() -> None:
    async def scenario() -> tuple[bool, bool, list[Completion]]:
        engine = make_engine(gather_s=0.0)
        tasks = [asyncio.create_task(engine.generate(greedy(request_id=name))) for name in ("keep", "drop")]
        await wait_for_tokens(engine, 4)
        found, unknown = await engine.abort("drop"), await engine.abort("nobody")
        return found, unknown, list(await asyncio.gather(*tasks))

    found, unknown, (kept, dropped) = asyncio.run(scenario())
    assert (found, unknown) == (True, False)
    assert kept == free_run()
    assert (dropped.token_ids, dropped.stop_reason) == (free_run().token_ids[:2], "aborted")


def test_cancelled_caller_frees_its_slot() -> None:
    expected = free_run()

    async def scenario() -> int:
        engine = make_engine(gather_s=0.0)
        tasks = [asyncio.create_task(engine.generate(greedy(request_id=f"r{row}"))) for row in range(9)]
        await wait_for_tokens(engine, 16)
        for task in tasks[:8]:
            task.cancel()
        assert await tasks[8] == expected
        return engine.stats.new_tokens

    # 2 or 3 tokens for each of the eight, 12 for the ninth, which came in as soon as they were gone.
    assert asyncio.run(scenario()) <= 3 * 8 + 12


def test_logits_that_are_not_finite_fail_the_request_alone_and_not_the_next() -> None:
    expected = free_run()

    async def scenario() -> None:
        engine = make_engine(gather_s=0.0)
        embedding = engine._model.get_input_embeddings().weight
        with torch.no_grad():
            embedding[5] = torch.nan
        bad = [engine.generate(greedy(request_id=f"bad{row}", prompt_ids=[5])) for row in range(8)]
        results = await asyncio.gather(*bad, engine.generate(greedy()), return_exceptions=True)
        assert [type(result) for result in results[:8]] == [FloatingPointError] * 8
        assert "request 'bad0': the model's logits are not finite" in str(results[0])
        assert results[8] == expected

    assert 5 not in expected.token_ids
    asyncio.run(scenario())


def test_error_of_the_model_reaches_every_caller_and_the_engine_goes_on() -> None:
    expected = free_run()

    async def scenario() -> None:
        engine = make_engine()
        head = engine._model.lm_head
        handle = head.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(MemoryError("no room")))
        results = await asyncio.gather(*map(engine.generate, make_requests(12)), return_exceptions=True)
        assert [str(result) for result in results] == ["no room"] * 12
        handle.remove()
        assert await engine.generate(greedy()) == expected

    asyncio.run(scenario())
