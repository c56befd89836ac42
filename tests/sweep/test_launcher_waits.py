"""What the launcher waits for: records in use, lost machines, its own backoff, a cancel at the start."""

from __future__ import annotations

import io
import itertools
import sys
from pathlib import Path

import pytest

from dataflex_rl.sweep.fleet import Fleet
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.launcher import Launcher
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.store import Store
from dataflex_rl.sweep.view import View
from tests.sweep.stubs import attempts, check, command, launch, starts, sweep


def test_a_run_whose_record_is_in_use_waits_for_it_without_failing(machines: Fleet, tmp_path: Path) -> None:
    body = """
if open(os.path.join(folder, "journal")).read().count("start") < 3:
    leave(3, "run record x is in use by process 4 on gone")
"""
    code, out, store = launch(sweep(tmp_path, ["a"], 1), machines, body, retries=0, lost_retries=2, backoff=0.3)
    assert code == 0
    assert "attempt 1 at m-t/a/seed_0 ended: run record x is in use by process 4 on gone; again in 0 s" in out
    (run_state,) = store.read_states().values()
    assert (run_state.state, run_state.attempts, run_state.failures, run_state.losses) == ("done", 3, 0, 2)
    lines = attempts(tmp_path)
    assert [(line["code"], line["then"]) for line in lines] == [(3, "waiting"), (3, "waiting"), (0, "done")]
    waits = [float(str(b["started"])) - float(str(a["started"])) for a, b in itertools.pairwise(lines)]
    assert waits[0] >= 0.3
    assert waits[1] >= 0.6


def test_a_lost_run_is_done_by_another_process_though_its_lock_says_another_machine(
    machines: Fleet, tmp_path: Path
) -> None:
    """The run locks its record as one elsewhere does and dies with its worker; the next one watches and takes it."""
    body = f"""
sys.path[:0] = {sys.path!r}
from pathlib import Path
from dataflex_rl.record import RunRecord, lock, lockfile, owner
lock.SILENT = 1.0
if not os.path.exists(os.path.join(folder, "first")):
    lockfile.host_id = lock.host_id = lambda: "a machine that will be gone"
    owner.acquire(RunRecord(Path(folder, name)))
    open(os.path.join(folder, "first"), "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
owner.acquire(RunRecord(Path(folder, name)))
"""
    code, out, store = launch(sweep(tmp_path, ["a"], 1), machines, body, retries=0, lost_retries=1)
    assert code == 0, out
    assert "attempt 1 at m-t/a/seed_0 ended: lost: " in out
    (run_state,) = store.read_states().values()
    assert (run_state.state, run_state.attempts, run_state.failures, run_state.losses) == ("done", 2, 0, 1)


@pytest.mark.parametrize(
    ("backoff", "times", "wait"),
    # 10 x 2^3; 10 x 2^6 = 640 is above ten minutes; a first wait above ten minutes stays; nothing doubled is nothing
    [(10.0, 1, 10), (10.0, 4, 80), (10.0, 7, 600), (10.0, 5000, 600), (900.0, 3, 900), (0.0, 5000, 0)],
)
def test_waits_double_up_to_ten_minutes(
    machines: Fleet, tmp_path: Path, backoff: float, times: int, wait: float
) -> None:
    planned, store = sweep(tmp_path, ["a"], 1), Store(tmp_path).create()
    launcher = Launcher(planned, store, machines, LaunchOptions(backoff=backoff), View(live=False), environment={})
    assert launcher._wait(times) == wait


def test_a_cancel_before_the_first_run_starts_nothing(machines: Fleet, tmp_path: Path) -> None:
    planned, store, out = sweep(tmp_path, ["a"], 2), Store(tmp_path).create(), io.StringIO()
    with held(store.lock) as lock, View(file=out, live=False) as view:
        store.cancel.touch()  # asked for while the launcher started Ray
        launcher = Launcher(
            planned,
            store,
            machines,
            LaunchOptions(),
            view,
            environment={},
            command=command(tmp_path, ""),
            check=check(tmp_path),
        )
        assert launcher.launch(lock, Interrupt()) == 130
    assert "cancelled; the same command continues the sweep" in out.getvalue()
    assert starts(tmp_path) == []
