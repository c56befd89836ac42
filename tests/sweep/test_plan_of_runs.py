"""Plans without a sweep file: several seeds, `-m`, and single runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataflex_rl.record import RunRecord, holding
from dataflex_rl.run import main as run_main
from tests.sweep.refusals import refused


def test_several_seeds_and_m_on_the_command_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["-m", "method=uniform,difffilter", "model=tiny", "seed=0-2", f"runs_dir={tmp_path}", "dry_run=json"]
    assert run_main(line) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["method"], run["seed"]) for run in runs] == [
        (method, seed) for seed in (0, 1, 2) for method in ("uniform", "difffilter")
    ]
    assert run_main(["method=ar", "seed=0,3", f"runs_dir={tmp_path}", "dry_run=json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["run_dir"] for run in runs] == [f"{tmp_path}/default/tiny-toy3/ar/seed_{seed}" for seed in (0, 3)]
    assert "runs backwards" in refused(capsys, "seed=5-2", entry=run_main)
    assert "named twice" in refused(capsys, "seed=0,0", entry=run_main)


def test_a_record_in_use_has_an_exit_code_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By which the launcher tells it from a configuration that is refused."""
    with holding(RunRecord(tmp_path / "default/tiny-toy3/uniform/seed_0")):
        assert run_main(["method=uniform", "model=tiny", f"runs_dir={tmp_path}"]) == 3
    assert "is in use by process" in capsys.readouterr().err


def test_new_sweep_names_single_runs_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(["method=ar", "new_sweep=mine", f"runs_dir={tmp_path}", "dry_run=json"]) == 0
    assert json.loads(capsys.readouterr().out)["run_dir"] == f"{tmp_path}/mine/tiny-toy3/ar/seed_0"


@pytest.mark.parametrize(
    ("methods", "warned"), [("uniform,ar", ""), ("difffilter,ar", "uniform"), ("uniform,reward_gap", "static")]
)
def test_runs_without_a_sweep_file_may_lack_their_control(
    tmp_path: Path, methods: str, warned: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(["-m", f"method={methods}", f"runs_dir={tmp_path}", "dry_run=json"]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["runs"]) == 2
    expected = f"warning: no run of the control {warned} is among the methods: nothing can be paired\n"
    assert captured.err == (expected if warned else "")
