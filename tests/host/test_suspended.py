"""A machine that sleeps for two minutes, longer than a lock's heartbeat may be away, in the middle of training."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from dataflex_rl.runtime.outcome import Exit
from tests.host.training import finish, lines_so_far, start, wait_for

ASLEEP = 130.0  # [s]
STEPS, BEFORE = 12, 4
ARGUMENTS = (f"trainer.total_training_steps={STEPS}", "trainer.save_freq=5", "wandb.mode=disabled")
RECORD = "default/tiny-toy3/uniform/seed_0"


def belonging(process: subprocess.Popen[str]) -> list[int]:
    """The command and all it has started."""
    return [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]


@pytest.mark.slow
def test_no_step_is_lost_and_nobody_else_writes_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.host.training.served", dict)  # the command starts a server of its own, asleep with it
    process = start(tmp_path, *ARGUMENTS)
    wait_for(lambda: len(lines_so_far(tmp_path / RECORD)) >= BEFORE, process)
    asleep = belonging(process)
    for pid in asleep:
        os.kill(pid, signal.SIGSTOP)
    before = lines_so_far(tmp_path / RECORD)
    time.sleep(ASLEEP)
    assert lines_so_far(tmp_path / RECORD) == before
    second = start(tmp_path, *ARGUMENTS)
    time.sleep(5.0)
    for pid in asleep:
        os.kill(pid, signal.SIGCONT)
    run, refused = finish(process, tmp_path / RECORD), finish(second, tmp_path / RECORD)
    assert (run.code, refused.code) == (Exit.DONE, Exit.BUSY), run.out + refused.out
    assert "is in use by process" in refused.out
    assert [line["step"] for line in run.lines] == list(range(1, STEPS + 1))
    assert run.json("status.json")["attempts"] == 1
    assert lines_so_far(tmp_path / RECORD)[: len(before)] == before
