"""The token limits of evaluated items, and the digest of what a run is measured on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dataflex_rl.data.benchmarks.limits import item_limits
from dataflex_rl.data.tasks.items import Item, write_items
from dataflex_rl.runtime.attempt import evaluation_digest
from dataflex_rl.seeding import dataset_fingerprint

ITEM = Item(source="gsm8k", domain="math", item_id="a", question="1+1?", gold="2")
LIMITS = (100, None, 5000)


def written(path: Path, *limits: int | None) -> str:
    items = [replace(ITEM, item_id=str(number), max_new_tokens=limit) for number, limit in enumerate(limits)]
    return str(write_items(items, path, split="test"))


def digest(file: str, longest: int = 1000, **sampling: Any) -> str:
    resolved = {
        "data": {"val_files": file, "max_response_length": longest},
        "actor_rollout_ref": {"rollout": {"val_kwargs": {"temperature": 0, **sampling}}},
    }
    return evaluation_digest(resolved, dataset_fingerprint(file))


def test_an_items_limit_holds_below_the_runs(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.parquet", *LIMITS), written(tmp_path / "b.parquet", 7)
    assert item_limits(first, 1000) == [100, 1000, 1000]
    assert item_limits([first, second], 8000) == [100, 8000, 5000, 7]


def test_data_without_limits_have_the_runs(tmp_path: Path) -> None:
    file = tmp_path / "plain.parquet"
    pd.DataFrame({"prompt": [[{"role": "user", "content": "1"}]] * 2}).to_parquet(file)
    assert item_limits(str(file), 64) == [64, 64]
    pd.DataFrame({"extra_info": [{"index": 0}, None]}).to_parquet(file)
    assert item_limits(str(file), 64) == [64, 64]


def test_other_limits_of_the_same_items_are_another_evaluation(tmp_path: Path) -> None:
    file, same = written(tmp_path / "a.parquet", *LIMITS), written(tmp_path / "b.parquet", *LIMITS)
    other = written(tmp_path / "c.parquet", 200, None, 5000)
    assert dataset_fingerprint(file) == dataset_fingerprint(other)
    assert digest(file) == digest(same)
    assert len({digest(file), digest(other), digest(file, 2000), digest(file, temperature=1)}) == 4
    above = written(tmp_path / "d.parquet", 100, None, 9000)  # both are cut at the run's own limit
    assert digest(file) == digest(above)
