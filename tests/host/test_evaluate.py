"""A finished run, measured again, and a model that was never trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.host.conftest import STEPS
from tests.host.training import Finished, read_lines, train

EVALUATE = "dataflex_rl.evaluate"


def test_evaluating_a_finished_run_reproduces_its_evaluation_exactly(uniform: Finished, tmp_path: Path) -> None:
    done = train(tmp_path, "again", f"checkpoint={uniform.record}", f"out={tmp_path / 'again'}", module=EVALUATE)
    assert done.code == 0, done.out
    expected = uniform.json("eval.json")
    again = done.json("eval.json")
    assert again["steps"] == expected["steps"] == STEPS
    assert {name: entry["trained"] for name, entry in again["benchmarks"].items()} == {
        name: entry["trained"] for name, entry in expected["benchmarks"].items()
    }
    items = [json.dumps(item) for item in read_lines(uniform.record / "eval_items.jsonl") if item["phase"] == "trained"]
    assert [json.dumps(item) for item in read_lines(done.record / "eval_items.jsonl")] == items


@pytest.mark.slow
def test_an_untrained_model_by_name_has_the_untrained_evaluation_of_its_run(uniform: Finished, tmp_path: Path) -> None:
    done = train(tmp_path, "evaluations/tiny-toy3-step_0", "model=tiny", "task=toy3", "seed=0", module=EVALUATE)
    assert done.code == 0, done.out
    again, expected = done.json("eval.json"), uniform.json("eval.json")
    assert again["steps"] == 0
    assert again["benchmarks"] == {
        name: {"domain": entry["domain"], "untrained": entry["untrained"]}
        for name, entry in expected["benchmarks"].items()
    }
    items = [item for item in read_lines(uniform.record / "eval_items.jsonl") if item["phase"] == "untrained"]
    assert read_lines(done.record / "eval_items.jsonl") == items
    assert "untrained model" in done.out
