"""What counts as done: a record of the planned run, with its configuration, whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dataflex_rl.config.inputs import make_inputs
from dataflex_rl.record import RunRecord, config_hash, write_config
from dataflex_rl.sweep.plan import Sweep
from dataflex_rl.sweep.records import lacking, other_run
from dataflex_rl.sweep.requests import plan_file
from tests.sweep.records import finished

LINE = ["method=uniform", "seed=0", "trainer.total_training_steps=1"]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Sweep]:
    """One run, and the same with another learning rate."""
    line = [*LINE, f"runs_dir={tmp_path_factory.mktemp('runs')}"]
    return tuple(plan_file("smoke_cpu", [*line, *more])[0] for more in ([], ["actor_rollout_ref.actor.optim.lr=0.5"]))  # type: ignore[return-value]


@pytest.fixture
def record(plans: tuple[Sweep, Sweep], tmp_path: Path) -> RunRecord:
    """The finished record of the first run."""
    plan, run = plans[0], plans[0].runs[0]
    inputs = make_inputs(plan.plans[run.run_dir].settings)
    facts = {key: getattr(run, key) for key in ("model", "task", "actuator")}
    hashed = config_hash(inputs.settings, inputs.ignored)
    written = Path(finished(tmp_path, "uniform", config_hash=hashed, **facts)["run_dir"])
    place = Path(run.run_dir)
    place.mkdir(parents=True, exist_ok=True)
    for path in written.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    write_config(RunRecord(place), inputs.settings)
    return RunRecord(place)


def told(record: RunRecord, **changes: object) -> None:
    """Change keys of the manifest."""
    record.manifest.write_text(json.dumps(json.loads(record.manifest.read_text()) | changes))


def edited(record: RunRecord) -> None:
    text = record.config.read_text()
    assert "lr: 0.0003" in text
    record.config.write_text(text.replace("lr: 0.0003", "lr: 9.0"))


def bare(record: RunRecord) -> None:
    record.config.unlink()
    record.manifest.unlink()


def test_a_whole_record_of_the_run_is_done(plans: tuple[Sweep, Sweep], record: RunRecord) -> None:
    assert (lacking(plans[0].runs[0]), other_run(plans[0], plans[0].runs[0])) == (None, "")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda r: None, "actor_rollout_ref.actor.optim.lr: 0.0003 -> 0.5"),
        (lambda r: r.manifest.unlink(), "actor_rollout_ref.actor.optim.lr: 0.0003 -> 0.5"),
        (lambda r: r.config.unlink(), "config_hash in manifest.json: "),
        (bare, "it has steps but neither config.yaml nor manifest.json"),
    ],
)
def test_another_learning_rate_is_another_run(
    plans: tuple[Sweep, Sweep], record: RunRecord, damage: Callable[[RunRecord], None], said: str
) -> None:
    damage(record)
    assert said in other_run(plans[1], plans[1].runs[0])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (edited, "actor_rollout_ref.actor.optim.lr: 9.0 -> 0.0003"),
        (lambda r: told(r, config_hash="0" * 16), f"config_hash in manifest.json: {'0' * 16} -> "),
        (lambda r: told(r, config_hash=None), "config_hash in manifest.json: None -> "),
        (lambda r: told(r, seed=7), "its manifest.json says seed 7, the plan 0"),
        (lambda r: told(r, method="ar"), "its manifest.json says method 'ar', the plan 'uniform'"),
        (bare, "it has steps but neither config.yaml nor manifest.json"),
    ],
)
def test_a_record_that_contradicts_itself_or_the_plan_is_not_the_run(
    plans: tuple[Sweep, Sweep], record: RunRecord, damage: Callable[[RunRecord], None], said: str
) -> None:
    damage(record)
    assert said in other_run(plans[0], plans[0].runs[0])


def test_without_its_papers_no_run_is_done(plans: tuple[Sweep, Sweep], record: RunRecord) -> None:
    run = plans[0].runs[0]
    told(record, seed=7)
    assert lacking(run) == "its manifest.json says seed 7, the plan 0"
    record.manifest.unlink()
    assert lacking(run) == "manifest.json is missing"
    record.config.unlink()
    assert lacking(run) == "config.yaml is missing"
