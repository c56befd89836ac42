"""What `dataflex_rl.evaluate` measures, and what it refuses before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from dataflex_rl import record as rec
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plain import plain
from dataflex_rl.errors import ConfigError
from dataflex_rl.evaluate import Target, evaluation_only, find, main, of_record
from dataflex_rl.record.manifest import KEYS

CONFIG = {
    "model_name": "tiny",
    "benchmark_name": "none",
    "run_dir": "/old",
    "data": {"val_files": "/data/val.parquet", "max_response_length": 12},
    "trainer": {"val_only": False, "val_before_train": True, "default_local_dir": "/old/checkpoints",
                "resume_mode": "auto", "resume_from_path": None},
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A record with whole checkpoints at steps 2 and 4."""
    record = rec.RunRecord(tmp_path / "run").create()
    rec.write_config(record, CONFIG)
    rec.write_manifest(record, **{key: "x" for key in KEYS if key not in ("schema", "versions", "started")})
    log = rec.MetricsLog(record)
    for step in range(1, 5):
        log.append(step, {"loss": 0.5})
    for step in (2, 4):
        actor = record.checkpoints / f"global_step_{step}" / "actor"
        actor.mkdir(parents=True)
        (actor / "model.pt").write_text("weights")
        (actor.parent / "data.pt").write_text("data")
        rec.mark_checkpoint(record, step)
    return record.path


def test_a_run_means_its_last_checkpoint_and_a_checkpoint_itself(run: Path) -> None:
    last, second = run / "checkpoints" / "global_step_4", run / "checkpoints" / "global_step_2"
    assert find(str(run), []) == Target(record=run, checkpoint=last, step=4)
    assert find(str(second), []) == Target(record=run, checkpoint=second, step=2)


def test_a_model_folder_is_measured_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert find(str(tmp_path), ["host=cpu"]) == Target(settings=(f"model={tmp_path}", "host=cpu"))
    with pytest.raises(ConfigError, match="is a whole model: leave model= out"):
        find(str(tmp_path), ["model=tiny"])
    assert find(None, ["model=tiny"]) == Target(settings=("model=tiny",))


def test_a_checkpoint_outside_of_a_record_takes_the_settings(run: Path, tmp_path: Path) -> None:
    moved = (run / "checkpoints" / "global_step_2").rename(tmp_path / "global_step_2")
    assert find(str(moved), ["model=tiny"]) == Target(checkpoint=moved, step=2, settings=("model=tiny",))


def test_a_run_keeps_its_configuration_but_for_what_is_said(run: Path) -> None:
    target = find(str(run), [])
    assert OmegaConf.to_container(of_record(target, ["model=tiny"])) == CONFIG
    changed = of_record(target, ["benchmark=text12", "data.max_response_length=64"])
    assert (changed.benchmark_name, changed.data.val_files, changed.data.max_response_length) == (
        "text12", "build:text12", 64
    )  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model=smollm2_135m", "model=smollm2_135m: the run trained tiny"),
        ("benchmark=nothing", "unknown benchmark 'nothing'; known: aime24"),
        ("data.val_file=x", "unknown setting 'data.val_file' of the run; data has: max_response_length, val_files"),
        ("--fast", "unknown setting '--fast' of the run; the configuration has: benchmark_name, data"),
    ],
)
def test_a_setting_that_does_not_fit_a_run_is_refused(run: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        of_record(find(str(run), []), [setting])


def test_a_value_of_another_kind_is_refused_for_a_run_too(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        rec.write_config(rec.RunRecord(run), plain(compose("run", overrides=[f"run_dir={run}"])))
    assert main([f"checkpoint={run}", "trainer=null"]) == 2
    assert "trainer=None: expected a block of settings" in capsys.readouterr().err


def test_verl_only_validates_with_the_weights_in_place(run: Path, tmp_path: Path) -> None:
    target = find(str(run), [])
    config = evaluation_only(of_record(target, []), tmp_path, target)
    assert config.run_dir == str(tmp_path)
    assert (config.trainer.val_only, config.trainer.val_before_train) == (True, True)
    assert (config.trainer.resume_mode, config.trainer.resume_from_path) == ("resume_path", str(target.checkpoint))
    assert evaluation_only(OmegaConf.create(CONFIG), tmp_path, Target()).trainer.resume_mode == "disable"


def test_nothing_measurable_is_refused_in_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"checkpoint={tmp_path / 'none'}"]) == 2
    assert "expected a run record (manifest.json), a checkpoint" in capsys.readouterr().err
    for folder in (run / "checkpoints").iterdir():
        (folder / "dataflex.json").unlink()
    assert main([f"checkpoint={run}"]) == 2
    assert capsys.readouterr().err == f"error: run record {run} has no whole checkpoint to measure\n"
    assert main(["--help"]) == 0
    assert "python -m dataflex_rl.evaluate checkpoint=" in capsys.readouterr().out
