"""Claims: one process at a time, dead ones recovered."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dataflex_rl.record import RecordBusy, RecordError, RunRecord, claim, locks, write_json
from dataflex_rl.record.claim import holder_alive, supervisor_alive, take
from dataflex_rl.record.locks import identity, place

HOLD = """
import sys, time
from pathlib import Path
from dataflex_rl.record.claim import take
from dataflex_rl.record import RunRecord
take(RunRecord(Path(sys.argv[1])))
print("held", flush=True)
time.sleep(60)
"""
JOIN = """
import sys, time
from pathlib import Path
from dataflex_rl.record import RunRecord
from dataflex_rl.record.claim import join_claim
join_claim(RunRecord(Path(sys.argv[1])))
print("joined", flush=True)
time.sleep(60)
"""
RACE = """
import sys, time
from pathlib import Path
from dataflex_rl.record import RecordBusy, RunRecord, claim
print("ready", flush=True)
sys.stdin.readline()
try:
    with claim(RunRecord(Path(sys.argv[1]))) as held:
        print("won", held.recovered, flush=True)
        time.sleep(2)
except RecordBusy:
    print("lost", flush=True)
"""


# a machine with a place of its own, whose claimant and joined writer beat every 0.1 s
FAR = """
import subprocess, sys, time
from pathlib import Path
from dataflex_rl.record import RunRecord, claim, locks
claims = sys.modules["dataflex_rl.record.claim"]
locks.place = claims.place = lambda: "far"
claims.BEAT = 0.1
role, record = sys.argv[1], RunRecord(Path(sys.argv[2]))
if role == "claimant":
    held = claims.take(record)
    subprocess.Popen([sys.executable, "-c", sys.argv[3], "writer", sys.argv[2], ""])
else:
    claims.join_claim(record)
    print("joined", flush=True)
time.sleep(60)
"""


def holder(**changes):
    processes = [{"pid": 2**22 - 1, "start": 1}]
    return {"host": "h", "place": place(), "since": "noon", "token": "t", "processes": processes} | changes


def start(script, folder):
    command = [sys.executable, "-c", script, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(child):
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    child.stdin.close()


def test_a_live_process_keeps_others_out_and_a_dead_one_does_not(tmp_path):
    record = RunRecord(tmp_path / "run")
    child = start(HOLD, record.path)
    assert child.stdout.readline() == "held\n"
    assert holder_alive(record)
    with pytest.raises(RecordBusy, match=rf"run is in use by process {child.pid} on .* since .*; wait for it, or"):
        take(record)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, not yet reaped
    assert not holder_alive(record)
    with claim(record) as held:
        assert held.recovered
    end(child)


def test_release_leaves_the_record_free(tmp_path):
    record = RunRecord(tmp_path)
    with claim(record):
        assert holder_alive(record)
        with pytest.raises(RecordBusy):
            take(record)
    assert not holder_alive(record)
    with claim(record) as held:
        assert not held.recovered
    assert record.claim.read_bytes() == b""


def test_released_by_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="boom"), claim(RunRecord(tmp_path)):
        raise RuntimeError("boom")
    assert not holder_alive(RunRecord(tmp_path))


def test_one_wins_a_race_for_a_stale_claim(tmp_path):
    record = RunRecord(tmp_path)
    write_json(record.claim, holder())
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
def test_half_a_claim_holds_nothing(tmp_path, content):
    record = RunRecord(tmp_path)
    record.claim.write_text(content)
    assert not holder_alive(record)
    take(record).release()


def test_a_reused_pid_is_not_the_holder(tmp_path):
    record = RunRecord(tmp_path)
    me = identity(os.getpid())
    write_json(record.claim, holder(processes=[me]))
    assert holder_alive(record)
    write_json(record.claim, holder(processes=[me | {"start": me["start"] + 1}]))
    assert take(record).recovered


def test_the_clock_of_the_system_does_not_end_a_claim(tmp_path):
    """The start is the kernel's count since the boot, which no setting of the clock moves."""
    ticks = identity(os.getpid())["start"]
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    assert isinstance(ticks, int)
    with open("/proc/self/stat") as file:
        assert f" {ticks} " in file.read()
    assert 0 <= age < 24 * 3600


@pytest.fixture
def far(tmp_path):
    """A claim of a claimant and a writer on another machine."""
    claimant = subprocess.Popen(
        [sys.executable, "-c", FAR, "claimant", str(tmp_path), FAR], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert claimant.stdout.readline() == "joined\n"
    yield claimant
    os.killpg(claimant.pid, signal.SIGKILL) if claimant.poll() is None else None
    claimant.communicate()


def test_a_claim_of_another_machine_lasts_while_one_of_its_processes_beats(tmp_path, far, monkeypatch, capfd):
    monkeypatch.setattr(locks, "SILENT", 2.0)
    record = RunRecord(tmp_path)
    assert holder_alive(record)
    assert supervisor_alive(record)
    with pytest.raises(RecordBusy, match=rf"in use by process {far.pid}, \d+ on .* since"):
        take(record)
    assert "watching for a minute whether it lives" in capfd.readouterr().err
    far.send_signal(signal.SIGSTOP)  # the claimant hangs, the writer writes
    with pytest.raises(RecordBusy):
        take(record)


def test_a_claim_of_a_lost_machine_is_free_after_a_minute_of_silence(tmp_path, far, monkeypatch):
    monkeypatch.setattr(locks, "SILENT", 1.0)
    os.killpg(far.pid, signal.SIGKILL)
    begin = time.monotonic()
    with claim(RunRecord(tmp_path)) as held:
        assert held.recovered
    assert time.monotonic() - begin >= 1.0


def test_a_machine_that_was_only_asleep_ends_its_processes_when_it_is_back(tmp_path, far, monkeypatch):
    """And writes nothing more: the claim stays the successor's."""
    monkeypatch.setattr(locks, "SILENT", 1.0)
    record = RunRecord(tmp_path)
    writer = json.loads(record.claim.read_text())["processes"][1]["pid"]
    os.killpg(far.pid, signal.SIGSTOP)
    held = take(record)
    mine = record.claim.read_bytes()
    os.kill(writer, signal.SIGCONT)  # it ends the claimant, too
    assert far.wait(timeout=20) == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while Path(f"/proc/{writer}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "was taken over by a process on" in far.communicate()[1]
    assert record.claim.read_bytes() == mine
    held.release()


def test_one_wins_the_race_for_the_claim_of_a_lost_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "SILENT", 1.0)
    record = RunRecord(tmp_path)
    write_json(record.claim, holder(place="elsewhere"))
    outcomes = []

    def compete():
        try:
            outcomes.append(take(record))
        except RecordBusy:
            outcomes.append(None)

    threads = [threading.Thread(target=compete) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [outcome for outcome in outcomes if outcome is not None]
    assert len(won) == 1
    won[0].release()


def test_a_deleted_claim_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["dataflex_rl.record.claim"], "BEAT", 0.05)
    record = RunRecord(tmp_path)
    held = take(record)
    before = record.claim.read_bytes()
    record.claim.unlink()
    deadline = time.monotonic() + 10
    while not (record.claim.exists() and record.claim.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert record.claim.read_bytes() == before
    held.release()


def test_a_child_that_outlives_its_parent_keeps_the_claim(tmp_path):
    record = RunRecord(tmp_path)
    child = start(RACE, tmp_path / "other")
    held = take(record)
    held.add_process(child.pid)
    now = json.loads(record.claim.read_text())
    now["processes"][0]["start"] -= 100  # as if this process had died
    write_json(record.claim, now)
    assert holder_alive(record)
    assert not supervisor_alive(record)
    end(child)
    assert not holder_alive(record)


def test_released_while_a_child_still_runs(tmp_path):
    record = RunRecord(tmp_path)
    child = start(RACE, tmp_path / "other")
    held = take(record)
    held.add_process(child.pid)
    assert supervisor_alive(record)
    held.release()
    assert holder_alive(record)
    assert not supervisor_alive(record)
    with pytest.raises(RecordBusy, match=rf"in use by process {child.pid} on"):
        take(record)
    end(child)
    take(record).release()
    assert record.claim.read_bytes() == b""


def test_joining_a_claim_from_within(tmp_path):
    record = RunRecord(tmp_path)
    child = start(JOIN, tmp_path)  # nobody holds it: nothing to join
    assert child.stdout.readline() == "joined\n"
    assert not holder_alive(record)
    end(child)
    held = take(record)
    joined = start(JOIN, tmp_path)
    assert joined.stdout.readline() == "joined\n"
    other = start(RACE, tmp_path / "other")
    held.add_process(other.pid)
    assert [process["pid"] for process in json.loads(record.claim.read_text())["processes"]] == [
        os.getpid(),
        joined.pid,
        other.pid,
    ]
    end(other)
    held.release()
    assert holder_alive(record)
    end(joined)
    assert not holder_alive(record)


def test_set_aside_moves_the_record_and_keeps_the_claim(tmp_path):
    record = RunRecord(tmp_path / "seed_0")
    with claim(record) as held:
        assert held.set_aside() is None
        for number in (1, 2):
            write_json(record.status, {"number": number})
            assert held.set_aside() == tmp_path / f"seed_0.old-{number}"
            assert holder_alive(record)
            with pytest.raises(RecordBusy):
                take(record)
            assert [entry.name for entry in record.path.iterdir()] == ["claim.json"]
    assert not holder_alive(record)
    for number in (1, 2):
        old = tmp_path / f"seed_0.old-{number}"
        assert [entry.name for entry in old.iterdir()] == ["status.json"]
        assert json.loads((old / "status.json").read_text()) == {"number": number}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["seed_0", "seed_0.old-1", "seed_0.old-2"]


def test_an_unusable_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot create .*/file/run: Not a directory \(ENOTDIR\)"):
        take(RunRecord(tmp_path / "file" / "run"))
