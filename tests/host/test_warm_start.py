"""Warm runs equal cold ones, leave nothing behind, and let the server stay as it was."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.start.owner import SWITCH, WorkerServer
from tests.host.training import Finished, finish, lines_so_far, start, train, untimed, wait_for

STEPS = ("trainer.total_training_steps=2", "trainer.save_freq=1", "wandb.mode=disabled")
UNIFORM = "default/tiny-toy3/uniform/seed_0"


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder for everything temporary, with a short path: sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="dfxt-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[WorkerServer]:
    """A worker server of this test alone."""
    host = cpu_environment([])
    assert host is not None
    served = WorkerServer(host)
    yield served
    served.stop()


def same(a: Finished, b: Finished) -> bool:
    """Whether two runs have the same numbers, evaluation and prompts."""
    return (
        [untimed(line) for line in a.metrics] == [untimed(line) for line in b.metrics]
        and a.json("eval.json") == b.json("eval.json")
        and a.json("manifest.json")["prompt_stream_digest"] == b.json("manifest.json")["prompt_stream_digest"]
    )


@pytest.mark.slow
def test_warm_equals_cold_also_after_another_seed(
    tmp_path: Path, server: WorkerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.host.training.served", lambda: server.environment)
    other = train(tmp_path / "warm", UNIFORM.replace("seed_0", "seed_1"), "seed=1", *STEPS)
    warm = train(tmp_path / "warm", UNIFORM, *STEPS)
    monkeypatch.setattr("tests.host.training.served", lambda: {SWITCH: "off"})
    cold = train(tmp_path / "cold", UNIFORM, *STEPS)
    assert (other.code, warm.code, cold.code) == (0, 0, 0), warm.out + cold.out
    assert same(warm, cold)
    assert not same(warm, other)


@pytest.mark.slow
def test_a_run_goes_on_when_the_server_is_killed_and_the_next_starts_cold(
    tmp_path: Path, server: WorkerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.host.training.served", lambda: server.environment)
    process = start(tmp_path, "trainer.total_training_steps=6", *STEPS[1:])
    wait_for(lambda: len(lines_so_far(tmp_path / UNIFORM)) >= 1, process)
    os.kill(server.pid, signal.SIGKILL)
    survivor = finish(process, tmp_path / UNIFORM)
    assert survivor.code == 0, survivor.out
    assert len(survivor.lines) == 6
    after = train(tmp_path, "next/tiny-toy3/uniform/seed_0", "sweep=next", *STEPS)
    assert after.code == 0, after.out
    assert untimed(after.metrics[0]) == untimed(survivor.metrics[0])  # its second step is its last, and evaluated


@pytest.mark.slow
def test_twenty_warm_runs_leave_nothing(
    tmp_path: Path, room: Path, server: WorkerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.host.training.served", lambda: server.environment | {"TMPDIR": str(room)})

    def run(number: int) -> None:
        record = f"r{number}/tiny-toy3/uniform/seed_0"
        done = train(tmp_path, record, f"sweep=r{number}", "trainer.total_training_steps=1", "wandb.mode=disabled")
        assert done.code == 0, done.out

    def around() -> tuple[set[str], set[str], set[str], int]:
        """Shared memory, temporary files, sockets and processes there are."""
        children = psutil.Process(server.pid).children(recursive=True)
        alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
        sockets = {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if str(room) in line}
        return set(os.listdir("/dev/shm")), set(os.listdir(room)), sockets, len(alive)

    run(0)
    before, memory = around(), psutil.Process(server.pid).memory_info().rss
    for number in range(1, 21):
        run(number)
    assert around() == before
    assert before[1:] == (set(), set(), 0)
    assert psutil.Process(server.pid).memory_info().rss < memory + 8 * 1024**2
