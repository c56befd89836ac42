"""Claims of other machines: held while they beat, free after a minute of silence, given up on return."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dataflex_rl.record import RecordBusy, RunRecord, claim, locks, write_json
from dataflex_rl.record.claim import holder_alive, supervisor_alive, take
from tests.record.claims import holder

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
