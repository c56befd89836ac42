"""A real pretrained LLM, end to end on the CPU host."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.host.training import read_lines, train

SIZE = ("trainer.total_training_steps=2", "trainer.save_freq=1")


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_smollm2_trains_on_text3_under_difffilter(tmp_path: Path) -> None:
    record = "default/smollm2_135m-text3/difffilter/seed_0"
    groups = ("model=smollm2_135m", "task=text3", "method=difffilter", "host=cpu")
    run = train(tmp_path, record, *groups, *SIZE, patience=900)  # asked for: under 15 minutes
    assert run.code == 0, run.out
    items = read_lines(run.record / "eval_items.jsonl")
    assert len(items) == 2 * 45
    assert any(item["correct"] for item in items)
    evaluation = run.json("eval.json")["benchmarks"]
    assert {name: entry["domain"] for name, entry in evaluation.items()} == {
        "text_math": "math", "text_logic": "logic", "text_science": "science"
    }  # fmt: skip
    assert max(data["dataflex/reward_all"] for data in run.metrics) > 0
    assert min(data["training/rollout_actor_probs_pearson_corr"] for data in run.metrics) > 0.999
    first, second = run.weights(1), run.weights(2)
    assert any(not torch.equal(first[name], second[name]) for name in first)
