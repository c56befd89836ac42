"""Two runs at once on one machine do not share a queue.

TransferQueue's controller is an actor with a fixed name: whoever comes second in one Ray cluster joins it. Two runs
start at once; each does what verl does (`ray.init` without an address), then finds or makes an actor of that name and
puts its own name in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import ray

from dataflex_rl.runtime.task import Job
from dataflex_rl.sweep.fleet import Fleet

NAMES = ("one", "two")
SIZE = '{"num_cpus": 1, "include_dashboard": false, "object_store_memory": 83886080}'
RUN = """
import json, os, sys, time, ray
folder, name, options = sys.argv[1:]
ray.init(log_to_driver=False, **json.loads(options))
class Queue:
    def __init__(self):
        self.names = []
    def put(self, name):
        self.names.append(name)
        return self.names
fixed = {"name": "TransferQueueController", "namespace": "transfer_queue", "lifetime": "detached"}
queue = ray.remote(num_cpus=0)(Queue).options(get_if_exists=True, **fixed).remote()
ray.get(queue.put.remote(name))
open(os.path.join(folder, "in-" + name), "w").close()
deadline = time.monotonic() + 60
while len([n for n in os.listdir(folder) if n.startswith("in-")]) < 2 and time.monotonic() < deadline:
    time.sleep(0.1)
print("holds", *ray.get(queue.put.remote(name)))
"""


def held(folder: Path) -> list[list[str]]:
    """Return the names that each run found in its queue."""
    lines = [(folder / f"log-{name}").read_text().splitlines() for name in NAMES]
    return [next(line.split()[1:] for line in text if line.startswith("holds")) for text in lines]


def test_two_runs_at_once_have_queues_of_their_own(machines: Fleet, tmp_path: Path) -> None:
    waiting: Sequence[Any] = [
        machines.submit(
            Job(command=[sys.executable, "-c", RUN, str(tmp_path), name, SIZE], log=str(tmp_path / f"log-{name}")),
            gpus=0,
            cpus=0.5,
        )
        for name in NAMES
    ]
    while waiting:
        for handle, outcome in machines.wait(waiting, 1.0):
            assert outcome.code == 0, outcome.error
            waiting = [other for other in waiting if other is not handle]
    assert held(tmp_path) == [["one", "one"], ["two", "two"]]


@pytest.mark.slow
def test_in_one_ray_cluster_they_would_share_it(machines: Fleet, tmp_path: Path) -> None:
    """What the first test would see if the way into the outer Ray were left open."""
    environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    processes = []
    for name in NAMES:
        with (tmp_path / f"log-{name}").open("w") as log:
            command = [sys.executable, "-c", RUN, str(tmp_path), name, "{}"]
            processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT))
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert [set(names) for names in held(tmp_path)] == [{"one", "two"}] * 2
