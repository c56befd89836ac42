"""The process that compares formulas: interrupted, forked, in a hostile folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflex_rl.rewards.symbolic import Comparer


@pytest.fixture
def comparer() -> Iterator[Comparer]:
    made = Comparer(cpu_seconds=1)
    yield made
    made.close()


def test_an_interrupted_comparison_leaves_no_answer_for_the_next_one(comparer: Comparer) -> None:
    def interrupt(*_: object) -> None:
        raise TimeoutError

    assert not comparer.equal("x+1", "x+2")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(TimeoutError):  # noqa: PT012 - the alarm rings within one of them
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            for power in range(2, 10_000):
                comparer.equal(f"(x+1)^{power}", f"(x+1)^{power}-x+x")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not comparer.equal("x+1", "x+2")
    assert comparer.equal("x+x", "2x")


def test_a_fork_starts_a_worker_of_its_own(comparer: Comparer) -> None:
    assert comparer.equal("x+x", "2x")
    child = os.fork()
    if child == 0:
        right = comparer.equal("x+x", "2x") and not comparer.equal("x", "2x")
        comparer.close()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert comparer.equal("x+x", "2x")
    assert not comparer.equal("x", "2x")


def test_modules_of_the_current_folder_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    command = "from dataflex_rl.rewards.math import is_equal; print(is_equal('x+x', '2x'))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "True"
