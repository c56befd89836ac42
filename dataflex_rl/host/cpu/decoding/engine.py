"""The asyncio front of the engine: many callers, one loop that decodes for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.errors import ConfigError
from dataflex_rl.host.cpu.decoding import weights
from dataflex_rl.host.cpu.decoding.attention import use_slot_attention
from dataflex_rl.host.cpu.decoding.buckets import STEP, bucket, checked
from dataflex_rl.host.cpu.decoding.forward import Runner, check_model
from dataflex_rl.host.cpu.decoding.job import Job
from dataflex_rl.host.cpu.decoding.prefix import PrefixReader
from dataflex_rl.host.cpu.decoding.request import Completion, Request
from dataflex_rl.host.cpu.decoding.scheduler import Scheduler
from dataflex_rl.host.cpu.decoding.stats import Stats, Tally


class Engine:
    """Serves one model to many callers on one asyncio event loop.

    model: a Hugging Face causal language model; the engine owns it from here on (device, eval mode, attention).
    max_model_len: longest prompt and response together [tokens].
    slots: responses decoded side by side, a multiple of 8. prefill_rows: different prompts per prefill. Both, like
    torch's thread count, belong to the shape behind the numbers: keep them equal in runs that must repeat bit for bit.
    buckets: rising lengths [tokens]; a prompt is padded to the first that holds it, a cache is as long as the first
    that holds this and the longest response. Each cache length has slots of its own, so few buckets fill them better:
    (longest prompt, max_model_len) suits short texts. None: 32, 48, 64, 96, ..., max_model_len. Empty: max_model_len.
    chunk: prompts are read so many tokens at a time, a multiple of 8, and what they begin with in common is read once;
    `buckets` are then cache lengths alone. None: each prompt in one piece. It belongs to the shape as well.
    remembered: prompt tokens whose chunks are kept for later requests, until the weights change; changes speed alone.
    pad_id: any token id; what it computes is hidden.
    gather_s: how long an idle engine waits for company after a first request [s]; changes speed, never results.
    Errors: `ConfigError` for settings or models it cannot serve exactly.
    """

    def __init__(
        self,
        model: Any,
        *,
        max_model_len: int,
        slots: int = 64,
        prefill_rows: int = 16,
        buckets: Sequence[int] | None = None,
        chunk: int | None = None,
        remembered: int = 8192,
        device: torch.device | str = "cpu",
        pad_id: int = 0,
        gather_s: float = 0.002,
    ) -> None:
        if slots < 8 or slots % 8 or not 1 <= prefill_rows <= slots:
            raise ConfigError(f"slots={slots}, prefill_rows={prefill_rows}, expected a multiple of 8, and 1..slots")
        if chunk is not None and (chunk < STEP or chunk % STEP):
            raise ConfigError(f"chunk={chunk}, expected a multiple of {STEP}, or None to read prompts in one piece")
        vocabulary = int(model.config.vocab_size)
        if not 0 <= pad_id < vocabulary:
            raise ConfigError(f"pad_id={pad_id}, expected a token id in 0..{vocabulary - 1}")
        check_model(model, max_model_len)
        self.max_model_len = max_model_len
        self.buckets = checked(buckets, max_model_len)
        self.slots = slots
        self._vocabulary = vocabulary
        self._gather_s = gather_s
        self._model = model.to(device).eval()
        use_slot_attention(self._model)
        self._runner = Runner(
            model=self._model, device=torch.device(device), pad_id=pad_id, rows=prefill_rows, positions=max_model_len
        )
        self._reader = None
        if chunk is not None:
            self._reader = PrefixReader(self._runner, columns=chunk, limit=remembered)
        self._schedulers: dict[int, Scheduler] = {}
        self._tally = Tally()
        self._task: asyncio.Task[None] | None = None
        self._paused = False
        self._whole = True

    async def generate(self, request: Request) -> Completion:
        """Generate one response; waits while the engine is paused. A cancelled caller frees its slot.

        Errors: `ConfigError` for a request that does not fit or holds unknown ids; `FloatingPointError` if the model's
        logits are not finite; `RuntimeError` after a failed weight load; whatever the model itself raises.
        """
        self._check(request)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        length = len(request.prompt_ids)
        prompt_columns = length if self._reader else bucket(self.buckets, length)
        job = Job(request=request, prompt_columns=0 if self._reader else prompt_columns, future=future)
        columns = bucket(self.buckets, min(prompt_columns + request.max_new_tokens, self.max_model_len))
        self._scheduler(columns).waiting.append(job)
        self._wake()
        return await future

    def _scheduler(self, columns: int) -> Scheduler:
        """Return the scheduler of a cache length, made at first use."""
        if columns not in self._schedulers:
            self._schedulers[columns] = Scheduler(
                self._runner,
                slots=self.slots,
                columns=columns,
                last=min(columns, self.max_model_len) - 1,
                tally=self._tally,
                reader=self._reader,
            )
        return self._schedulers[columns]

    def load_weights(self, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
        """Replace the weights, strictly: see `weights.load_weights`.

        Errors: `RuntimeError` while responses are under way, whose tokens would come from two sets of weights;
        `ConfigError` for tensors that do not fit, after which `generate` refuses until a load succeeds.
        """
        active = self.stats.active
        if active:
            raise RuntimeError(f"{active} responses are under way: drain() or abort_all() before load_weights()")
        self._whole = False
        if self._reader is not None:
            self._reader.clear()
        weights.load_weights(self._model, named_tensors)
        self._whole = True

    def pause(self) -> None:
        """Admit no more requests until `resume`; those that hold a slot go on to their end."""
        self._paused = True

    async def drain(self) -> None:
        """Pause, and return when no response is under way."""
        self.pause()
        if self._task is not None:
            await asyncio.wait([self._task])

    def resume(self) -> None:
        """Admit requests again, first those that waited."""
        self._paused = False
        self._wake()

    async def abort(self, request_id: str) -> bool:
        """End the responses of that id with what they have ("aborted"); return whether there was one."""
        return bool(self._abort(lambda job: job.request.request_id == request_id))

    async def abort_all(self) -> list[str]:
        """End every response, waiting or under way, with what it has ("aborted"); return their request ids."""
        return self._abort(lambda job: True)

    def clear_cache(self) -> None:
        """Free the memory of caches that no request uses, and forget the prompts that were read."""
        if self._reader is not None:
            self._reader.clear()
        for scheduler in self._schedulers.values():
            scheduler.free()

    @property
    def stats(self) -> Stats:
        """What was done so far, and what is going on."""
        schedulers = self._schedulers.values()
        active = sum(len(scheduler.active) for scheduler in schedulers)
        return Stats(
            **vars(self._tally), active=active, waiting=sum(len(scheduler.waiting) for scheduler in schedulers)
        )

    def _check(self, request: Request) -> None:
        """Refuse a request this engine cannot serve."""
        name = f"request {request.request_id!r}"
        if not self._whole:
            raise RuntimeError(f"{name}: the last load_weights() failed, so the weights are a mixture; load again")
        if request.total > self.max_model_len:
            raise ConfigError(
                f"{name}: {len(request.prompt_ids)} prompt tokens and max_new_tokens={request.max_new_tokens} "
                f"are {request.total}, expected at most max_model_len={self.max_model_len}"
            )
        low, high = min(request.prompt_ids), max(request.prompt_ids)
        if low < 0 or high >= self._vocabulary:
            raise ConfigError(f"{name}: prompt ids span {low}..{high}, expected 0..{self._vocabulary - 1}")
        if request.min_new_tokens and len(request.ends) >= self._vocabulary:
            raise ConfigError(f"{name}: min_new_tokens={request.min_new_tokens}, but every token is a stop id")

    def _abort(self, expected: Callable[[Job], bool]) -> list[str]:
        dropped = [job for scheduler in self._schedulers.values() for job in scheduler.drop(expected)]
        for job in dropped:
            job.finish("aborted")
        return [job.request.request_id for job in dropped]

    def _wake(self) -> None:
        """Start the loop if there is something to do and none runs."""
        if self._task is None and self._busy():
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)

    def _busy(self) -> bool:
        return any(
            scheduler.active or (scheduler.waiting and not self._paused) for scheduler in self._schedulers.values()
        )

    async def _run(self) -> None:
        """Decode until nothing is left to do, letting callers in between the steps."""
        await asyncio.sleep(self._gather_s)
        while self._busy():
            started = time.perf_counter()
            with torch.inference_mode():
                for scheduler in tuple(self._schedulers.values()):
                    scheduler.turn(admitting=not self._paused)
            self._tally.seconds += time.perf_counter() - started
            await asyncio.sleep(0)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Hand an error of the loop to everyone who waits; otherwise serve those who came at the last moment."""
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            self._wake()
            return
        for job in [job for scheduler in self._schedulers.values() for job in scheduler.drop(lambda job: True)]:
            if error is None:
                job.future.cancel()
            else:
                job.fail(error)
