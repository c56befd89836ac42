"""The launcher on a real Ray instance, with stub runs: order, retries, refusals, bounds, resume."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.commands import check_capacity
from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.plan import Run
from tests.sweep.stubs import attempts, done_file, journal, launch, starts, sweep


def test_runs_start_seed_by_seed_over_the_methods_and_once(machines: Fleet, tmp_path: Path) -> None:
    planned = sweep(tmp_path, ["a", "b", "c"], 2)
    code, out, store = launch(planned, machines, "", max_concurrent=1)
    assert code == 0
    expected = [f"m-t/{method}/seed_{seed}" for seed in (0, 1) for method in "abc"]
    assert starts(tmp_path) == expected
    assert "6/6 runs done, 0 running" in out
    assert {run_state.state for run_state in store.read_states().values()} == {"done"}
    code, out, _ = launch(planned, machines, "", max_concurrent=1)
    assert code == 0
    assert "6 runs, 6 of them done before" in out
    assert starts(tmp_path) == expected  # nothing was done twice


def test_no_more_than_max_concurrent_run_at_once(machines: Fleet, tmp_path: Path) -> None:
    body = "time.sleep(0.3)"
    code, _, _ = launch(sweep(tmp_path, ["a"], 5, cpus=0), machines, body, max_concurrent=2)
    assert code == 0
    depth = most = 0
    for line in journal(tmp_path):
        depth += 1 if line.startswith("start") else -1
        most = max(most, depth)
    assert most == 2


def test_a_failed_run_is_tried_again_with_growing_waits_and_stays_visible(machines: Fleet, tmp_path: Path) -> None:
    def body(run: Run) -> str:
        return "leave(1, 'failed at step 1/2: no luck')" if run.method == "bad" else ""

    code, out, store = launch(sweep(tmp_path, ["bad", "good"], 1), machines, body, retries=2, backoff=0.4)
    assert code == 1
    lines = [line for line in attempts(tmp_path) if "bad" in str(line["run"])]
    assert [(line["attempt"], line["code"], line["then"]) for line in lines] == [
        (1, 1, "waiting"),
        (2, 1, "waiting"),
        (3, 1, "failed"),
    ]
    waits = [float(str(b["started"])) - float(str(a["started"])) for a, b in itertools.pairwise(lines)]
    assert 0.4 <= waits[0] < waits[1]
    assert waits[1] >= 0.8
    assert "m-t/bad/seed_0: failed: failed at step 1/2: no luck" in out
    run_states = {Path(key).parts[-2]: run_state for key, run_state in store.read_states().items()}
    assert (run_states["bad"].state, run_states["bad"].attempts, run_states["good"].state) == ("failed", 3, "done")


def test_a_refused_run_is_not_tried_again_and_others_go_on(machines: Fleet, tmp_path: Path) -> None:
    def body(run: Run) -> str:
        return "leave(2, 'record is full')" if run.method == "bad" else ""

    code, out, _ = launch(sweep(tmp_path, ["bad", "good"], 2), machines, body, retries=3)
    assert code == 1
    assert len(starts(tmp_path)) == 4
    assert "m-t/bad/seed_1: refused: record is full" in out
    assert "2/4 runs done, 0 running, 2 failed" in out


def test_a_broken_status_of_one_run_does_not_end_the_others(machines: Fleet, tmp_path: Path) -> None:
    body = """
where = os.path.join(folder, name)
os.makedirs(where)
open(os.path.join(where, "status.json"), "w").write('{"state": "running", "step": null, "steps": 1}')
time.sleep(3)
"""
    code, out, _ = launch(sweep(tmp_path, ["a"], 1), machines, body)
    assert code == 0, out


def test_an_exit_code_of_0_without_a_finished_record_is_a_failure(machines: Fleet, tmp_path: Path) -> None:
    code, out, _ = launch(sweep(tmp_path, ["a"], 1), machines, "sys.exit(0)", retries=0)
    assert code == 1
    assert "ended without an error, but no end was noted" in out


def test_fail_fast_ends_the_running_ones(machines: Fleet, tmp_path: Path) -> None:
    def body(run: Run) -> str:
        return "time.sleep(0.5); sys.exit(1)" if run.method == "bad" else "time.sleep(60)"

    begin = time.monotonic()
    planned = sweep(tmp_path, ["slow", "bad", "never"], 1, cpus=0)
    code, out, store = launch(planned, machines, body, max_concurrent=2, retries=0, fail_fast=True)
    assert code == 1
    assert time.monotonic() - begin < 20
    assert "fail_fast: a run has failed for good" in out
    states = {Path(key).parts[-2]: run_state.state for key, run_state in store.read_states().items()}
    assert states == {"slow": "interrupted", "bad": "failed", "never": "waiting"}
    assert not any("never" in line for line in journal(tmp_path))


def test_a_run_that_takes_too_long_is_ended(machines: Fleet, tmp_path: Path) -> None:
    code, out, _ = launch(sweep(tmp_path, ["a"], 1), machines, "time.sleep(60)", timeout=1, retries=0)
    assert code == 1
    assert "took longer than launcher.timeout=1 s" in out


@pytest.mark.parametrize("first", ["os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(130)", "sys.exit(1)"])
def test_a_killed_run_is_run_again_and_the_others_are_not(machines: Fleet, tmp_path: Path, first: str) -> None:
    def body(run: Run) -> str:
        return f"""
if name.startswith("m-t/b/") and open(os.path.join(folder, "journal")).read().count("start " + name) == 1:
    {first}
"""

    code, _, _ = launch(sweep(tmp_path, ["a", "b"], 2), machines, body, max_concurrent=1)
    assert code == 0
    assert sorted(starts(tmp_path)) == [
        "m-t/a/seed_0",
        "m-t/a/seed_1",
        "m-t/b/seed_0",
        "m-t/b/seed_0",
        "m-t/b/seed_1",
        "m-t/b/seed_1",
    ]


def test_cancel_ends_in_order_and_the_next_launch_continues(machines: Fleet, tmp_path: Path) -> None:
    planned = sweep(tmp_path, ["a", "b"], 1)
    body = "time.sleep(0 if os.path.exists(os.path.join(folder, 'go')) or '/a/' in name else 60)"

    def cancel() -> None:
        while not any("start m-t/b" in line for line in journal(tmp_path)):
            time.sleep(0.05)
        (tmp_path / ".sweep" / "cancel").touch()

    thread = threading.Thread(target=cancel)
    thread.start()
    code, out, store = launch(planned, machines, body, max_concurrent=1)
    thread.join()
    assert code == 130
    assert "cancelled: ending 1 running runs\n" in out
    assert out.endswith("cancelled; the same command continues the sweep\n")
    states = {Path(key).parts[-2]: run_state.state for key, run_state in store.read_states().items()}
    assert states == {"a": "done", "b": "interrupted"}
    (tmp_path / "go").touch()
    code, _, _ = launch(planned, machines, body, max_concurrent=1)
    assert code == 0
    assert starts(tmp_path) == ["m-t/a/seed_0", "m-t/b/seed_0", "m-t/b/seed_0"]


def test_a_disk_that_refuses_the_sweeps_own_files_does_not_stop_the_runs(machines: Fleet, tmp_path: Path) -> None:
    planned = sweep(tmp_path, ["a"], 2)
    (tmp_path / ".sweep").mkdir()
    (tmp_path / ".sweep" / "attempts.jsonl").symlink_to("/dev/full")  # every write: no space left on the device
    code, out, _ = launch(planned, machines, "")
    assert code == 0
    assert all(done_file(tmp_path, run).exists() for run in planned.runs)
    assert "the sweep's own files are incomplete" in out
    assert "attempts.jsonl: No space left on device (ENOSPC)" in out


def test_gpus_are_those_of_the_allocation_and_none_without(machines: Fleet, tmp_path: Path) -> None:
    body = (
        "print('devices', os.environ.get('CUDA_VISIBLE_DEVICES'), 'ray', [k for k in os.environ if k[:5] == 'RAY_A'])"
    )
    code, _, store = launch(sweep(tmp_path, ["a"], 1), machines, body)
    assert code == 0
    assert (store.path / "logs" / "m-t--a--seed_0.log").read_text() == "devices None ray []\n"


def test_a_run_that_fits_nowhere_is_refused_before_anything_starts(machines: Fleet, tmp_path: Path) -> None:
    planned = sweep(tmp_path, ["a"], 1, gpus=64, cpus=2)
    with pytest.raises(ConfigError, match="needs 64 GPUs and 2 CPUs on one machine, but the largest of this machine"):
        check_capacity(planned, machines, LaunchOptions())
    fits = sweep(tmp_path, ["a"], 1, cpus=machines.largest()[1])
    assert check_capacity(fits, machines, LaunchOptions()) == 1
    many = sweep(tmp_path, ["a"], 1, cpus=0.01)
    assert check_capacity(many, machines, LaunchOptions(max_concurrent=3)) == 3
