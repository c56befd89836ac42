"""Tokens per second of the decoding engine against transformers' `generate`: `python scripts/bench_decoding.py`.

Both decode the same prompts to the same number of tokens, likeliest token first and nothing ended early, in this
process on the same number of threads: `generate` in one perfectly filled batch, ours as the requests of one step of
training, n responses per prompt. `generate` pads every prompt to the longest and reads it once per response. A third
figure is ours as a training step asks: sampled, ended by the stop token. Each is the best of the repeats after one that
warms up. `equal` is the share of responses with the same tokens from both: sums of other shapes differ in their last
bits, and of two tokens nearly as likely the other may then come first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from rich.console import Console
from rich.table import Table
from transformers import AutoModelForCausalLM, AutoTokenizer

from dataflex_rl.config.paths import shipped
from dataflex_rl.data.catalogue import BUILT, MODEL, TRAIN
from dataflex_rl.host.cpu.decoding import Completion, Engine, EngineOptions, Request

CASES = {"tiny": "toy3", "smollm2_135m": "text3"}


@dataclass(frozen=True, kw_only=True)
class Work:
    """One step's requests: prompt ids of its prompts, responses per prompt, new tokens per response."""

    prompts: list[list[int]]
    group: int
    new_tokens: int
    temperature: float
    stop_ids: frozenset[int]

    def requests(self, *, ended: bool) -> list[Request]:
        """As training asks (`ended`: sampled, ended by a stop token), or likeliest token first to the last token."""
        rows = [prompt for prompt in self.prompts for _ in range(self.group)]
        return [
            Request(
                request_id=str(row),
                prompt_ids=prompt,
                max_new_tokens=self.new_tokens,
                seed=row,
                temperature=self.temperature if ended else 0.0,
                stop_ids=self.stop_ids if ended else frozenset(),
            )
            for row, prompt in enumerate(rows)
        ]


def configured(model: str, task: str) -> DictConfig:
    """The composed configuration of a run of this model and task on the CPU host."""
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        return compose("run", overrides=[f"model={model}", f"task={task}", "host=cpu"])


def work_of(config: DictConfig, task: str, tokenizer: Any) -> Work:
    """The first training step's prompts, in the order of the file."""
    rows = pd.read_parquet(BUILT[task].places()[TRAIN]).prompt[: config.data.train_batch_size]
    texts = [tokenizer.apply_chat_template(list(row), add_generation_prompt=True)["input_ids"] for row in rows]
    rollout = config.actor_rollout_ref.rollout
    return Work(
        prompts=[list(map(int, ids)) for ids in texts],
        group=int(rollout.n),
        new_tokens=int(config.data.max_response_length),
        temperature=float(rollout.temperature),
        stop_ids=frozenset({int(tokenizer.eos_token_id)}),
    )


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float, float]:
    """Result of the first call, which is not counted; best wall and best CPU time of the others. [s]"""
    result = work()
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return result, min(walls), min(cpus)


def ours(engine: Engine, requests: Sequence[Request]) -> list[Completion]:
    """Serve all requests at once; prompts read in an earlier call are forgotten, as after a training step."""

    async def together() -> list[Completion]:
        return list(await asyncio.gather(*map(engine.generate, requests)))

    engine.clear_cache()
    return asyncio.run(together())


def theirs(model: Any, requests: Sequence[Request], pad_id: int) -> list[list[int]]:
    """The new tokens of `generate` for all requests as one batch, padded on the left."""
    longest = max(len(request.prompt_ids) for request in requests)
    padding = [longest - len(request.prompt_ids) for request in requests]
    ids_BT = torch.tensor([[pad_id] * pad + one.prompt_ids for pad, one in zip(padding, requests, strict=True)])
    mask_BT = (torch.arange(longest) >= torch.tensor(padding)[:, None]).long()
    count = requests[0].max_new_tokens
    lengths = {"max_new_tokens": count, "min_new_tokens": count, "pad_token_id": pad_id}
    with torch.inference_mode():
        output_BT = model.generate(ids_BT, attention_mask=mask_BT, do_sample=False, eos_token_id=None, **lengths)
    return [row[longest:] for row in output_BT.tolist()]


def measure(name: str, *, threads: int | None, repeats: int) -> dict[str, Any]:
    """Time one model on its task; the thread count is the configuration's unless given."""
    task = CASES[name]
    config = configured(name, task)
    for source in (name, task):
        BUILT[source].make(True)
    folder = BUILT[name].places()[MODEL]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    options = EngineOptions.of(OmegaConf.to_container(config.actor_rollout_ref.rollout.engine_kwargs.dataflex))
    torch.set_num_threads(threads or options.threads)
    work = work_of(config, task, tokenizer)
    pad_id = tokenizer.pad_token_id

    def load() -> Any:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()

    longest = config.data.max_prompt_length + config.data.max_response_length
    engine = options.engine(load(), max_model_len=longest, pad_id=pad_id)
    full, trained = work.requests(ended=False), work.requests(ended=True)
    mine, mine_s, mine_cpu = timed(lambda: ours(engine, full), repeats)
    drawn, drawn_s, drawn_cpu = timed(lambda: ours(engine, trained), repeats)
    engine.clear_cache()
    reference = load()
    other, other_s, other_cpu = timed(lambda: theirs(reference, full, pad_id), repeats)
    tokens, tokens_drawn = len(full) * work.new_tokens, sum(len(one.token_ids) for one in drawn)
    return {
        "model": name, "task": task, "threads": torch.get_num_threads(), "responses": len(full),
        "prompt_tokens": sum(map(len, work.prompts)), "new_tokens": tokens,
        "ours_s": mine_s, "ours_cpu_s": mine_cpu, "ours_tokens_per_s": tokens / mine_s,
        "generate_s": other_s, "generate_cpu_s": other_cpu, "generate_tokens_per_s": tokens / other_s,
        "ratio": other_s / mine_s,
        "equal": sum(a.token_ids == b for a, b in zip(mine, other, strict=True)) / len(full),
        "step_new_tokens": tokens_drawn, "step_s": drawn_s, "step_cpu_s": drawn_cpu,
        "step_tokens_per_s": tokens_drawn / drawn_s,
    }  # fmt: skip


def table_of(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows for a person to read."""
    table = Table(title="new tokens per second; ratio: ours to generate; step: sampled, ended by the stop token")
    for column in ("model", "threads", "responses", "new tokens", "ours", "generate", "ratio", "equal", "step"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for row in rows:
        table.add_row(
            row["model"], str(row["threads"]), str(row["responses"]), str(row["new_tokens"]),
            f"{row['ours_tokens_per_s']:,.0f}", f"{row['generate_tokens_per_s']:,.0f}", f"{row['ratio']:.2f}",
            f"{row['equal']:.0%}", f"{row['step_tokens_per_s']:,.0f}",
        )  # fmt: skip
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; print a table and, with --json, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--models", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--threads", type=int, help="torch threads; default: those of the model's configuration")
    parser.add_argument("--repeats", type=int, default=3, help="the best time of so many counts")
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args(argv)
    rows = [measure(name, threads=options.threads, repeats=options.repeats) for name in options.models]
    Console(width=max(110, Console().width)).print(table_of(rows))
    if options.json:
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        options.json.write_text(json.dumps({"cpus": os.cpu_count(), **versions, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
