"""Prompts read in chunks of a fixed length; what prompts have in common is read once.

The keys and values of a chunk follow from the tokens up to its end and from the shape of the pass that reads it:
`rows` chunks of one index, behind as many columns as chunks of that index have. Both are the same whether a chunk is
found or read again, so what is remembered changes speed and no bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dataflex_rl.host.cpu.decoding.forward import Runner

Prompt = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Keys and values [2 per layer, H, columns, K] of one chunk, and the logits [V] after its last token."""

    memory: Tensor
    logits_V: Tensor


class PrefixReader:
    """Reads prompts, `columns` tokens at a time, and keeps the most recent chunks.

    limit: tokens of chunks kept between two calls.
    """

    def __init__(self, runner: Runner, *, columns: int, limit: int) -> None:
        self.runner = runner
        self.columns = columns
        self._limit = limit // columns
        self._known: OrderedDict[Prompt, Chunk] = OrderedDict()
        self._checked = False

    def read(self, prompts: Iterable[Prompt]) -> dict[Prompt, list[Chunk]]:
        """Return the chunks of each prompt, in order; the last one's logits are those of the first new token."""
        needed = {prompt: self._prefixes(prompt) for prompt in prompts}
        for index in range(max(map(len, needed.values()), default=0)):
            level = {chain[index]: None for chain in needed.values() if index < len(chain)}
            missing = [prefix for prefix in level if prefix not in self._known]
            for start in range(0, len(missing), self.runner.rows):
                self._read_some(missing[start : start + self.runner.rows], index)
        found = {prompt: [self._known[prefix] for prefix in chain] for prompt, chain in needed.items()}
        self._forget([prefix for chain in needed.values() for prefix in chain])
        return found

    def clear(self) -> None:
        """Forget everything: the weights have changed, or memory is expected."""
        self._known.clear()

    def _prefixes(self, prompt: Prompt) -> list[Prompt]:
        """Return the prompt up to the end of each of its chunks."""
        return [prompt[: start + self.columns] for start in range(0, len(prompt), self.columns)]

    def _read_some(self, prefixes: Sequence[Prompt], index: int) -> None:
        """Read the last chunk of up to `rows` prefixes that have `index` chunks before it."""
        start = index * self.columns
        past = None
        if index:
            chains = [self._prefixes(prefix[:start]) for prefix in prefixes]
            held = [torch.cat([self._known[one].memory for one in chain], dim=2) for chain in chains]
            held += [torch.zeros_like(held[0])] * (self.runner.rows - len(held))
            past = torch.stack(held, dim=1)
        read = self.runner.read_chunk([prefix[start:] for prefix in prefixes], start, self.columns, past)
        for row, prefix in enumerate(prefixes):
            self._known[prefix] = Chunk(memory=read.memory[:, row].clone(), logits_V=read.logits_FV[row].clone())

    def _forget(self, used: Sequence[Prompt]) -> None:
        """Drop the chunks used longest ago, beyond the limit."""
        for prefix in used:
            self._known.move_to_end(prefix)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)
