"""The lock of a record: one process at a time, dead ones recovered."""

import json
import os
import signal
import time

import pytest

from dataflex_rl.record import RecordBusy, RecordError, RunRecord, holding, write_json
from dataflex_rl.record.lockfile import identity
from dataflex_rl.record.owner import acquire, holder_alive, supervisor_alive
from tests.record.holders import end, holder, start

HOLD = """
import sys, time
from pathlib import Path
from dataflex_rl.record.owner import acquire
from dataflex_rl.record import RunRecord
acquire(RunRecord(Path(sys.argv[1])))
print("held", flush=True)
time.sleep(60)
"""
JOIN = """
import sys, time
from pathlib import Path
from dataflex_rl.record import RunRecord
from dataflex_rl.record.owner import join
join(RunRecord(Path(sys.argv[1])))
print("joined", flush=True)
time.sleep(60)
"""
RACE = """
import sys, time
from pathlib import Path
from dataflex_rl.record import RecordBusy, RunRecord, holding
print("ready", flush=True)
sys.stdin.readline()
try:
    with holding(RunRecord(Path(sys.argv[1]))) as held:
        print("won", held.recovered, flush=True)
        time.sleep(2)
except RecordBusy:
    print("lost", flush=True)
"""


def test_a_live_process_keeps_others_out_and_a_dead_one_does_not(tmp_path):
    record = RunRecord(tmp_path / "run")
    child = start(HOLD, record.path)
    assert child.stdout.readline() == "held\n"
    assert holder_alive(record)
    with pytest.raises(RecordBusy, match=rf"run is in use by process {child.pid} on .* since .*; wait for it, or"):
        acquire(record)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, not yet reaped
    assert not holder_alive(record)
    with holding(record) as held:
        assert held.recovered
    end(child)


def test_release_leaves_the_record_free(tmp_path):
    record = RunRecord(tmp_path)
    with holding(record):
        assert holder_alive(record)
        with pytest.raises(RecordBusy):
            acquire(record)
    assert not holder_alive(record)
    with holding(record) as held:
        assert not held.recovered
    assert record.lock.read_bytes() == b""


def test_released_by_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="boom"), holding(RunRecord(tmp_path)):
        raise RuntimeError("boom")
    assert not holder_alive(RunRecord(tmp_path))


def test_one_wins_a_race_for_a_stale_lock(tmp_path):
    record = RunRecord(tmp_path)
    write_json(record.lock, holder())
    children = [start(RACE, tmp_path) for _ in range(4)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    outcomes = sorted(child.stdout.readline() for child in children)
    assert outcomes == ["lost\n", "lost\n", "lost\n", "won True\n"]
    for child in children:
        end(child)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": "a"}'])
def test_half_a_lock_holds_nothing(tmp_path, content):
    record = RunRecord(tmp_path)
    record.lock.write_text(content)
    assert not holder_alive(record)
    acquire(record).release()


def test_a_reused_pid_is_not_the_holder(tmp_path):
    record = RunRecord(tmp_path)
    me = identity(os.getpid())
    write_json(record.lock, holder(processes=[me]))
    assert holder_alive(record)
    write_json(record.lock, holder(processes=[me | {"start": me["start"] + 1}]))
    assert acquire(record).recovered


def test_the_clock_of_the_system_does_not_end_a_lock(tmp_path):
    """The start is the kernel's count since the boot, which no setting of the clock moves."""
    ticks = identity(os.getpid())["start"]
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    assert isinstance(ticks, int)
    with open("/proc/self/stat") as file:
        assert f" {ticks} " in file.read()
    assert 0 <= age < 24 * 3600


def test_a_child_that_outlives_its_parent_keeps_the_lock(tmp_path):
    record = RunRecord(tmp_path)
    child = start(RACE, tmp_path / "other")
    held = acquire(record)
    held.add_process(child.pid)
    now = json.loads(record.lock.read_text())
    now["processes"][0]["start"] -= 100  # as if this process had died
    write_json(record.lock, now)
    assert holder_alive(record)
    assert not supervisor_alive(record)
    end(child)
    assert not holder_alive(record)


def test_released_while_a_child_still_runs(tmp_path):
    record = RunRecord(tmp_path)
    child = start(RACE, tmp_path / "other")
    held = acquire(record)
    held.add_process(child.pid)
    assert supervisor_alive(record)
    held.release()
    assert holder_alive(record)
    assert not supervisor_alive(record)
    with pytest.raises(RecordBusy, match=rf"in use by process {child.pid} on"):
        acquire(record)
    end(child)
    acquire(record).release()
    assert record.lock.read_bytes() == b""


def test_joining_a_lock_from_within(tmp_path):
    record = RunRecord(tmp_path)
    child = start(JOIN, tmp_path)  # nobody holds it: nothing to join
    assert child.stdout.readline() == "joined\n"
    assert not holder_alive(record)
    end(child)
    held = acquire(record)
    joined = start(JOIN, tmp_path)
    assert joined.stdout.readline() == "joined\n"
    other = start(RACE, tmp_path / "other")
    held.add_process(other.pid)
    assert [process["pid"] for process in json.loads(record.lock.read_text())["processes"]] == [
        os.getpid(),
        joined.pid,
        other.pid,
    ]
    end(other)
    held.release()
    assert holder_alive(record)
    end(joined)
    assert not holder_alive(record)


def test_set_aside_moves_the_record_and_keeps_the_lock(tmp_path):
    record = RunRecord(tmp_path / "seed_0")
    with holding(record) as held:
        assert held.set_aside() is None
        for number in (1, 2):
            write_json(record.status, {"number": number})
            assert held.set_aside() == tmp_path / f"seed_0.old-{number}"
            assert holder_alive(record)
            with pytest.raises(RecordBusy):
                acquire(record)
            assert [entry.name for entry in record.path.iterdir()] == ["lock.json"]
    assert not holder_alive(record)
    for number in (1, 2):
        old = tmp_path / f"seed_0.old-{number}"
        assert [entry.name for entry in old.iterdir()] == ["status.json"]
        assert json.loads((old / "status.json").read_text()) == {"number": number}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["seed_0", "seed_0.old-1", "seed_0.old-2"]


def test_an_unusable_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot create .*/file/run: Not a directory \(ENOTDIR\)"):
        acquire(RunRecord(tmp_path / "file" / "run"))
