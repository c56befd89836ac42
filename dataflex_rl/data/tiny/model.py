"""The tiny Llama: about 70k parameters, taught both rules of `toy3` by supervised steps.

Batches are [B, T]: a prompt, its answer, the end token, padding on the right. Only answer and end token are learned.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from dataflex_rl.data.tiny import toy3
from dataflex_rl.data.tiny.options import ModelOptions
from dataflex_rl.data.tiny.shipped_model import FACTS_FILE, model_facts
from dataflex_rl.data.tiny.tokenizer import build_tokenizer

_INITIAL_STD = 0.1  # near 1 / sqrt(hidden); the usual 0.02 leaves so narrow a model untrained for hundreds of steps
_IGNORED = -100  # the label that cross_entropy skips
Progress = Callable[[int, int], None]


def build_model(folder: Path, options: ModelOptions, progress: Progress | None = None) -> None:
    """Pre-train the model and write it with its tokenizer to the folder, in Hugging Face format.

    The same options give the same bytes on the same machine and library versions, whatever the number of threads.
    Global random state, thread count and the determinism switch are as before when it returns.
    `progress(done, total)` is called after each step.
    """
    tokenizer = build_tokenizer()
    with _deterministic(options.seed):
        model = LlamaForCausalLM(_config(options, tokenizer))
        loss = pretrain(model, tokenizer, options, progress)
    folder.mkdir(parents=True, exist_ok=True)
    with _no_progress_bar():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    facts = {**model_facts(options), "loss": loss}
    (folder / FACTS_FILE).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")


def pretrain(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, options: ModelOptions, progress: Progress | None = None
) -> float:
    """Run the supervised steps (AdamW, warm-up, cosine decay to 0) and return the last step's loss [nats per token]."""
    rng = random.Random(options.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _learning_rate_factor(step, options))
    model.train()
    loss = torch.tensor(float("nan"))
    for step in range(options.steps):
        ids_BT, label_BT = draw_batch(rng, tokenizer, options.batch)
        logits = model(input_ids=ids_BT, use_cache=False).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), label_BT[:, 1:].flatten(), ignore_index=_IGNORED)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if progress is not None:
            progress(step + 1, options.steps)
    model.eval()
    return loss.item()


def draw_batch(rng: random.Random, tokenizer: PreTrainedTokenizerFast, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw `size` problems outside validation and return token ids [B, T] and labels [B, T] (-100: not learned)."""
    vocab, bos = tokenizer.get_vocab(), tokenizer.bos_token_id
    eos, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
    rows = []
    for _ in range(size):
        problem = toy3.draw(rng, rng.choice(toy3.DOMAINS), held_out=False)
        prompt = [bos, *(vocab[c] for c in problem.prompt), vocab["="]]
        rows.append((prompt, [*(vocab[c] for c in toy3.draw_answer(rng, problem)), eos]))
    length = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = [[*p, *a, *[pad] * (length - len(p) - len(a))] for p, a in rows]
    labels = [[_IGNORED] * len(p) + a + [_IGNORED] * (length - len(p) - len(a)) for p, a in rows]
    return torch.tensor(ids), torch.tensor(labels)


def _learning_rate_factor(step: int, options: ModelOptions) -> float:
    if step < options.warmup_steps:
        return (step + 1) / options.warmup_steps
    done = (step - options.warmup_steps) / max(1, options.steps - options.warmup_steps)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def _config(options: ModelOptions, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.hidden,
        intermediate_size=options.intermediate,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=options.heads,
        max_position_embeddings=tokenizer.model_max_length,
        tie_word_embeddings=False,
        initializer_range=_INITIAL_STD,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        dtype="float32",
    )


@contextmanager
def _deterministic(seed: int) -> Iterator[None]:
    """Run the block on one thread with seeded, deterministic torch; put everything back afterwards."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict, warn_only=warn_only)
            torch.set_num_threads(threads)


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Hide the bar that save_pretrained draws for one file; the switch is put back afterwards."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
