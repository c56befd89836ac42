"""The parquet files of `toy3` in verl's schema, graded by their own verifier before they are kept."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dataflex_rl.data.tiny import toy3
from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.toy3 import compute_score

TRAIN_FILE, VAL_FILE = "train.parquet", "val.parquet"
_TEXT = pa.string()
_SCHEMA = pa.schema(
    {
        "data_source": _TEXT,
        "domain": _TEXT,
        "ability": _TEXT,
        "prompt": pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "reward_model": pa.struct({"style": _TEXT, "ground_truth": _TEXT}),
        "extra_info": pa.struct({"split": _TEXT, "index": pa.int64(), "difficulty": pa.int64(), "wrong_answer": _TEXT}),
    }
)


def prepare_toy3(folder: Path, *, seed: int, train_size: int, val_size: int) -> tuple[Path, Path]:
    """Write train.parquet and val.parquet into the folder and return their paths.

    Every domain has a third of each split; rows are shuffled; no prompt occurs twice and no body in both splits.
    `extra_info.index` counts through train, then val.

    Raises:
        ConfigError: a size is not a positive multiple of 3, asks for more prompts than exist, or an answer
            grades wrongly.
    """
    rng = random.Random(seed)
    train = make_rows(rng, split="train", size=train_size, first_index=0)
    val = make_rows(rng, split="val", size=val_size, first_index=train_size)
    folder.mkdir(parents=True, exist_ok=True)
    for rows, name in ((train, TRAIN_FILE), (val, VAL_FILE)):
        check_grading(rows)
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), folder / name)
    return folder / TRAIN_FILE, folder / VAL_FILE


def make_rows(rng: random.Random, *, split: str, size: int, first_index: int) -> list[dict[str, Any]]:
    """Return the rows of one split, shuffled, an equal number per domain."""
    if size <= 0 or size % len(toy3.DOMAINS):
        raise ConfigError(f"toy3 {split} size: got {size}, expected a positive multiple of {len(toy3.DOMAINS)}")
    per_domain = size // len(toy3.DOMAINS)
    problems = [p for domain in toy3.DOMAINS for p in _distinct(rng, domain, per_domain, held_out=split == "val")]
    rng.shuffle(problems)
    return [_row(problem, split, first_index + i) for i, problem in enumerate(problems)]


def check_grading(rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that every gold answer grades 1 and every wrong rule's answer grades 0.

    Raises:
        ConfigError: naming how many rows fail and the first of them.
    """
    failed = [row for row in rows if not _grades(row)]
    if failed:
        first = failed[0]
        raise ConfigError(
            f"toy3: the verifier grades the answers of {len(failed)} of {len(rows)} prompts wrongly, expected 0; "
            f"first: prompt {first['prompt'][0]['content']!r}, gold {first['reward_model']['ground_truth']!r}"
        )


def _grades(row: Mapping[str, Any]) -> bool:
    source, gold = row["data_source"], row["reward_model"]["ground_truth"]
    right = compute_score(source, gold, gold, row["extra_info"])["score"]
    wrong = compute_score(source, row["extra_info"]["wrong_answer"], gold, row["extra_info"])["score"]
    return (right, wrong) == (1.0, 0.0)


def _distinct(rng: random.Random, domain: str, count: int, *, held_out: bool) -> list[toy3.Problem]:
    found: dict[str, toy3.Problem] = {}
    for _ in range(50 * count):
        problem = toy3.draw(rng, domain, held_out=held_out)
        found.setdefault(problem.prompt, problem)
        if len(found) == count:
            return list(found.values())
    raise ConfigError(f"toy3 {domain}: expected {count} distinct prompts, found {len(found)}; ask for fewer")


def _row(problem: toy3.Problem, split: str, index: int) -> dict[str, Any]:
    return {
        "data_source": problem.domain,
        "domain": problem.domain,
        "ability": problem.domain,
        "prompt": [{"role": "user", "content": problem.prompt}],
        "reward_model": {"style": "rule", "ground_truth": problem.right},
        "extra_info": {"split": split, "index": index, "difficulty": problem.level, "wrong_answer": problem.wrong},
    }
