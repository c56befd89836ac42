"""Broken files of a sweep's own folder, and folders that cannot be had: one line each, exit code 2."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import UnreadableError
from dataflex_rl.sweep.__main__ import main
from dataflex_rl.sweep.lock import held
from dataflex_rl.sweep.store import RunState, Store
from tests.record.faults import refused as refused_path
from tests.record.faults import tree
from tests.sweep.stubs import HOLD, sweep


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The folder of a launched sweep of two runs."""
    found = Store(tmp_path / "mine", every=0.0).create()
    found.write_plan(sweep(tmp_path / "mine", ["a", "b"], 1))
    found.write_states({"x": RunState()})
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error


@pytest.mark.parametrize("command", ["status", "audit", "cancel"])
@pytest.mark.parametrize("content", ['{"sweep": "mine", "ru', "", "[]", "{}", '{"sweep": "x", "runs": [{"seed": 1}]}'])
def test_a_broken_plan_is_named_with_what_to_do(
    store: Store, command: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (store.path / "plan.json").write_text(content)
    error = refused(capsys, command, str(store.path.parent))
    assert f"sweep {store.path.parent}: .sweep/plan.json is broken (" in error
    assert "remove it: launch writes it anew" in error
    with pytest.raises(ConfigError, match=r"plan\.json is broken"):
        store.write_plan(sweep(store.path.parent, ["a"], 1))
    (store.path / "plan.json").unlink()
    store.write_plan(sweep(store.path.parent, ["a"], 1))
    assert len(store.read_plan()["runs"]) == 1


@pytest.mark.parametrize("content", ['{"x": {"state": "do', "[]", '{"x": {"stat": "done"}}', '{"x": 1}'])
def test_a_broken_state_is_named_with_what_to_do(
    store: Store, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (store.path / "state.json").write_text(content)
    assert ".sweep/state.json is broken (" in refused(capsys, "status", str(store.path.parent))
    (store.path / "state.json").unlink()
    assert main(["status", str(store.path.parent)]) == 0


def test_a_torn_line_of_attempts_ends_before_the_next(store: Store) -> None:
    path = store.path / "attempts.jsonl"
    store.add_attempt(run="a", attempt=1)
    with path.open("a") as file:
        file.write('{"run": "b", "att')
    store.add_attempt(run="c", attempt=1)
    lines = path.read_text().splitlines()
    assert [lines[0], lines[2]] == [json.dumps({"run": run, "attempt": 1}) for run in "ac"]
    assert store.problem is None


def test_broken_results_of_an_audit_are_written_anew(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ledger.json", "audit.json"):
        (store.path / name).write_text('{"a')
    assert main(["audit", str(store.path.parent)]) == 1
    assert "pair audit: nothing to compare: two methods are finished at no seed" in capsys.readouterr().out
    assert json.loads((store.path / "ledger.json").read_text())["a"]["runs"] == 0


def test_a_second_launcher_is_refused(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(store.lock)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    line = ["launch", "smoke_cpu", "method=uniform", "seed=0", "new_sweep=mine", f"runs_dir={tmp_path}"]
    assert f"is being launched by process {other.pid} on" in refused(capsys, *line)
    other.kill()
    other.communicate()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9", "no Ray cluster there (Connection refused)"),
        ("nosuch.invalid:6379", "no Ray cluster there ("),
        ("localhost:x", "expected HOST:PORT or auto"),
    ],
)
def test_an_address_without_a_cluster_is_refused_at_once(
    tmp_path: Path, address: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = time.monotonic()
    line = ["plan", "smoke_cpu", "method=uniform", "seed=0", f"runs_dir={tmp_path}", f"ray.address={address}"]
    assert f"ray.address={address}: {said}" in refused(capsys, *line)
    assert time.monotonic() - begin < 60


def test_cancel_reaches_a_launcher_that_has_no_plan_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As while it starts Ray for the first launch."""
    store = Store(tmp_path / "mine").create()

    def obey() -> None:
        with held(store.lock):
            ready.set()
            while not store.cancel.exists():
                time.sleep(0.02)

    ready = threading.Event()
    launcher = threading.Thread(target=obey)
    launcher.start()
    ready.wait()
    assert main(["cancel", str(store.path.parent)]) == 0
    launcher.join()
    assert "cancelled after" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["launch", "smoke_cpu", "method=uniform", "seed=0"]
    assert "runs_dir=" in refused(capsys, *line, "runs_dir=/proc/runs")
    (tmp_path / "smoke_cpu").write_text("a file where the folder should be")
    assert "cannot" in refused(capsys, *line, f"runs_dir={tmp_path}")
    (tmp_path / "smoke_cpu").unlink()
    (tmp_path / "smoke_cpu").mkdir()
    (tmp_path / "smoke_cpu/.sweep").symlink_to("/proc/self")  # a folder in which nothing can be made
    assert "cannot" in refused(capsys, *line, f"runs_dir={tmp_path}")


def test_a_later_plan_adds_to_an_earlier_one(store: Store) -> None:
    store.write_plan(sweep(store.path.parent, ["c"], 1))
    assert [run["method"] for run in store.read_plan()["runs"]] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["plan.json", "state.json"])
def test_a_file_that_cannot_be_read_is_not_called_broken(
    store: Store, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is told to remove what a disk refuses to show for a moment, and nothing is written over it."""
    before = tree(store.path)
    with refused_path(store.path / name, errno.ESTALE):
        error = refused(capsys, "status", str(store.path.parent))
        with pytest.raises(UnreadableError):
            store.read_plan() if name == "plan.json" else store.read_states()
        if name == "plan.json":
            with pytest.raises(UnreadableError):
                store.write_plan(sweep(store.path.parent, ["c"], 1))
    assert f"cannot read {store.path / name}: Stale file handle (ESTALE)" in error
    assert "remove" not in error
    assert tree(store.path) == before


def test_a_run_whose_status_cannot_be_read_is_named_not_forgotten(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = store.read_plan()["runs"][0]["run_dir"]
    store.write_states({run_dir: RunState(state="done", seconds=5.0)})
    Path(run_dir).mkdir(parents=True)
    with refused_path(Path(run_dir) / "status.json", errno.EIO):
        assert main(["status", str(store.path.parent)]) == 0
    printed = capsys.readouterr().out
    assert "1/2 runs done" in printed
    assert f"cannot read {run_dir}/status.json: Input/output error (EIO)" in printed
