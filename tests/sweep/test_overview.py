"""Where a sweep stands, from records and from what the launcher noted."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dataflex_rl.record import RunRecord, Status, update_status, write_json
from dataflex_rl.sweep.commands import show_status, standing_of
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.overview import overview, state_now
from dataflex_rl.sweep.store import RunState, Store
from dataflex_rl.sweep.view import View, ranges, span, summary_of, table_of


def entry(method: str, seed: int, steps: int = 10) -> dict[str, Any]:
    return {"method": method, "seed": seed, "run_dir": f"/r/{method}/{seed}", "steps": steps}


RUNS = [entry(method, seed) for seed in (0, 1, 2) for method in ("a", "b")]


def test_counts_means_and_time_left() -> None:
    run_states = {
        "/r/a/0": RunState(state="done", seconds=100.0, score=0.5),
        "/r/b/0": RunState(state="done", seconds=200.0, score=0.25),
        "/r/a/1": RunState(state="running", started=960.0),
        "/r/b/1": RunState(state="failed", error="no luck"),
        "/r/a/2": RunState(),
        "/r/b/2": RunState(),
    }
    statuses = {"/r/a/1": Status(state="running", step=4, steps=10)}
    found = overview(RUNS, run_states, statuses, slots=1, now=1000.0)
    a, b = found.lines
    assert (a.done, a.running, a.waiting, a.failed, a.step, a.score) == (1, 1, 1, 0, (4, 4), 0.5)
    assert (b.done, b.running, b.waiting, b.failed, b.step, b.score) == (1, 0, 1, 1, None, 0.25)
    assert found.problems == ("r/b/1: failed: no luck",)
    # a takes (100 + 40 x 10 / 4) / 2 = 100 s, so a/1 ends after 60 s, then a/2 after 160 s, then b/2 after 360 s
    assert (a.left, b.left, found.left) == (160.0, 360.0, 360.0)
    two = overview(RUNS, run_states, statuses, slots=2, now=1000.0)
    # on two places: a/2 from now to 100 s, b/2 from 60 s (where a/1 ends) to 260 s
    assert (two.lines[0].left, two.left) == (100.0, 260.0)


def test_nothing_known_is_said_as_nothing_known() -> None:
    found = overview(RUNS, {}, {}, slots=4, now=0.0)
    assert (found.waiting, found.left, found.lines[0].score) == (6, None, None)
    assert summary_of(found) == "0/6 runs done, 0 running, 6 waiting, left ?"
    done = overview(RUNS, {run["run_dir"]: RunState(state="done") for run in RUNS}, {}, slots=1, now=0.0)
    assert summary_of(done) == "6/6 runs done, 0 running"


@pytest.mark.parametrize(
    ("run_state", "status", "alive", "state"),
    [
        ("running", "running", True, "running"),
        ("running", "running", False, "interrupted"),  # its launcher was killed
        ("running", "done", False, "done"),
        ("waiting", "failed", False, "failed"),
        ("waiting", "failed", True, "waiting"),  # to be tried again
        ("failed", "running", True, "failed"),
        ("waiting", "pending", True, "waiting"),
    ],
)
def test_the_record_and_the_launcher_are_joined(run_state: str, status: str, alive: bool, state: str) -> None:
    assert state_now(RunState(state=run_state), Status(state=status), launcher_alive=alive).state == state


@pytest.mark.parametrize(
    ("held", "launcher", "state"), [(False, False, "dead"), (True, False, "running"), (False, True, "running")]
)
def test_a_running_record_that_no_process_holds_is_dead(held: bool, launcher: bool, state: str) -> None:
    status = Status(state="running", pid=7, host="here", step=3)
    found = state_now(RunState(state="running"), status, launcher_alive=launcher, held=held)
    assert found.state == state
    assert found.error == ("process 7 on here ended without a word after step 3" if state == "dead" else None)


def test_status_names_a_dead_run_and_counts_it_as_waiting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = launched(tmp_path / "big", 4)  # done, running, failed, pending: no process holds any
    assert show_status(store, as_json=False) == 0
    text = capsys.readouterr().out
    assert "method1/seed_0: dead: process None on ? ended without a word after step 3" in text
    assert "1/4 runs done, 0 running, 2 waiting, 1 failed" in text
    child = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path / "big" / "m-t" / "method1" / "seed_0")],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    standing = standing_of(store)[0]
    child.kill()
    child.wait()
    assert (standing.running, standing.problems) == (1, standing_of(store)[0].problems[1:])


_HOLD = """
import sys, time
from pathlib import Path
from dataflex_rl.record import RunRecord
from dataflex_rl.record.owner import acquire
held = acquire(RunRecord(Path(sys.argv[1])))
print("held", flush=True)
time.sleep(60)
"""


def test_plain_lines_where_there_is_no_terminal() -> None:
    out, clock = io.StringIO(), [0.0]
    view = View(file=out, live=False, every=60.0, clock=lambda: clock[0])
    found = overview(RUNS, {}, {}, slots=1, now=0.0)
    with view:
        for clock[0] in (10.0, 59.0, 60.0, 61.0, 125.0):
            view.update(found)
        view.event("done: a")
    assert out.getvalue().splitlines() == [summary_of(found)] * 2 + ["done: a"]


def test_a_table_on_a_terminal_and_words() -> None:
    table = table_of(overview(RUNS, {"/r/a/0": RunState(state="done", score=0.5)}, {}, slots=1, now=0.0))
    assert table.row_count == 2
    assert [str(cell) for cell in table.columns[6].cells] == ["50.00", "-"]
    assert [span(s) for s in (None, 9, 3661, 90000)] == ["?", "0:09", "1:01:01", "1d 01:00:00"]
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"


def launched(folder: Path, count: int) -> Store:
    """Write a launched sweep of many records that have a status only."""
    store = Store(folder).create()
    runs = []
    for n in range(count):
        path = folder / "m-t" / f"method{n % 13}" / f"seed_{n // 13}"
        path.mkdir(parents=True)
        state = ("done", "running", "failed", "pending")[n % 4]
        status = {"schema": 1, "state": state, "step": 3, "steps": 10, "attempts": 1}
        (path / "status.json").write_text(json.dumps(status))
        runs.append({"method": f"method{n % 13}", "seed": n // 13, "run_dir": str(path), "steps": 10})
    write_json(store.path / "plan.json", {"sweep": "big", "runs": runs})
    return store


def test_status_on_2000_records_answers_within_a_second(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = launched(tmp_path / "big", 2000)
    best = float("inf")
    for _ in range(3):  # the machine is shared
        begin = time.monotonic()
        assert show_status(store, as_json=True) == 0
        best = min(best, time.monotonic() - begin)
        value = json.loads(capsys.readouterr().out)
    assert (value["total"], value["done"], value["running"], value["failed"]) == (2000, 500, 0, 500)
    assert value["launcher_alive"] is False
    assert best < 1.0


def test_status_says_whether_a_launcher_lives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = launched(tmp_path / "small", 4)
    assert show_status(store, as_json=False) == 0
    assert "no launcher is at work" in capsys.readouterr().out
    with held(store.lock):
        standing, alive, _ = standing_of(store)
        assert alive
        assert (standing.done, standing.running) == (1, 1)
    record = RunRecord(Path(store.read_plan()["runs"][1]["run_dir"]))
    update_status(record, state="done")
    assert standing_of(store)[0].done == 2
