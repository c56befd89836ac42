"""Whole sweeps on the CPU host: audited, analysed, killed at several places, and equal to undisturbed ones."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.load import load
from dataflex_rl.sweep.store import Store
from tests.host.training import environment, read_lines
from tests.sweep.real import AT_ONCE, METHODS, SEEDS, descendant, finish, processes, results, start, sweep


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of 3 methods x 2 seeds, two runs at a time."""
    runs_dir = tmp_path_factory.mktemp("sweep")
    code, out = finish(start(runs_dir))
    assert code == 0, out
    assert "6/6 runs done" in out
    assert "pair audit: clean; 4 pairs compared, 0 differences" in out
    return runs_dir


def test_a_sweep_is_audited_and_ready_for_the_analysis(undisturbed: Path) -> None:
    runs = load([str(undisturbed / "smoke_cpu")]).runs
    assert {(run.method, run.seed) for run in runs} == {(method, seed) for method in METHODS for seed in SEEDS}
    ledger = json.loads((undisturbed / "smoke_cpu/.sweep/ledger.json").read_text())
    assert {entry["prompts"] for entry in ledger.values()} == {2 * 2 * 16}  # 2 runs of 2 steps of 16 prompts
    for method in METHODS:
        assert ledger[method]["generated"] == ledger[method]["trained"] + ledger[method]["dropped"] > 0
    assert ledger["difffilter"]["dropped"] > 0
    assert ledger["uniform"]["dropped"] == 0
    begun = sorted(read_lines(undisturbed / "smoke_cpu/.sweep/attempts.jsonl"), key=lambda line: line["started"])
    assert [Path(line["run"]).parts[-2:] for line in begun] == [(m, f"seed_{s}") for s in SEEDS for m in METHODS]


def test_status_and_audit_from_another_terminal(undisturbed: Path) -> None:
    status = json.loads(sweep("status", undisturbed, "--json").stdout)
    assert (status["done"], status["total"], status["launcher_alive"]) == (6, 6, False)
    scores = {line["method"]: line["score"] for line in status["lines"]}
    assert all(0 < scores[method] < 1 for method in METHODS)
    audited = sweep("audit", undisturbed, "--json")
    assert audited.returncode == 0
    assert json.loads(audited.stdout)["audit"]["clean"] is True


def test_a_second_launch_does_nothing_and_a_changed_one_is_refused(undisturbed: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in undisturbed.rglob("metrics.jsonl")}
    code, out = finish(start(undisturbed))
    assert code == 0, out
    assert "6 runs, 6 of them done before" in out
    assert {path: path.stat().st_mtime_ns for path in undisturbed.rglob("metrics.jsonl")} == before
    code, out = finish(start(undisturbed, "actor_rollout_ref.actor.optim.lr=0.001"))
    assert code == 2
    assert "actor_rollout_ref.actor.optim.lr: 0.0003 -> 0.001" in out
    assert "and 5 more" in out
    assert "new_sweep=" in out


VICTIMS = {
    "run": lambda words: "dataflex_rl.run" in words,
    "server": lambda words: bool(words) and words[0].startswith("ray::RolloutServer"),
    "launcher": lambda words: "dataflex_rl.sweep" in words and "launch" in words,
}


@pytest.mark.slow
def test_ctrl_c_ends_in_order_and_changes_nothing_in_the_end(undisturbed: Path, tmp_path: Path) -> None:
    process = start(tmp_path)
    descendant(process, tmp_path, VICTIMS["server"])  # the first run is under way
    time.sleep(random.Random("Ctrl-C").uniform(0, 20))
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, out = finish(process)
    assert time.monotonic() - begin < 15
    assert code == 130, out
    assert out.splitlines()[-1] == "interrupted; the same command continues the sweep"
    assert processes(tmp_path) == []
    code, out = finish(start(tmp_path))
    assert code == 0, out
    assert results(tmp_path) == results(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_kill_at_a_random_point_changes_nothing_in_the_end(undisturbed: Path, tmp_path: Path, victim: str) -> None:
    seconds = random.Random(f"kill {victim}").uniform(0, 20)
    process = start(tmp_path)
    descendant(process, tmp_path, VICTIMS["server"])  # the first run is under way
    time.sleep(seconds)
    descendant(process, tmp_path, VICTIMS[victim]).kill()
    code, out = finish(process)
    if victim == "launcher":
        code, out = finish(start(tmp_path))
    assert code == 0, out
    assert "pair audit: clean" in out
    assert results(tmp_path) == results(undisturbed)
    run_states = Store(tmp_path / "smoke_cpu").read_states()
    begun = sum(run_state.attempts for run_state in run_states.values())
    assert 6 < begun <= 6 + (AT_ONCE if victim == "launcher" else 1)  # what was interrupted was begun twice
    ended = [line["run"] for line in read_lines(tmp_path / "smoke_cpu/.sweep/attempts.jsonl") if line["then"] == "done"]
    assert len(ended) == len(set(ended)) == 6


@pytest.mark.slow
def test_an_unwritable_record_is_named_and_the_other_runs_go_on(tmp_path: Path) -> None:
    blocked = tmp_path / "smoke_cpu/tiny-toy3/difffilter"
    blocked.mkdir(parents=True)
    (blocked / "seed_0").write_text("a file where the record should be")
    code, out = finish(start(tmp_path))
    assert code == 1
    assert "tiny-toy3/difffilter/seed_0: refused: run record: cannot create" in out
    assert "5/6 runs done" in out


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_smoke_cpu_as_it_is_shipped(tmp_path: Path) -> None:
    """13 methods x 2 seeds within an hour on 2 cores, audited clean."""
    command = [sys.executable, "-m", "dataflex_rl.sweep", "launch", "smoke_cpu", f"runs_dir={tmp_path}"]
    begin = time.monotonic()
    done = subprocess.run(command, cwd="/", env=environment(), capture_output=True, text=True, timeout=5400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "26/26 runs done" in done.stdout
    assert "pair audit: clean; 24 pairs compared, 0 differences" in done.stdout
    assert time.monotonic() - begin < 3600
    assert len(load([str(tmp_path / "smoke_cpu")]).runs) == 26
