"""Time and memory of every policy on jagged batches, against a plain padded reference: `python scripts/bench.py`.

Prompt selectors are measured beside them (scripts/bench_prompts.py).

Lengths are log-normal with mean 700 tokens, at most 8,192. Ours is `Policy.apply`: scores, decision and all metrics;
"+ weights" adds the weight of every token, as the host wants it. The reference (scripts/bench_reference.py) makes the
same decision without metrics, from tensors that are already padded to [B, T], with a Python loop over groups that finds
the rows of each group by its uid. Both run in this process on one thread; the ratio is of the best CPU times of a run.
Memory is the growth of the peak resident set (Linux), in float32 per real token.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from dataflex_rl.components.batch import Batch
from dataflex_rl.policy import Policy

if __package__:
    from scripts.bench_prompts import prompt_rows, prompt_table
    from scripts.bench_reference import Padded, reference
else:
    from bench_prompts import prompt_rows, prompt_table
    from bench_reference import Padded, reference

METHODS = {
    "difffilter": "group_solve",
    "maxvar": "reward",
    "gfpo": "reward",
    "topk": "advantage_magnitude",
    "ar": "token_prob",
    "per": "advantage_magnitude",
    "softmax": "advantage_magnitude",
    "diffband": "reward",
}
MEAN, LONGEST, SIGMA = 700, 8192, 0.9


def make_batch(size: int, group: int, mean: int = MEAN, longest: int = LONGEST, seed: int = 0) -> Batch:
    """A batch of `size` responses in interleaved groups of `group`, outcome rewards 0, .5 or 1 on the last tokens."""
    generator = torch.Generator().manual_seed(seed)
    normal_B = torch.randn(size, generator=generator)
    length_B = (normal_B * SIGMA + math.log(mean) - SIGMA**2 / 2).exp().long().clamp(1, longest)
    offset_B1 = torch.cat([torch.zeros(1, dtype=torch.int64), length_B.cumsum(0)])
    tokens = int(offset_B1[-1])
    rm_score_N = torch.zeros(tokens)
    rm_score_N[offset_B1[1:] - 1] = torch.randint(0, 3, (size,), generator=generator) / 2
    row_B = torch.randperm(size, generator=generator)
    uid = [f"prompt-{row // group:06d}" for row in row_B.tolist()]
    return Batch(
        offset_B1=offset_B1,
        response_mask_N=torch.ones(tokens, dtype=torch.int64),
        uid=uid,
        prompt_key=uid,
        rollout_index_B=row_B % group,
        is_padding_B=torch.zeros(size, dtype=torch.bool),
        rm_score_N=rm_score_N,
        advantage_N=torch.repeat_interleave(torch.randn(size, generator=generator), length_B, output_size=tokens),
        old_log_prob_N=-torch.rand(tokens, generator=generator),
    )


def fresh(batch: Batch) -> Batch:
    """The same batch without anything remembered from an earlier call."""
    fields = batch.__dataclass_fields__
    return Batch(**{name: getattr(batch, name) for name in fields})


def timed(work: Callable[[], object], repeats: int) -> float:
    """Best of `repeats` [CPU s]: on one thread that is the wall time of an idle machine, also on a busy one."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def peak_growth(work: Callable[[], object]) -> int:
    """Bytes by which the peak resident set grew during `work`."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak to the present size
    before = _status("VmRSS")
    held = work()
    growth = max(_status("VmHWM") - before, 0)
    del held
    return growth


def measure(method: str, batch: Batch, padded: Padded | None, repeats: int) -> dict[str, Any]:
    """Seconds and extra memory of one method on one batch."""
    policy = Policy.from_config({"scorer": {"name": METHODS[method]}, "actuator": {"name": method}})
    tokens = int(batch.offset_B1[-1])
    decision = policy.apply(fresh(batch), step=1)
    row: dict[str, Any] = {
        "method": method,
        "responses": batch.size,
        "tokens": tokens,
        "apply_s": timed(lambda: policy.apply(fresh(batch), step=1), repeats),
        "total_s": timed(lambda: policy.apply(fresh(batch), step=1).weight_N, repeats),
        "apply_f32_per_token": peak_growth(lambda: policy.apply(fresh(batch), step=1)) / 4 / tokens,
    }

    def decide_and_weigh() -> object:
        made = policy.apply(fresh(batch), step=1)
        return made, made.weight_N

    row["total_f32_per_token"] = peak_growth(decide_and_weigh) / 4 / tokens
    if padded is not None:
        theirs = reference(method, padded)
        theirs_N = (theirs if theirs.dim() == 2 else theirs[:, None] * padded.mask_BT)[padded.mask_BT > 0]
        row["agrees"] = bool(torch.allclose(theirs_N, decision.weight_N, atol=1e-4))
        del theirs, theirs_N
        row["reference_s"] = timed(lambda: reference(method, padded), max(repeats // 3, 1))
        row["ratio"] = row["reference_s"] / row["apply_s"]
    return row


def growth(rows: Sequence[dict[str, Any]], method: str) -> float | None:
    """Exponent of the time of apply against tokens between the smallest and the largest batch of a method."""
    mine = sorted((row["tokens"], row["apply_s"]) for row in rows if row["method"] == method)
    if len(mine) < 2 or mine[0][0] == mine[-1][0]:
        return None
    return math.log(mine[-1][1] / mine[0][1]) / math.log(mine[-1][0] / mine[0][0])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; print a table and, with --json, write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1280, 16384, 131072], help="responses per batch")
    parser.add_argument("--groups", type=int, nargs="+", default=[5, 8], help="responses per prompt")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=5, help="the best time of so many counts")
    parser.add_argument("--reference-up-to", type=int, default=16384, help="largest batch the reference runs on")
    parser.add_argument("--prompts", type=int, default=1_000_000, help="prompts in the pool of the prompt selectors")
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--quick", action="store_true", help="small batches of short responses, a few seconds")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    logging.getLogger("dataflex_rl").setLevel(logging.ERROR)  # that diffband equals uniform here is not the point
    sizes, mean, longest = (options.sizes, MEAN, LONGEST) if not options.quick else ([160, 640], 40, 256)
    rows: list[dict[str, Any]] = []
    for group in options.groups:
        mine: list[dict[str, Any]] = []
        for size in sizes:
            batch = make_batch(size, group, mean, longest)
            padded = Padded.of(batch) if size <= options.reference_up_to else None
            mine += [measure(method, batch, padded, options.repeats) for method in options.methods]
        exponent = {method: growth(mine, method) for method in options.methods}
        rows += [{"group": group, **row, "exponent": exponent[row["method"]]} for row in mine]
    Console(width=max(110, Console().width)).print(_table(rows))
    selectors = prompt_rows(20_000 if options.quick else options.prompts, draws=256, steps=20)
    Console(width=max(110, Console().width)).print(prompt_table(selectors))
    if options.json:
        facts = {"cpus": os.cpu_count(), "torch": torch.__version__, "rows": rows, "prompt_selectors": selectors}
        options.json.write_text(json.dumps(facts, indent=1))
    return 0


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="ms; memory in float32 per token; apply grows as tokens^exponent over the sizes run")
    for column in (
        "method",
        "G",
        "B",
        "apply",
        "+ weights",
        "mem apply",
        "+ weights",
        "reference",
        "ratio",
        "exponent",
    ):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        table.add_row(
            row["method"], str(row["group"]), f"{row['responses']:,}", f"{row['apply_s'] * 1e3:.1f}",
            f"{row['total_s'] * 1e3:.1f}", f"{row['apply_f32_per_token']:.2f}", f"{row['total_f32_per_token']:.2f}",
            f"{row['reference_s'] * 1e3:,.0f}" if "reference_s" in row else "-",
            f"{row['ratio']:.0f}x" if "ratio" in row else "-",
            "-" if row["exponent"] is None else f"{row['exponent']:.2f}",
        )  # fmt: skip
    return table


def _status(key: str) -> int:
    """A size from /proc/self/status [bytes]."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


if __name__ == "__main__":
    raise SystemExit(main())
