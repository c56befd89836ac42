"""The law tried on this machine before it is relied on."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding.cache import put_prompt, slot_cache, take_rows
from dataflex_rl.host.cpu.decoding.forward import Runner


def check_rows(runner: Runner, slots: int, prompt_columns: int, cache_columns: int) -> None:
    """Run one prompt in every row of a prefill, then in every slot, and compare the rows' logits bit for bit.

    Numerical libraries may treat the rows at the edge of a batch, or in another thread's share, with other
    instructions. Then a response would depend on its slot, so on the order of arrival. Non-finite logits tell nothing
    and pass: the requests that follow report them.
    Errors: `ConfigError` if rows differ.
    """
    prompt = _prompt(runner, max(1, prompt_columns * 3 // 4))
    prefill = runner.prefill([prompt] * runner.rows, prompt_columns)
    position_S = torch.full((slots,), len(prompt), device=runner.device)
    cache = slot_cache(prefill.cache, slots, cache_columns, position_S)
    slot_S = torch.arange(slots, device=runner.device)
    row_S = slot_S % runner.rows
    take_rows(cache, prefill.cache, slot_S, row_S, prefill.start_F[row_S])
    _compare(prefill.logits_FV, f"prefill_rows={runner.rows} with bucket {prompt_columns}")
    _check_decode(runner, cache, position_S)


def check_chunks(runner: Runner, slots: int, columns: int, cache_columns: int) -> None:
    """Do the same for prompts that are read in chunks: two chunks of one prompt in every row, then every slot."""
    prompt = _prompt(runner, min(2 * columns, cache_columns - 1))
    first = runner.read_chunk([prompt[:columns]] * runner.rows, 0, columns, None)
    _compare(first.logits_FV, f"prefill_rows={runner.rows} with chunk {columns}")
    memory = first.memory[:, 0]
    if len(prompt) > columns:
        second = runner.read_chunk([prompt[columns:]] * runner.rows, columns, columns, first.memory)
        _compare(second.logits_FV, f"prefill_rows={runner.rows} with chunk {columns}, the second")
        memory = torch.cat([memory, second.memory[:, 0]], dim=2)
    position_S = torch.full((slots,), len(prompt), device=runner.device)
    cache = slot_cache(memory, slots, cache_columns, position_S)
    for slot in range(slots):
        put_prompt(cache, slot, memory)
    _check_decode(runner, cache, position_S)


def _prompt(runner: Runner, length: int) -> list[int]:
    vocabulary = int(runner.model.config.vocab_size)
    return [(7 * index + 1) % vocabulary for index in range(length)]


def _check_decode(runner: Runner, cache: Cache, position_S: Tensor) -> None:
    logits_SV = runner.decode(torch.ones_like(position_S), position_S, cache)
    _compare(logits_SV, f"slots={len(position_S)} with bucket {cache.get_max_cache_shape()}")


def _compare(logits_RV: Tensor, what: str) -> None:
    """Refuse rows that should be equal and are not."""
    if bool(logits_RV.isfinite().all()) and not bool((logits_RV == logits_RV[:1]).all()):
        where = f"on {logits_RV.device} with {torch.get_num_threads()} threads"
        raise ConfigError(
            f"{what} gives equal prompts unequal logits {where}, so results would depend on the order of arrival; "
            "expected sizes that do not: try multiples of 32, or 1 thread"
        )
