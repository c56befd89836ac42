"""Locks of other machines: held while they give signs of life, free after a minute of silence, given up on return.

A process with a host id of its own stands for another machine: stopped (SIGSTOP) it is one that was suspended.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dataflex_rl.record import MetricsLog, RecordBusy, RunRecord, holding, lock, owner, read_metrics, write_json
from dataflex_rl.record.lockfile import SystemLockTimeout, holder_of, locked
from dataflex_rl.record.owner import acquire, holder_alive, supervisor_alive
from tests.record.holders import holder

# a machine of its own, whose supervisor and joined writer give signs of life every 0.1 s
FAR = """
import subprocess, sys, time
from pathlib import Path
from dataflex_rl.record import RunRecord, lock, lockfile, owner
lockfile.host_id = lock.host_id = lambda: "far"
owner.HEARTBEAT = 0.1
role, record = sys.argv[1], RunRecord(Path(sys.argv[2]))
if role == "supervisor":
    held = owner.acquire(record)
    subprocess.Popen([sys.executable, "-c", sys.argv[3], "writer", sys.argv[2], ""])
else:
    owner.join(record)
    print("joined", flush=True)
time.sleep(60)
"""
# a training on another machine: a line every 20 ms, a checkpoint every 5 steps, to the end of 1000 steps
TRAIN = """
import sys, time
from pathlib import Path
from dataflex_rl.record import MetricsLog, RunRecord, lock, lockfile, mark_checkpoint, owner, resumable_checkpoint
from dataflex_rl.record.resume import checkpoint_folder
lockfile.host_id = lock.host_id = lambda: sys.argv[2]
lock.SILENT, owner.HEARTBEAT = 1.0, float(sys.argv[3])
record, last = RunRecord(Path(sys.argv[1])), int(sys.argv[4])
held = owner.acquire(record)
start = resumable_checkpoint(record) or 0
log = MetricsLog(record)
print("ready", start, flush=True)
for step in range(start + 1, last + 1):
    if step % 5 == 0:
        folder = checkpoint_folder(record, step)
        (folder / "actor").mkdir(parents=True, exist_ok=True)
        for name in ("actor/model.pt", "data.pt"):
            (folder / name).write_bytes(b"x" * 1000)
        mark_checkpoint(record, step, step)
    log.append(step, {"step": step})
    time.sleep(0.02)
held.release()
print("done", flush=True)
"""


@pytest.fixture
def far(tmp_path):
    """A lock of a supervisor and a writer on another machine."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", FAR, "supervisor", str(tmp_path), FAR], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert supervisor.stdout.readline() == "joined\n"
    yield supervisor
    os.killpg(supervisor.pid, signal.SIGKILL) if supervisor.poll() is None else None
    supervisor.communicate()


def train(folder, host, *, heartbeat=0.1, last=1000):
    command = [sys.executable, "-c", TRAIN, str(folder), host, str(heartbeat), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop_between_writes(child, record):
    """Suspend a training where it is not in the middle of a write, in which nobody would take over."""
    while True:
        child.send_signal(signal.SIGSTOP)
        with suppress(SystemLockTimeout), locked(record.lock, wait=0.5):
            return
        child.send_signal(signal.SIGCONT)
        time.sleep(0.01)


def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_lock_of_another_machine_lasts_while_one_of_its_processes_lives(tmp_path, far, monkeypatch, capfd):
    monkeypatch.setattr(lock, "SILENT", 2.0)
    record = RunRecord(tmp_path)
    assert holder_alive(record)
    assert supervisor_alive(record)
    with pytest.raises(RecordBusy, match=rf"in use by process {far.pid}, \d+ on .* since"):
        acquire(record)
    assert "watching for a minute whether it lives" in capfd.readouterr().err
    far.send_signal(signal.SIGSTOP)  # the supervisor hangs, the writer writes
    with pytest.raises(RecordBusy):
        acquire(record)


def test_a_lock_of_a_lost_machine_is_free_after_a_minute_of_silence(tmp_path, far, monkeypatch):
    monkeypatch.setattr(lock, "SILENT", 1.0)
    os.killpg(far.pid, signal.SIGKILL)
    begin = time.monotonic()
    with holding(RunRecord(tmp_path)) as held:
        assert held.recovered
    assert time.monotonic() - begin >= 1.0


def test_a_machine_that_was_only_asleep_ends_its_processes_when_it_is_back(tmp_path, far, monkeypatch):
    """And writes nothing more: the lock stays the successor's."""
    monkeypatch.setattr(lock, "SILENT", 1.0)
    record = RunRecord(tmp_path)
    writer = json.loads(record.lock.read_text())["processes"][1]["pid"]
    os.killpg(far.pid, signal.SIGSTOP)
    held = acquire(record)
    mine = record.lock.read_bytes()
    os.kill(writer, signal.SIGCONT)  # it ends the supervisor, too
    assert far.wait(timeout=20) == -signal.SIGKILL
    until(lambda: not Path(f"/proc/{writer}").exists())
    assert "was taken over by a process on" in far.communicate()[1]
    assert record.lock.read_bytes() == mine
    held.release()


def test_a_machine_that_nobody_succeeded_goes_on_after_its_sleep(tmp_path):
    """Twice the time of silence, and it has lost nothing: it is taken over only by someone who wants the record."""
    child = train(tmp_path, "far", last=60)
    assert child.stdout.readline() == "ready 0\n"
    until(lambda: len(read_metrics(RunRecord(tmp_path))) >= 5)
    child.send_signal(signal.SIGSTOP)
    time.sleep(2.0)
    child.send_signal(signal.SIGCONT)
    assert child.communicate(timeout=30) == ("done\n", "")
    assert [line["data"]["step"] for line in read_metrics(RunRecord(tmp_path))] == list(range(1, 61))


@pytest.mark.parametrize("heartbeat", [0.1, 1000.0])
def test_a_suspended_training_that_wakes_after_a_takeover_writes_nothing_more(tmp_path, heartbeat):
    """Also where its own heartbeat has not yet noticed (1000 s): each write asks first. No step is lost or doubled."""
    record = RunRecord(tmp_path)
    old = train(tmp_path, "far", heartbeat=heartbeat)
    assert old.stdout.readline() == "ready 0\n"
    until(lambda: len(read_metrics(record)) >= 12)
    stop_between_writes(old, record)
    before = len(read_metrics(record))
    new = train(tmp_path, "near", last=before + 60)
    ready = new.stdout.readline()  # after a second of silence
    start = int(ready.split()[1])
    assert before - 6 <= start <= before  # from the newest checkpoint: at most five steps and a half are done anew
    old.send_signal(signal.SIGCONT)
    out, err = old.communicate(timeout=20)
    assert out == ""
    assert old.returncode in ((-signal.SIGKILL, 1) if heartbeat < 1 else (1,))  # its heartbeat or its next write
    assert "was taken over by a process on" in err
    assert new.communicate(timeout=30)[0] == "done\n"
    assert new.returncode == 0
    assert [line["data"]["step"] for line in read_metrics(record)] == list(range(1, before + 61))


def test_nobody_takes_over_in_the_middle_of_a_write(tmp_path, monkeypatch):
    """A holder that is suspended, or whose disk hangs, while it writes keeps the record until the write is over."""
    monkeypatch.setattr(lock, "SILENT", 0.5)
    monkeypatch.setattr(lock, "WRITING", 1.0)
    record = RunRecord(tmp_path)
    write_json(record.lock, holder(host_id="far"))
    entered, leave = threading.Event(), threading.Event()

    def write():
        with locked(record.lock):
            entered.set()
            leave.wait()

    writer = threading.Thread(target=write)
    writer.start()
    entered.wait()
    with pytest.raises(RecordBusy, match=r"in use by process \d+ on h since noon"):
        acquire(record)
    assert holder_of(record.lock)["token"] == "t"
    leave.set()
    writer.join()
    held = acquire(record)  # and then, after its silence
    assert held.recovered
    held.release()


def test_a_heartbeat_that_hangs_with_its_disk_finds_its_successor(tmp_path, monkeypatch):
    """The write of a sign of life is blocked until after the takeover; it changes nothing of the successor's."""
    monkeypatch.setattr(lock, "SILENT", 0.5)
    record, lost = RunRecord(tmp_path), []
    gate = threading.Event()
    write_json(record.lock, holder(host_id="far"))
    slow = lock.Lock(
        record.lock, holder(host_id="far"), every=0.05, lost=lambda mine, successor: lost.append(successor["token"])
    )
    heartbeat = slow._beat
    monkeypatch.setattr(slow, "_beat", lambda: gate.wait() and heartbeat())
    held = acquire(record)
    mine = record.lock.read_bytes()
    gate.set()
    until(lambda: lost)
    assert lost == [json.loads(mine)["token"]]
    with pytest.raises(lock.LockLostError, match="was taken over by a process on"), slow.guard():
        raise AssertionError("never inside")
    assert record.lock.read_bytes() == mine
    held.release()


@pytest.mark.parametrize("jump", [86400.0, -86400.0])
def test_a_clock_that_jumps_frees_nothing_and_keeps_nothing(tmp_path, monkeypatch, jump):
    """Signs of life dated a day ahead or back are signs of life; without any the lock is free after the silence."""
    monkeypatch.setattr(lock, "SILENT", 1.0)
    record = RunRecord(tmp_path)
    write_json(record.lock, holder(host_id="far"))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 2 * jump)  # the watcher's clock jumps, too
    os.utime(record.lock, (now() + jump, now() + jump))
    back = threading.Timer(0.5, lambda: os.utime(record.lock, (now() - jump, now() - jump)))
    back.start()
    with pytest.raises(RecordBusy):
        acquire(record)
    back.join()
    begin = time.monotonic()
    with holding(record) as held:
        assert held.recovered
    assert 1.0 <= time.monotonic() - begin < 10


def test_time_in_which_nobody_could_look_is_no_silence(tmp_path, monkeypatch):
    """The watcher's disk hangs for longer than a silence: what it has not seen it does not count."""
    monkeypatch.setattr(lock, "SILENT", 2.0)
    record = RunRecord(tmp_path)
    write_json(record.lock, holder(host_id="far"))
    seen, look = [], lock.stamp_of

    def hanging(path):
        if not seen:
            time.sleep(3.0)
        seen.append(look(path))
        if len(seen) == 2:  # the first sign of life after the disk is back
            os.utime(path)
        return seen[-1]

    monkeypatch.setattr(lock, "stamp_of", hanging)
    with pytest.raises(RecordBusy):
        acquire(record)
    assert len(seen) == 3


def test_a_write_after_a_takeover_is_refused_whatever_it_is(tmp_path):
    record = RunRecord(tmp_path)
    with holding(record):
        log = MetricsLog(record)
        log.append(1, {"a": 1})
        record.lock.write_text(json.dumps(holder(host_id="far", host="other")))
        for write in (
            lambda: log.append(2, {"a": 1}),
            lambda: write_json(record.status, {"state": "done"}),
            lambda: write_json(record.checkpoints / "global_step_1" / "dataflex.json", {}),
        ):
            with pytest.raises(lock.LockLostError, match="taken over by a process on other; nothing was written"):
                write()
        owner.set_guard(record.path, None)  # before the heartbeat of this very process ends it
        record.lock.unlink()
    assert [line["step"] for line in read_metrics(record)] == [1]
    assert not record.status.exists()
    write_json(record.status, {"state": "done"})  # nobody holds it: no guard


def test_one_wins_the_race_for_the_lock_of_a_lost_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "SILENT", 1.0)
    record = RunRecord(tmp_path)
    write_json(record.lock, holder(host_id="elsewhere"))
    outcomes = []

    def compete():
        try:
            outcomes.append(acquire(record))
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


def test_a_deleted_lock_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "HEARTBEAT", 0.05)
    record = RunRecord(tmp_path)
    held = acquire(record)
    before = record.lock.read_bytes()
    record.lock.unlink()
    until(lambda: record.lock.exists() and record.lock.read_bytes())
    assert record.lock.read_bytes() == before
    held.release()
