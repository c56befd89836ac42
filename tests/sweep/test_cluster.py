"""Sweeps on simulated clusters: several raylets on this machine, with logical GPUs."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.__main__ import main
from dataflex_rl.sweep.commands import check_capacity
from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.options import LaunchOptions
from tests.sweep.stubs import done_file, journal, launch, sweep


@pytest.fixture
def cluster() -> Iterator[Callable[[int], tuple[Cluster, list[Any]]]]:
    """A maker of clusters of so many nodes with 8 logical GPUs and one CPU each."""
    made: list[Cluster] = []

    def make(nodes: int) -> tuple[Cluster, list[Any]]:
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        made.append(found)
        return found, [found.add_node(num_cpus=1, num_gpus=8) for _ in range(nodes)]

    yield make
    for found in made:
        found.shutdown()


@pytest.fixture(autouse=True)
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small raylets."""
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@pytest.mark.slow
def test_what_fits_nowhere_is_refused_and_a_lost_machine_is_survived(
    cluster: Callable[[int], tuple[Cluster, list[Any]]], tmp_path: Path
) -> None:
    machines, nodes = cluster(2)
    fleet = Fleet(machines.address)
    try:
        assert fleet.slots(gpus=8, cpus=1) == 2
        assert fleet.slots(gpus=4, cpus=0.5) == 4
        too_big = sweep(tmp_path, ["a"], 1, gpus=16, cpus=1)
        with pytest.raises(ConfigError, match="needs 16 GPUs and 1 CPUs on one machine, but the largest"):
            check_capacity(too_big, fleet, LaunchOptions(address=machines.address))
        planned = sweep(tmp_path, ["a", "b"], 3, gpus=8, cpus=1)
        assert check_capacity(planned, fleet, LaunchOptions(address=machines.address)) == 2

        def lose() -> None:
            while not any(line.startswith("end") for line in journal(tmp_path)):
                time.sleep(0.05)
            time.sleep(1.5)  # both machines are in the middle of their second run
            machines.remove_node(nodes[1], allow_graceful=False)

        thread = threading.Thread(target=lose)
        thread.start()
        body = "print('devices', os.environ['CUDA_VISIBLE_DEVICES']); time.sleep(3)"
        code, out, store = launch(planned, fleet, body)
        thread.join()
        assert code == 0, out
        assert all(done_file(tmp_path, run).exists() for run in planned.runs)
        assert "lost: " in out
        run_states = store.read_states().values()
        assert sum(run_state.losses for run_state in run_states) >= 1
        assert sum(run_state.failures for run_state in run_states) == 0
        log = (store.path / "logs" / "m-t--a--seed_0.log").read_text()
        assert log.split()[:2] == ["devices", "0,1,2,3,4,5,6,7"]
    finally:
        fleet.close()


@pytest.mark.slow
def test_a_plan_for_a_cluster_is_checked_against_it(
    cluster: Callable[[int], tuple[Cluster, list[Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machines, _ = cluster(1)
    line = ["plan", "smoke_cpu", "method=uniform", "seed=0", f"runs_dir={tmp_path}", f"ray.address={machines.address}"]
    assert main([*line, "launcher.gpus=8", "launcher.cpus=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resources"]["max_concurrent"] == 1
    assert main([*line, "launcher.gpus=9", "launcher.cpus=1"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert (
        f"needs 9 GPUs and 1 CPUs on one machine, but the largest of the cluster at {machines.address} has 8" in error
    )


@pytest.mark.slow
def test_156_runs_pack_to_95_percent_of_the_ideal(
    cluster: Callable[[int], tuple[Cluster, list[Any]]], tmp_path: Path
) -> None:
    """64 GPUs on 8 machines, 8 GPUs a run: 156 runs of 6 s take at least ceil(156 / 8) x 6 s = 120 s."""
    machines, _ = cluster(8)
    fleet = Fleet(machines.address)
    try:
        planned = sweep(tmp_path, [f"m{n}" for n in range(13)], 12, gpus=8, cpus=1)
        warm = sweep(tmp_path / "warm", ["w"], 8, gpus=8, cpus=1)
        (tmp_path / "warm").mkdir()
        assert launch(warm, fleet, "")[0] == 0  # worker processes are started
        begin = time.monotonic()
        code, _, _ = launch(planned, fleet, "time.sleep(6)")
        took = time.monotonic() - begin
    finally:
        fleet.close()
    assert code == 0
    print(f"{took:.1f} s on {os.cpu_count()} cores, {120 / took:.1%} of the ideal")
    assert 120 / took >= 0.95
    finished = [line.split("/")[-1] for line in journal(tmp_path) if line.startswith("end")]
    pairs_early = max(int(name.removeprefix("seed_")) for name in finished[: 6 * 13])
    assert pairs_early <= 6  # when half the runs are done, no seed beyond the seventh has begun to end
