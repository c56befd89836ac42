"""What a plan says of time: runs at once on this machine, and how long all take."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dataflex_rl.sweep import requests
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.plan import Sweep
from tests.sweep.stubs import sweep


@pytest.mark.parametrize(
    ("cores", "cpus", "limit", "seconds", "expected"),
    [
        (2, 0.6, None, 78.0, (3, 104.0)),  # 2 / .6 = 3.3 at once; 4 runs x 78 s / 3
        (2, 2.0, None, 60.0, (1, 240.0)),
        (1, 2.0, None, 60.0, (1, 240.0)),  # what does not fit still runs, alone
        (16, 1.0, None, 60.0, (4, 60.0)),  # no more at once than there are runs
        (16, 1.0, 2, 60.0, (2, 120.0)),
        (2, 1.0, None, None, (2, None)),
    ],
)
def test_runs_at_once_and_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int, cpus: float, limit: int | None, seconds: float | None,
    expected: tuple[int, float | None],
) -> None:  # fmt: skip
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    plain: Sweep = sweep(tmp_path, ["a", "b"], 2)
    runs = tuple(replace(run, gpus=0.0, cpus=cpus, seconds=seconds) for run in plain.runs)
    found = requests._here(replace(plain, runs=runs), replace(LaunchOptions(), max_concurrent=limit))
    assert (found["at_once_here"], found["seconds_here"]) == expected


def test_a_gpu_run_and_a_cluster_say_nothing_of_this_machine(tmp_path: Path) -> None:
    plain: Sweep = sweep(tmp_path, ["a"], 1)
    on_gpu = replace(plain, runs=tuple(replace(run, gpus=1.0) for run in plain.runs))
    assert requests._here(on_gpu, LaunchOptions())["at_once_here"] is None
    assert requests._here(plain, replace(LaunchOptions(), address="auto"))["at_once_here"] is None
