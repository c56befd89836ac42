"""The engine's numbers on the tiny model, pinned to the bit: results of earlier runs stay what they were."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from dataflex_rl.data.tiny import toy3
from dataflex_rl.data.tiny.shipped_model import FOLDER
from dataflex_rl.data.tiny.tokenizer import build_tokenizer
from dataflex_rl.host.cpu.decoding import Engine, Request
from tests.host.decoding.serving import run_all

MADE_WITH = ("2.13.0", "AVX512")  # torch and processor
DIGEST = "0778f58dc7408ad29d74e1690510e20a28b50ea376a367a60b84ea1e911d86f1"


def requests_of_every_kind(count: int) -> list[dict[str, Any]]:
    """Settings of requests: five or so of each prompt, greedy, plain, cut, banned, short and whole."""
    draw, tokenizer = random.Random(7), build_tokenizer()
    made: list[dict[str, Any]] = []
    prompt: list[int] = []
    for index in range(count):
        if index % 5 == 0 or draw.random() < 0.2:
            problem = toy3.draw(draw, draw.choice(toy3.DOMAINS), held_out=False)
            prompt = tokenizer.encode(f"<s>{problem.prompt}=")
        made.append({
            "request_id": str(index), "prompt_ids": prompt, "seed": draw.randrange(2**63), "stop_ids": frozenset({2}),
            "max_new_tokens": draw.choice([12, 12, 5]), "temperature": draw.choice([0.0, 0.5, 1.0, 1.0, 1.3]),
            "top_p": draw.choice([1.0, 1.0, 0.9]), "top_k": draw.choice([-1, -1, 5]),
            "min_new_tokens": draw.choice([0, 0, 3]),
        })  # fmt: skip
    return made


def test_tokens_and_log_probs_are_those_of_earlier_versions() -> None:
    here = (torch.__version__.split("+")[0], torch.backends.cpu.get_cpu_capability())
    if here != MADE_WITH:
        pytest.skip(f"the bits belong to torch and processor: pinned with {MADE_WITH}, here {here}")
    model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32, attn_implementation="sdpa")
    # conf/host/cpu.yaml and conf/task/toy3.yaml: 32 prompt tokens and 12 new ones
    engine = Engine(model, slots=80, prefill_rows=16, buckets=None, max_model_len=44)
    requests = [Request(**settings) for settings in requests_of_every_kind(400)]
    found = hashlib.sha256()
    for response in run_all(engine, requests):
        found.update(json.dumps([response.token_ids, response.stop_reason]).encode())
        found.update(struct.pack(f"{len(response.log_probs)}d", *response.log_probs))
    assert found.hexdigest() == DIGEST
