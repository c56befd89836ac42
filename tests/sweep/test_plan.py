"""Plans: which runs, in which order, at what cost, and what is refused before anything starts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dataflex_rl.config.plan import Plan, plan_runs
from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RunRecord, config_diff, config_hash, write_config
from dataflex_rl.record.identity import VOLATILE
from dataflex_rl.record.pairs import METHOD_KEYS
from dataflex_rl.run import main as run_main
from dataflex_rl.sweep.__main__ import main
from dataflex_rl.sweep.audit import planned_differences
from dataflex_rl.sweep.commands import check_records
from dataflex_rl.sweep.files import find_sweep, read_sweep
from dataflex_rl.sweep.plan import latest, needed_controls
from dataflex_rl.sweep.records import run_command
from dataflex_rl.sweep.requests import plan_file
from dataflex_rl.sweep.store import Store
from dataflex_rl.sweep.store import plan_file as written_plan
from tests.sweep.records import finished
from tests.sweep.refusals import refused

FILE = """
name: mine
claim: it works
controls: [uniform]
methods: [uniform, ar]
seeds: 0-1
overrides: [model=tiny, task=toy3, host=cpu, trainer.total_training_steps=3]
vary: [[regime.data_fraction=0.25], [regime.label_noise=0.2]]
estimate: {response_tokens: 100, evaluation_items: 300}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Two methods in two regimes."""
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    return str(path)


@pytest.fixture
def small(tmp_path: Path) -> str:
    """One method and its control alike: a plan that composes once."""
    path = tmp_path / "small.yaml"
    lines = [line for line in FILE.replace("[uniform, ar]", "[uniform]").splitlines() if "vary" not in line]
    path.write_text("\n".join(lines))
    return str(path)


def test_a_plan_in_json(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", file, f"runs_dir={tmp_path}/runs", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    expected = [
        (method, seed, regime) for seed in (0, 1) for regime in ("data25", "noise20") for method in ("uniform", "ar")
    ]
    assert [(run["method"], run["seed"], run["regime"]) for run in plan["runs"]] == expected
    first = plan["runs"][0]
    assert first["run_dir"] == f"{tmp_path}/runs/mine/tiny-toy3+data25/uniform/seed_0"
    assert (first["model"], first["task"], first["gpus"], first["cpus"]) == ("tiny", "toy3", 0, 2)
    # (3 steps x 16 prompts x 5 responses + 2 x 300 answers) x 12 tokens, the longest response
    assert first["tokens"] == (3 * 16 * 5 + 2 * 300) * 12
    assert (plan["gpu_hours"], plan["tokens"]) == (0, 8 * first["tokens"])
    assert not (tmp_path / "runs").exists()  # nothing was started, nothing was made


def test_the_command_line_replaces_what_the_file_says(file: str, tmp_path: Path) -> None:
    arguments = ["method=uniform,per", "seed=3", "new_sweep=other", f"runs_dir={tmp_path}", "trainer.save_freq=1,2"]
    plan, options = plan_file(file, [*arguments[:-1], "trainer.total_training_steps=5", "launcher.max_concurrent=2"])
    assert [(run.method, run.seed, run.steps) for run in plan.runs] == [
        (method, 3, 5) for _ in range(2) for method in ("uniform", "per")
    ]
    assert plan.folder == tmp_path / "other"
    assert options.max_concurrent == 2
    assert "trainer.total_training_steps=3" not in plan.runs[0].arguments
    assert {"sweep=other", "seed=3", f"runs_dir={tmp_path}"} <= set(plan.runs[0].arguments)


def test_composed_methods_differ_in_nothing_that_the_audit_compares(tmp_path: Path) -> None:
    plan, _ = plan_file("smoke_cpu", ["method=uniform,difffilter,ar,static,tscl", "seed=0", f"runs_dir={tmp_path}"])
    first, *others = (plan.plans[run.run_dir].settings for run in plan.runs)
    for other in others:
        assert config_diff(first, other, (*VOLATILE, *METHOD_KEYS)) == []
        assert config_diff(first, other, VOLATILE) != []


def test_every_prompt_selector_is_compared_with_uniform_and_differs_in_it_alone(tmp_path: Path) -> None:
    assert [name.rpartition("/")[2] for name in read_sweep(find_sweep("select_cpu")).methods[1:]] == [
        "beta_thompson", "greso_skip", "learnability", "no_resample", "curriculum", "order", "hierarchical"
    ]  # fmt: skip
    chosen = "method=uniform,prompts/hierarchical,prompts/order"
    plan, _ = plan_file("select_cpu", [chosen, "seed=0,1", f"runs_dir={tmp_path}"])
    assert [run.prompt_selector for run in plan.runs] == ["none", "hierarchical", "order"] * 2
    assert planned_differences(plan) == []
    assert needed_controls(plan.runs) == ["uniform"]
    with pytest.raises(ConfigError, match="'select_cpu' has no run of its control uniform"):
        plan_file("select_cpu", [f"runs_dir={tmp_path}", "method=prompts/order,prompts/greso_skip"])


def test_the_plan_of_a_later_seed_is_what_its_run_composes(tmp_path: Path) -> None:
    """So that a rerun does not take its own records for those of another configuration."""
    arguments = ["method=uniform,static", "seed=0,5", f"runs_dir={tmp_path}", "regime.data_fraction=0.5"]
    plan, _ = plan_file("smoke_cpu", arguments)
    run = plan.runs[-1]
    assert (run.method, run.seed) == ("static", 5)
    (alone,) = plan_runs(run.arguments)
    assert config_diff(alone.settings, plan.plans[run.run_dir].settings) == []
    planned = plan.plans[run.run_dir]
    assert replace(planned, changed=alone.changed) == alone


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    sweep, _ = plan_file("smoke_cpu", ["method=uniform,difffilter", "seed=3", f"runs_dir={tmp_path}"])
    Store(sweep.folder).create().write_plan(sweep)
    for run in sweep.runs:
        assert Plan.read(written_plan(run.run_dir)) == sweep.plans[run.run_dir]
        assert run_command(run)[1:] == ["-m", "dataflex_rl.run", f"plan={written_plan(run.run_dir)}"]


@pytest.mark.parametrize(("text", "why"), [(None, "no such file"), ('{"method": "uniform"}', "not the plan of a run")])
def test_what_is_no_plan_is_refused(
    text: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    if text is not None:
        file.write_text(text)
    assert run_main([f"plan={file}"]) == 2
    assert capsys.readouterr().err == f"error: plan={file}: {why}\n"


def test_two_runs_with_one_record_are_refused(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "two runs of sweep 'mine' would share the record" in refused(capsys, "plan", small, "trainer.save_freq=1,2")


def test_the_last_of_two_settings_counts() -> None:
    assert latest(["a=1", "b=2", "--x", "a=3"]) == ["b=2", "--x", "a=3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["method=ar"], "has no run of its control uniform"),
        (["method=uniform,reward_gap"], "has no run of its control static"),
        (["method=uniform,nosuch"], "nosuch"),
        (["--dry"], "--dry: no option of a sweep"),
        (["method="], "method=: expected names of methods"),
        (["method=uniform,,ar"], "method=uniform,,ar: expected names of methods"),
        (["new_sweep=a/b"], "sweep='a/b': expected letters, digits"),
        (["new_sweep="], "sweep='': expected letters, digits"),
        (["sweep=.."], "sweep='..': expected letters, digits"),
        (["seed="], "seed"),
        (["seed=-1"], "seed"),
        (["seed=a"], "seed"),
        (["seed=0-"], "'0-' is no seed"),
        (["seed=0-3,2"], "seed 2 is named twice"),
        (["seed=0-4000000000"], "the range 0-4000000000 names more than 10,000 seeds"),
        (["seed=99999999999"], "0 to 4294967295"),
        (["seed=5-2"], "the range 5-2 runs backwards"),
        (["seed=1,1"], "seed 1 is named twice"),
        (["launcher.retires=1"], "unknown launcher setting 'retires'"),
        (["nosuch.key=1"], "nosuch"),
        (["run_dir=/x"], "run_dir= belongs to a single run"),
        (["force=true"], "force= belongs to a single run"),
        (["++force=true"], "force= belongs to a single run"),
        (["runs_dir=/tmp/a,/tmp/b"], "would lie in /tmp/a/mine and /tmp/b/mine; expected one runs_dir="),
        (["host=gpu8x2"], "host=gpu8x2 spans 2 machines"),
        (["regime.label_noise=2"], "regime.label_noise=2: expected a share"),
    ],
)
def test_bad_plans_are_refused_in_one_line(
    small: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "plan", small, *arguments)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[model=tiny", "[run_dir=/tmp/x, model=tiny", "run_dir= belongs to a single run"),
        ("[model=tiny", "[force=true, model=tiny", "force= belongs to a single run"),
        ("[model=tiny", "[-m, model=tiny", "-m: no option of a sweep"),
        ("estimate:", "vary: [[run_dir=/tmp/x]]\nestimate:", "run_dir= belongs to a single run"),
    ],
)
def test_a_files_own_overrides_are_checked_like_the_command_lines(
    small: str, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(small).write_text(Path(small).read_text().replace(old, new))
    assert said in refused(capsys, "plan", small)


def test_a_plan_that_nobody_checked_says_so_in_json(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", small, "launcher.gpus=8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == ["not checked against a cluster: give ray.address="]
    assert main(["plan", small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_bad_commands_are_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown command 'start'; known: audit, cancel" in refused(capsys, "start", "smoke_cpu")
    assert "unknown sweep 'smoke'" in refused(capsys, "plan", "smoke")
    assert "which sweep?" in refused(capsys, "plan")
    assert "--all: expected KEY=VALUE" in refused(capsys, "status", "smoke_cpu", "--all")
    assert "was never launched" in refused(capsys, "status", "smoke_cpu", f"runs_dir={tmp_path}")
    assert "was never launched" in refused(capsys, "cancel", "smoke_cpu", f"runs_dir={tmp_path}")


def test_chosen_methods_need_only_their_own_control(tmp_path: Path) -> None:
    plan, _ = plan_file("smoke_cpu", ["method=uniform,difffilter", "seed=0", f"runs_dir={tmp_path}"])
    assert [run.method for run in plan.runs] == ["uniform", "difffilter"]


@pytest.mark.parametrize("name", ["mine", "paper_qwen7b"])
def test_a_plan_fits_80_columns(
    file: str, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = [file] if name == "mine" else [name, "method=uniform,reward_gap,static"]
    assert main(["plan", *words, f"runs_dir={tmp_path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith(("records: ", "tables: "))), lines
    text = "\n".join(lines)
    if name == "mine":
        assert re.search(r"│ uniform +│ data25 +│ 0-1 +│ +0\.0 │", text)
        assert "each run: model tiny, task toy3, 3 steps, 0 GPUs, 2 CPUs" in text
        assert "warning" not in text
    else:
        assert re.search(r"│ reward_gap +│ 0-11 +│ +481\.7 │", text)
        assert "each run: model qwen2_5_7b, task multidomain3, regime full, 300 steps, 8 GPUs" in text
        assert "warning: not checked against a cluster: give ray.address=" in text


def test_a_changed_configuration_under_the_same_name_is_refused(small: str, tmp_path: Path) -> None:
    plan, _ = plan_file(small, [f"runs_dir={tmp_path}"])
    check_records(plan)  # no records yet
    run = plan.runs[1]
    finished(tmp_path, "x")  # a record elsewhere does not matter
    record = RunRecord(Path(run.run_dir)).create()
    source = finished(tmp_path / "copy", "uniform", 1)
    (Path(source["run_dir"]) / "manifest.json").rename(record.manifest)
    resolved = json.loads(json.dumps({"seed": 0}))
    write_config(record, resolved)
    assert config_hash(resolved) != "c"
    with pytest.raises(ValueError, match=r"tiny-toy3/uniform/seed_1 \(.*(absent).*use new_sweep="):
        check_records(plan)


@pytest.mark.slow
def test_more_than_this_machine_has_is_an_error_and_no_wait(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dataflex_rl.sweep", "launch", "smoke_cpu", "method=uniform,static", "seed=0",
               "launcher.gpus=64", f"runs_dir={tmp_path}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "a run needs 64 GPUs and 2 CPUs on one machine, but the largest of this machine has 0 GPUs" in done.stderr
    assert not list(tmp_path.glob("smoke_cpu/*-*"))
