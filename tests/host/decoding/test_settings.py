"""Buckets, and every setting or request the engine refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
)

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding import Engine, Request
from dataflex_rl.host.cpu.decoding.buckets import bucket, checked, ladder
from tests.host.decoding.serving import make_engine, make_model, run_all

GOOD: dict[str, Any] = {"request_id": "q", "prompt_ids": [1, 2], "max_new_tokens": 4, "seed": 0}


def test_ladder_doubles_with_a_step_between_and_ends_at_the_longest() -> None:
    assert ladder(200) == (32, 48, 64, 96, 128, 192, 200)
    assert ladder(32) == (32,)
    assert ladder(20) == (20,)


def test_buckets_are_rounded_up_to_multiples_of_eight() -> None:
    assert checked((17, 20, 40), 39) == (24, 40)
    assert checked(None, 50) == (32, 48, 56)


def test_a_ladder_that_ends_too_early_gets_the_longest_length() -> None:
    assert checked((8, 16), 40) == (8, 16, 40)
    assert checked((8, 16), 41) == (8, 16, 48)
    assert checked((), 41) == (48,)


def test_rung_is_the_smallest_that_holds() -> None:
    assert [bucket((8, 24, 40), needed) for needed in (1, 8, 9, 24, 40)] == [8, 8, 24, 24, 40]


@pytest.mark.parametrize(
    ("buckets", "longest", "words"),
    [
        ((24, 24, 40), 40, "rise strictly"),
        ((0, 40), 40, "rise strictly"),
        (None, 1, "max_model_len=1"),
    ],
)
def test_bad_buckets(buckets: tuple[int, ...] | None, longest: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checked(buckets, longest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"prompt_ids": []}, "prompt_ids"),
        ({"max_new_tokens": 0}, "max_new_tokens=0"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**63}, "seed="),
        ({"temperature": -0.5}, "temperature=-0.5"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"temperature": math.inf}, "temperature=inf"),
        ({"top_p": 0.0}, "top_p=0.0"),
        ({"top_p": 1.1}, "top_p=1.1"),
        ({"top_k": -2}, "top_k=-2"),
        ({"min_new_tokens": 5}, "min_new_tokens=5"),
        ({"min_new_tokens": -1}, "min_new_tokens=-1"),
    ],
)
def test_bad_requests(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=f"request 'q': {words}"):
        Request(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"prompt_ids": [1] * 37}, "37 prompt tokens and max_new_tokens=4 are 41, expected at most max_model_len=40"),
        ({"prompt_ids": [1, 61]}, r"prompt ids span 1\.\.61, expected 0\.\.60"),
        ({"prompt_ids": [-1, 5]}, r"prompt ids span -1\.\.5"),
        ({"min_new_tokens": 1, "stop_ids": frozenset(range(61))}, "every token is a stop id"),
    ],
)
def test_requests_that_do_not_fit(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        run_all(make_engine(), [Request(**{**GOOD, **change})])


def test_longest_request_fits() -> None:
    request = Request(**{**GOOD, "prompt_ids": [1] * 36})
    assert len(run_all(make_engine(), [request])[0].token_ids) == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slots": 4}, "slots=4"),
        ({"slots": 12}, "slots=12"),
        ({"prefill_rows": 0}, "prefill_rows=0"),
        ({"prefill_rows": 9}, "prefill_rows=9"),
        ({"pad_id": 61}, "pad_id=61"),
        ({"max_model_len": 65, "buckets": None}, "max_position_embeddings=64"),
    ],
)
def test_bad_engine_settings(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_engine(**change)


SMALL: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def test_window_shorter_than_the_longest_request_is_refused() -> None:
    model = MistralForCausalLM(MistralConfig(**SMALL, sliding_window=16))
    with pytest.raises(ConfigError, match="looks back 16 tokens"):
        Engine(model, max_model_len=40)
    assert Engine(model, max_model_len=16).max_model_len == 16


def test_routed_experts_are_refused() -> None:
    model = MixtralForCausalLM(MixtralConfig(**SMALL, num_local_experts=2))
    with pytest.raises(ConfigError, match=r"routes tokens to experts (.*=2)"):
        Engine(model, max_model_len=40)


def test_other_kinds_of_attention_are_refused() -> None:
    model = LlamaForCausalLM(LlamaConfig(**SMALL))
    model.config.layer_types = ["linear_attention"]
    with pytest.raises(ConfigError, match="linear_attention"):
        Engine(model, max_model_len=40)


def test_capped_scores_are_refused() -> None:
    model = make_model()
    model.config.attn_logit_softcapping = 50.0
    with pytest.raises(ConfigError, match="attn_logit_softcapping"):
        Engine(model, max_model_len=40)
