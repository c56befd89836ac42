"""What a plan names, made where it runs: paths take the names' place wherever these stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflex_rl.config.inputs import make_inputs, other_configuration
from dataflex_rl.config.plan import plan_runs
from dataflex_rl.record import RunRecord


@pytest.mark.parametrize("estimator", ["grpo", "gae"])
def test_no_name_is_left_in_what_trains(estimator: str, tmp_path: Path) -> None:
    arguments = [f"runs_dir={tmp_path}", "method=softmax", f"algorithm.adv_estimator={estimator}", "seed=3"]
    (plan,) = plan_runs(arguments, dry=True)
    assert plan.settings["actor_rollout_ref"]["model"]["path"] == "build:tiny"
    inputs = make_inputs(plan.settings)
    model = inputs.settings["actor_rollout_ref"]["model"]["path"]
    assert Path(model, "config.json").is_file()
    assert inputs.settings["critic"]["model"]["path"] == model
    assert "build:" not in str(inputs.settings)
    assert set(inputs.names) == {"actor_rollout_ref.model.path", "data.train_files", "data.val_files"}
    assert plan.settings["actor_rollout_ref"]["model"]["path"] == "build:tiny"  # a plan stays as it is
    assert other_configuration(RunRecord(tmp_path / "none"), plan.settings) == ""
