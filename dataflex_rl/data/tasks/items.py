"""One problem with its gold answer, and the parquet files of many.

A prompt ends with the question and the instruction of its verifier, so each states the answer format that is graded.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.dispatch import verifier

_TEXT = pa.string()
SCHEMA = pa.schema(
    {
        "data_source": _TEXT,
        "domain": _TEXT,
        "ability": _TEXT,
        "prompt": pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "reward_model": pa.struct({"style": _TEXT, "ground_truth": _TEXT}),
        "extra_info": pa.struct(
            {
                "split": _TEXT,
                "index": pa.int64(),
                "item_id": _TEXT,
                "difficulty": pa.int64(),
                "max_new_tokens": pa.int64(),
            }
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """One problem.

    source: verl's data_source, which names the verifier (and the benchmark).
    item_id: stable within its source, whatever else is prepared with it.
    question: without the instruction that states the answer format.
    difficulty: grade from 1, 0 where the source has none.
    max_new_tokens: limit of an evaluated response [tokens]; None: the run's own.
    brief: ask for the answer alone and show one example, for models and budgets too small to reason in text.
    """

    source: str
    domain: str
    item_id: str
    question: str
    gold: str
    difficulty: int = 0
    max_new_tokens: int | None = None
    brief: bool = False


def prompt_of(item: Item) -> list[dict[str, str]]:
    """Return the messages: the question, then how to answer it; of a brief item after a worked example."""
    module = verifier(item.source)
    if not item.brief:
        return [_asked(item.question, module.INSTRUCTION)]
    question, answer = module.EXAMPLE
    example = [_asked(question, module.BRIEF), {"role": "assistant", "content": answer}]
    return [*example, _asked(item.question, module.BRIEF)]


def _asked(question: str, instruction: str) -> dict[str, str]:
    return {"role": "user", "content": f"{question.strip()}\n\n{instruction}"}


def content_id(*parts: str) -> str:
    """Return 12 hex digits over texts: the id of an item whose source has none."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def check_items(items: Sequence[Item]) -> None:
    """Check that ids are unique per source and that gold answers grade as correct, wrong ones as wrong: all of them.

    Raises:
        ConfigError: no items; an id occurs twice; or how many answers grade wrongly, and the first of them.
    """
    if not items:
        raise ConfigError("task data: no items are left; expected at least one")
    twice = [key for key, count in Counter((item.source, item.item_id) for item in items).items() if count > 1]
    if twice:
        raise ConfigError(f"{twice[0][0]}: item id {twice[0][1]!r} occurs more than once ({len(twice)} ids do)")
    failed = [item for item in items if not grades(item)]
    if failed:
        first = failed[0]
        raise ConfigError(
            f"{first.source}: the verifier grades the answers of {len(failed)} of {len(items)} prompts wrongly, "
            f"expected 0; first: item {first.item_id!r}, gold {first.gold!r}"
        )


def grades(item: Item) -> bool:
    """Return whether the gold answer grades as correct and a wrong one as wrong."""
    module = verifier(item.source)
    right = module.compute_score(item.source, module.state(item.gold), item.gold)["score"]
    wrong = module.compute_score(item.source, module.state(module.wrong(item.gold)), item.gold)["score"]
    return bool((right, wrong) == (1.0, 0.0))


def to_row(item: Item, *, split: str, index: int) -> dict[str, Any]:
    """Return the row of an item in verl's schema."""
    return {
        "data_source": item.source,
        "domain": item.domain,
        "ability": item.domain,
        "prompt": prompt_of(item),
        "reward_model": {"style": "rule", "ground_truth": item.gold},
        "extra_info": {
            "split": split,
            "index": index,
            "item_id": item.item_id,
            "difficulty": item.difficulty,
            "max_new_tokens": item.max_new_tokens,
        },
    }


def write_items(items: Iterable[Item], path: Path, *, split: str, first_index: int = 0) -> Path:
    """Write a parquet file, one row per item, and return its path."""
    rows = [to_row(item, split=split, index=first_index + i) for i, item in enumerate(items)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
    return path


def read_items(path: Path) -> list[Item]:
    """Return the items of a file that `write_items` wrote."""
    items = []
    for row in pq.read_table(path).to_pylist():
        info = row["extra_info"]
        question, _, instruction = row["prompt"][-1]["content"].rpartition("\n\n")
        items.append(
            Item(
                source=row["data_source"],
                domain=row["domain"],
                item_id=info["item_id"],
                question=question,
                gold=row["reward_model"]["ground_truth"],
                difficulty=info["difficulty"],
                max_new_tokens=info["max_new_tokens"],
                brief=instruction == verifier(row["data_source"]).BRIEF,
            )
        )
    return items
