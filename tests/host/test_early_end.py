"""stop_at.tokens: a run ends after the step that reaches it, evaluated, saved and done."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dataflex_rl.errors import ConfigError
from tests.host.mix.composed import resolved, trainer
from tests.host.training import train

RECORD = "early/tiny-toy3/uniform/seed_0"
ARGUMENTS = ("sweep=early", "method=uniform", "stop_at.tokens=900", "trainer.total_training_steps=30")


def test_the_step_that_reaches_the_tokens_is_the_last(tmp_path: Path) -> None:
    run = train(tmp_path, RECORD, *ARGUMENTS)
    assert run.code == 0, run.out
    tokens = [data["dataflex/tokens_generated"] for data in run.metrics]
    assert sum(tokens[:-1]) < 900 <= sum(tokens)
    status, last = run.json("status.json"), len(tokens)
    assert (status["state"], status["step"], status["steps"]) == ("done", last, last)
    assert run.json("eval.json")["steps"] == last
    assert any(key.startswith("val-core/") for key in run.metrics[-1])
    assert run.json("cost.json")["tokens"]["generated"] == sum(tokens)
    manifest = run.json("manifest.json")
    assert (manifest["steps"], manifest["stop_at_tokens"]) == (30, 900)
    assert manifest["prompt_stream_digest"]["all"]["count"] == 16 * last
    assert (run.record / "checkpoints" / f"global_step_{last}" / "dataflex.json").is_file()
    assert f"ended after step {last} of 30: stop_at.tokens is reached" in run.out
    again = train(tmp_path, RECORD, *ARGUMENTS)
    assert again.code == 0
    assert "done before" in again.out


def test_a_resumed_run_counts_on(tmp_path: Path) -> None:
    made = trainer(tmp_path, "stop_at.tokens=100", "trainer.total_training_steps=9")
    assert [made._generated(tokens) for tokens in (40.0, 50.0)] == [False, False]
    torch.save(made._state(), tmp_path / "state.pt")
    resumed = trainer(tmp_path, "stop_at.tokens=100", "trainer.total_training_steps=9")
    resumed._load_state(torch.load(tmp_path / "state.pt", weights_only=True), tmp_path)
    resumed.global_steps = 3
    assert resumed._generated(10.0)
    assert resumed.total_training_steps == 3
    free = trainer(tmp_path, "trainer.total_training_steps=9")
    assert not free._generated(1e9)


@pytest.mark.parametrize("value", ["0", "-5", "many", "1.5", "true"])
def test_refused_before_anything_starts(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"stop_at\.tokens=.*expected an integer >= 1 \[tokens\], or null"):
        resolved(tmp_path, f"stop_at.tokens={value}")
