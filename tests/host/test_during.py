"""Evaluations during training, of a real run: kept with counts, items and the tokens spent until then."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest

from tests.host.training import Finished, kill, lines_so_far, read_lines, start, train, wait_for

RECORD = "default/tiny-toy3/difffilter/seed_0"
RUN = ("method=difffilter", "trainer.total_training_steps=4", "trainer.test_freq=1", "trainer.save_freq=2",
       "wandb.mode=disabled")  # fmt: skip


def check(run: Finished) -> None:
    assert run.code == 0, run.out
    found = run.json("eval.json")
    assert [entry["step"] for entry in found["during"]] == [1, 2, 3, 4]
    for name in ("generated", "trained"):
        spent = list(accumulate(round(step[f"dataflex/tokens_{name}"]) for step in run.metrics))
        assert [entry["tokens"][name] for entry in found["during"]] == spent
    assert found["during"][0]["tokens"]["trained"] < found["during"][0]["tokens"]["generated"]
    last = {name: entry["trained"] for name, entry in found["benchmarks"].items()}
    assert found["during"][-1]["benchmarks"] == {
        name: {"correct": counts["correct"], "total": counts["total"]} for name, counts in last.items()
    }
    items = read_lines(run.record / "eval_during.jsonl")
    assert [item["step"] for item in items] == [step for step in (1, 2, 3, 4) for _ in range(300)]
    assert len(read_lines(run.record / "eval_items.jsonl")) == 600  # untrained and trained alone


def test_each_evaluation_is_kept_with_its_tokens(tmp_path: Path) -> None:
    check(train(tmp_path, RECORD, *RUN))


@pytest.mark.slow
def test_a_killed_run_has_each_evaluation_once(tmp_path: Path) -> None:
    undisturbed = train(tmp_path / "whole", RECORD, *RUN)
    process = start(tmp_path, *RUN)
    wait_for(lambda: len(lines_so_far(tmp_path / RECORD)) >= 3, process)
    kill(process)
    resumed = train(tmp_path, RECORD, *RUN)
    check(resumed)
    assert resumed.json("eval.json") == undisturbed.json("eval.json")
    assert read_lines(resumed.record / "eval_during.jsonl") == read_lines(undisturbed.record / "eval_during.jsonl")
