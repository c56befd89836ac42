import dataclasses
import hashlib
import random
import re

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from dataflex_rl.data.tiny.build import cached_model, cached_toy3
from dataflex_rl.data.tiny.model import build_model, draw_batch
from dataflex_rl.data.tiny.options import DataOptions, ModelOptions
from dataflex_rl.data.tiny.tokenizer import build_tokenizer

SMALL = ModelOptions(steps=20, batch=32, warmup_steps=5)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return cached_model(SMALL, cache_dir=tmp_path_factory.mktemp("cache"), progress=False)


def test_the_same_knobs_give_the_same_bytes_on_any_number_of_threads(built, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    build_model(tmp_path / "again", SMALL)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    assert digests(tmp_path / "again") == digests(built)
    assert {"config.json", "model.safetensors", "tokenizer.json", "build.json"} <= digests(built).keys()


def test_another_seed_gives_another_model(built, tmp_path):
    build_model(tmp_path / "other", ModelOptions(seed=1, steps=20, batch=32, warmup_steps=5))
    assert digests(tmp_path / "other")["model.safetensors"] != digests(built)["model.safetensors"]


def test_the_vetted_settings_are_the_defaults():
    # Measured with these: half right untrained, and forty points more after sixty steps of GRPO.
    assert dataclasses.astuple(ModelOptions()) == (0, 64, 64, 2, 4, 1000, 256, 3e-3, 50)
    assert dataclasses.astuple(DataOptions()) == (0, 2400, 300)


def test_global_state_is_left_alone(tmp_path):
    torch.manual_seed(5)
    random.seed(5)
    states = torch.get_rng_state(), random.getstate()
    seen = []
    build_model(tmp_path / "m", ModelOptions(steps=2, batch=8), lambda done, total: seen.append((done, total)))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert not torch.are_deterministic_algorithms_enabled()
    assert seen == [(1, 2), (2, 2)]


def test_the_saved_model_is_a_llama_of_70k_parameters_with_its_tokenizer(built):
    model = AutoModelForCausalLM.from_pretrained(built)
    tokenizer = AutoTokenizer.from_pretrained(built)
    assert isinstance(model, LlamaForCausalLM)
    # embedding and head 2 * 99 * 64; per layer attention 4 * 64^2, MLP 3 * 64^2, two norms 128; last norm 64
    assert sum(p.numel() for p in model.parameters()) == 12672 + 2 * (16384 + 12288 + 128) + 64 == 70336
    assert model.dtype == torch.float32
    assert [model.config.eos_token_id, model.config.pad_token_id, model.config.bos_token_id] == [2, 0, 1]
    assert [model.generation_config.eos_token_id, model.generation_config.pad_token_id] == [2, 0]
    assert len(tokenizer) == model.config.vocab_size == 99


def test_twenty_steps_lower_the_loss(built):
    # An untrained model is near ln 99 = 4.6 nats per token.
    loss = float(re.search(r'"loss": ([\d.]+)', (built / "build.json").read_text())[1])
    assert loss < 3.0


def test_a_batch_learns_answer_and_end_only_and_shows_no_validation_body():
    tokenizer = build_tokenizer()
    ids_BT, label_BT = draw_batch(random.Random(3), tokenizer, 64)
    assert ids_BT.shape == label_BT.shape
    for ids, label in zip(ids_BT, label_BT, strict=True):
        prompt, answer = tokenizer.decode(ids[label == -100]), tokenizer.decode(label[label != -100])
        assert re.fullmatch(r"<s>[mls][1-8]:[^=]+=(<pad>)*", prompt)
        assert re.fullmatch(r"[\dTF]{1,5}</s>", answer)
        assert torch.equal(ids[label != -100], label[label != -100])


def test_nothing_is_built_twice(built, tmp_path):
    stamp = (built / "model.safetensors").stat().st_mtime_ns
    assert cached_model(SMALL, cache_dir=built.parent, progress=True) == built
    assert (built / "model.safetensors").stat().st_mtime_ns == stamp
    train, val = cached_toy3(DataOptions(train_size=30, val_size=9), cache_dir=tmp_path)
    assert (train.name, val.name, train.parent.parent) == ("train.parquet", "val.parquet", tmp_path)
