"""Runs with a prompt selector end to end: real processes, the embedded model, repeated passes over a small pool."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.mix.test_mix_training import assert_same
from tests.host.training import Finished, kill, read_lines, start, train, wait_for

# 48 rows are three batches, so six steps see each prompt twice; the mixer's quotas come first, difffilter acts after
RUN = (
    "sweep=prompts",
    "method=difffilter",
    "mixer=reward_gap",
    "prompts=hierarchical",
    "data.train_max_samples=48",
    "trainer.total_training_steps=6",
    "trainer.save_freq=2",
)
RECORD = "prompts/tiny-toy3/difffilter+reward_gap+hierarchical/seed_0"
TIMES = "dataflex/prompts/cpu_ms"


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run, undisturbed."""
    return train(tmp_path_factory.mktemp("chosen"), RECORD, *RUN)


def test_a_selector_acts_under_a_mixer_and_beside_a_policy(chosen: Finished) -> None:
    assert chosen.code == 0, chosen.out
    manifest = chosen.json("manifest.json")
    assert (manifest["method"], manifest["prompt_selector"]) == ("difffilter+reward_gap+hierarchical", "hierarchical")
    assert manifest["prompt_stream_digest"]["all"]["count"] == 6 * 16
    for data in chosen.metrics:
        assert data["dataflex/prompts/drawn"] == 16.0
        assert data["dataflex/prompts/skipped/far_from_target"] > 0
        assert 0 < data["dataflex/prompts/brier/first"] < 1
        assert data[TIMES] > 0
        assert sum(data[f"dataflex/share_target/{name}"] for name in ("logic", "math", "science")) == pytest.approx(1)
    assert chosen.metrics[-1]["dataflex/prompts/again"] > 0  # 96 draws of 48 prompts
    assert chosen.metrics[-1]["dataflex/prompts/brier/later"] > 0
    scored = chosen.json("predictions.json")
    assert scored["selector"] == "hierarchical"
    for visits in ("first", "later"):
        assert scored["passes"][visits]["brier"] == chosen.metrics[-1][f"dataflex/prompts/brier/{visits}"]
    assert sum(scored["passes"][visits]["responses"] for visits in ("first", "later")) == 6 * 80


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(chosen: Finished, tmp_path: Path) -> None:
    process = start(tmp_path, *RUN)
    wait_for(lambda: len(read_lines(tmp_path / RECORD / "metrics.jsonl")) >= 3, process)
    kill(process)
    again = train(tmp_path, RECORD, *RUN)
    assert again.json("status.json")["attempts"] == 2
    assert_same(again, chosen, ignore=(TIMES,))
