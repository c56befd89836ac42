"""The slots of one cache length: admit prompts, draw and decode one token for each, give up what is over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from dataflex_rl.host.cpu.decoding.cache import put_prompt, slot_cache, take_rows
from dataflex_rl.host.cpu.decoding.forward import Prefill, Runner
from dataflex_rl.host.cpu.decoding.job import Job
from dataflex_rl.host.cpu.decoding.prefix import PrefixReader, Prompt
from dataflex_rl.host.cpu.decoding.probe import check_chunks, check_rows
from dataflex_rl.host.cpu.decoding.sampling import SamplingOptions, ban, sample
from dataflex_rl.host.cpu.decoding.stats import Tally

# Admitting a few prompts costs as much as admitting a full prefill, so a trickle is gathered over this many steps.
_PATIENCE = 4


class Scheduler:
    """A fixed number of slots with `columns` cache columns each, and the jobs that wait for one.

    last: the highest position a token may have. reader: reads prompts in chunks; None: each prompt in one piece.
    Which slot a job gets, when, and beside whom does not change its tokens: each row stands for itself.
    """

    def __init__(
        self, runner: Runner, *, slots: int, columns: int, last: int, tally: Tally, reader: PrefixReader | None = None
    ) -> None:
        self.runner = runner
        self.reader = reader
        self.columns = columns
        self.last = last
        self.waiting: deque[Job] = deque()
        self.jobs: list[Job | None] = [None] * slots
        self.tally = tally
        self._patience = 0
        self._checked: set[int] = set()
        self._position_S = torch.zeros(slots, dtype=torch.long, device=runner.device)
        self._cache: Cache | None = None
        self._logits_SV: Tensor | None = None
        self._options: SamplingOptions | None = None

    @property
    def active(self) -> list[Job]:
        """Jobs that hold a slot."""
        return [job for job in self.jobs if job is not None]

    def turn(self, *, admitting: bool) -> None:
        """Admit what may come in, then draw one token for every active slot and decode it."""
        while admitting and self._due():
            self._admit()
        active = len(self.active)
        self.tally.new_tokens += active
        if active:
            self._step()

    def drop(self, expected: Callable[[Job], bool]) -> list[Job]:
        """Take the jobs that `expected` picks out of the scheduler and return them."""
        dropped = [job for job in (*self.active, *self.waiting) if expected(job)]
        self.jobs = [None if job is not None and expected(job) else job for job in self.jobs]
        self.waiting = deque(job for job in self.waiting if not expected(job))
        return dropped

    def free(self) -> None:
        """Give the cache's memory back if no job holds a slot."""
        if not self.active:
            self._cache = self._logits_SV = self._options = None

    def _due(self) -> bool:
        """Return whether to run a prefill now: enough prompts for a full one, nothing else to do, or patience gone."""
        free = self.jobs.count(None)
        if not self.waiting or not free:
            return False
        rows = self.runner.rows
        return self._patience <= 0 or free == len(self.jobs) or min(free, len(self.waiting)) >= rows

    def _admit(self) -> None:
        """Prefill prompts of the first waiting job's bucket, equal prompts once, and give each job a slot."""
        slots = [slot for slot, job in enumerate(self.jobs) if job is None]
        batch, prompts = self._choose(len(slots))
        self._patience = _PATIENCE
        if not batch:
            return
        self.tally.prefills += 1
        self.tally.requests += len(batch)
        self.tally.prompt_tokens += sum(len(job.request.prompt_ids) for job in batch)
        slots = slots[: len(batch)]
        for slot, job in zip(slots, batch, strict=True):
            self.jobs[slot] = job  # before anything can fail: `drop` finds it here
        if self.reader is None:
            prefill = self._prefill(list(prompts), batch[0].prompt_columns)
            self._take(prefill, slots, [prompts[tuple(job.request.prompt_ids)] for job in batch])
        else:
            self._read(self.reader, slots, [tuple(job.request.prompt_ids) for job in batch])
        lengths = [len(job.request.prompt_ids) for job in batch]
        self._position_S[torch.tensor(slots, device=self.runner.device)] = torch.tensor(
            lengths, device=self.runner.device
        )
        self._options = self._read_options()

    def _prefill(self, prompts: list[tuple[int, ...]], columns: int) -> Prefill:
        """Run a prefill; the first of each shape after a check that this machine keeps rows apart."""
        if columns not in self._checked:
            check_rows(self.runner, len(self.jobs), columns, self.columns)
            self._checked.add(columns)
        return self.runner.prefill(prompts, columns)

    def _choose(self, free: int) -> tuple[list[Job], dict[tuple[int, ...], int]]:
        """Remove up to `free` jobs of one prefill bucket from the queue; return them and each prompt's prefill row."""
        batch: list[Job] = []
        prompts: dict[tuple[int, ...], int] = {}
        left: deque[Job] = deque()
        for job in self.waiting:
            if job.future.done():  # its caller has gone
                continue
            prompt = tuple(job.request.prompt_ids)
            fits = not batch or job.prompt_columns == batch[0].prompt_columns
            most = self.runner.rows if self.reader is None else free
            if len(batch) < free and fits and (prompt in prompts or len(prompts) < most):
                prompts.setdefault(prompt, len(prompts))
                batch.append(job)
            else:
                left.append(job)
        self.waiting = left
        return batch, prompts

    def _take(self, prefill: Prefill, slots: list[int], rows: list[int]) -> None:
        """Copy prefilled rows into slots: cache, and the logits of the first new token."""
        slot_N = torch.tensor(slots, device=self.runner.device)
        row_N = torch.tensor(rows, device=self.runner.device)
        cache, logits_SV = self._memory(prefill.cache, prefill.logits_FV)
        take_rows(cache, prefill.cache, slot_N, row_N, prefill.start_F[row_N])
        logits_SV[slot_N] = prefill.logits_FV[row_N]

    def _read(self, reader: PrefixReader, slots: list[int], prompts: list[Prompt]) -> None:
        """Read prompts in chunks and copy them into slots: cache, and the logits of the first new token."""
        if reader.columns not in self._checked:
            check_chunks(self.runner, len(self.jobs), reader.columns, self.columns)
            self._checked.add(reader.columns)
        found = reader.read(prompts)
        memory = {prompt: torch.cat([chunk.memory for chunk in chunks], dim=2) for prompt, chunks in found.items()}
        for slot, prompt in zip(slots, prompts, strict=True):
            last = found[prompt][-1].logits_V
            cache, logits_SV = self._memory(memory[prompt], last[None])
            put_prompt(cache, slot, memory[prompt])
            logits_SV[slot] = last

    def _memory(self, like: Cache | Tensor, logits_FV: Tensor) -> tuple[Cache, Tensor]:
        """Return the slots' cache and logits, made at first use in the types of what a prompt left."""
        if self._cache is None or self._logits_SV is None:
            self._cache = slot_cache(like, len(self.jobs), self.columns, self._position_S)
            self._logits_SV = logits_FV.new_zeros(len(self.jobs), logits_FV.shape[1])
        return self._cache, self._logits_SV

    def _read_options(self) -> SamplingOptions:
        """Gather the active requests' sampling settings; empty slots are greedy, which costs least; nobody looks."""
        assert self._logits_SV is not None, "settings are read after a prefill"
        requests = [None if job is None else job.request for job in self.jobs]
        return SamplingOptions.of(
            [0.0 if request is None else request.temperature for request in requests],
            [-1 if request is None else request.top_k for request in requests],
            [1.0 if request is None else request.top_p for request in requests],
            vocabulary=self._logits_SV.shape[1],
            device=self.runner.device,
        )

    def _step(self) -> None:
        """Draw a token for every slot, record those of active slots, and decode if any goes on."""
        assert self._logits_SV is not None, "a step follows a prefill"
        assert self._options is not None, "a step follows a prefill"
        device = self.runner.device
        drawn = [0.0 if job is None else job.uniforms[len(job.token_ids)] for job in self.jobs]
        bans = [frozenset[int]() if job is None else job.bans for job in self.jobs]
        banned_SV = ban(bans, self._logits_SV.shape[1], device)
        uniform_S = torch.tensor(drawn, dtype=torch.float64, device=device)
        token_S, log_prob_S = sample(self._logits_SV, uniform_S, self._options, banned_SV)
        token_ids, log_probs = torch.stack((token_S.double(), log_prob_S.double())).tolist()
        for slot, job in enumerate(self.jobs):
            if job is not None and job.record(int(token_ids[slot]), log_probs[slot]):
                self.jobs[slot] = None
        self._patience -= 1
        if any(job is not None for job in self.jobs):
            self._logits_SV = self.runner.decode(token_S, self._position_S, self._cache)
            self._position_S.add_(1).clamp_(max=self.last)  # empty slots run on to the end
            self.tally.decodes += 1
