"""Responses against transformers' own code: generate for tokens, a full forward pass for log-probs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from scipy.stats import chisquare

from dataflex_rl.host.cpu.decoding import Completion, Request
from tests.host.decoding.serving import MODELS, make_engine, make_model, make_requests, run_all


def reference_greedy(model: Any, prompt: list[int], count: int) -> list[int]:
    prompt_1T = torch.tensor([prompt])
    output_1T = model.generate(
        prompt_1T,
        attention_mask=torch.ones_like(prompt_1T),
        max_new_tokens=count,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    tokens: list[int] = output_1T[0, len(prompt) :].tolist()
    return tokens


def reference_log_probs(model: Any, request: Request, response: Completion) -> list[float]:
    ids_1T = torch.tensor([request.prompt_ids + response.token_ids])
    with torch.no_grad():
        logits_TV = model(ids_1T).logits[0, len(request.prompt_ids) - 1 : -1]
    log_prob_TV = torch.log_softmax(logits_TV / (request.temperature or 1.0), dim=-1)
    return log_prob_TV.gather(1, torch.tensor(response.token_ids)[:, None])[:, 0].tolist()


@pytest.mark.parametrize("name", MODELS)
def test_greedy_equals_transformers_generate(name: str) -> None:
    requests = make_requests(20, temperature=0.0, stop_ids=frozenset(), top_k=-1, top_p=1.0)
    responses = run_all(make_engine(name), requests)
    model = make_model(name)
    for request, response in zip(requests, responses, strict=True):
        assert response.token_ids == reference_greedy(model, request.prompt_ids, request.max_new_tokens)
        assert response.stop_reason == "length"


@pytest.mark.parametrize("name", MODELS)
def test_log_probs_equal_a_full_forward_pass(name: str) -> None:
    requests = make_requests(30, seed=1)
    responses = run_all(make_engine(name), requests)
    model = make_model(name)
    for request, response in zip(requests, responses, strict=True):
        assert len(response.log_probs) == len(response.token_ids)
        assert response.log_probs == pytest.approx(reference_log_probs(model, request, response), abs=1e-5)


def test_first_tokens_follow_the_model() -> None:
    prompt, rows = [5, 9, 2], 3000
    requests = [
        Request(request_id=f"r{seed}", prompt_ids=prompt, max_new_tokens=1, seed=seed, temperature=0.7)
        for seed in range(rows)
    ]
    responses = run_all(make_engine(slots=64), requests)
    with torch.no_grad():
        logits_V = make_model()(torch.tensor([prompt])).logits[0, -1].double()
    expected_V = torch.softmax(logits_V / 0.7, dim=0) * rows
    counts_V = torch.tensor([response.token_ids[0] for response in responses]).bincount(minlength=61).double()
    common_V = expected_V >= 5  # chi-square wants five per cell; the rest is one cell
    seen = [*counts_V[common_V].tolist(), counts_V[~common_V].sum().item()]
    expected = [*expected_V[common_V].tolist(), expected_V[~common_V].sum().item()]
    assert chisquare(seen, expected).pvalue > 0.01
