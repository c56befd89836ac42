"""One launcher per sweep."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dataflex_rl.sweep import lock
from dataflex_rl.sweep.lock import SweepBusy, held, launcher_alive, take

HOLD = """
import sys, time
from pathlib import Path
from dataflex_rl.sweep.lock import take
take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / ".sweep").mkdir()
    return tmp_path / ".sweep" / "lock.json"


def test_a_second_launcher_is_refused_while_the_first_lives_and_not_after_a_kill(path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    assert launcher_alive(path)
    with pytest.raises(SweepBusy, match=f"by process {other.pid} on {socket.gethostname()} since"):
        take(path)
    other.kill()
    other.communicate()
    assert not launcher_alive(path)
    with held(path) as mine:
        assert mine.recovered
        assert launcher_alive(path)
    assert not launcher_alive(path)


def write(path: Path, **changes: object) -> None:
    holder = {"host": "elsewhere", "pid": 1, "start": 0.0, "token": "t", "since": "then", "beat": time.time()}
    path.write_text(json.dumps(holder | changes))


def test_a_launcher_elsewhere_lives_by_its_heartbeat(path: Path) -> None:
    write(path, beat=time.time() - lock.SILENT / 2)
    with pytest.raises(SweepBusy, match="on elsewhere since then"):
        take(path)
    write(path, beat=time.time() - lock.SILENT - 1)
    with held(path) as mine:
        assert mine.recovered


def test_a_reused_process_number_does_not_count_as_alive(path: Path) -> None:
    write(path, host=socket.gethostname(), pid=1, start=12.0)
    assert not launcher_alive(path)


def test_the_heart_beats_and_notices_a_successor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "BEAT", 0.05)
    with held(path) as mine:
        first = json.loads(path.read_text())["beat"]
        deadline = time.monotonic() + 5
        while json.loads(path.read_text() or "{}").get("beat", first) == first:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        write(path)
        while not mine.lost:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert json.loads(path.read_text())["host"] == "elsewhere"  # not given back in its stead


def test_half_a_file_is_no_lock(path: Path) -> None:
    path.write_text('{"host": "els')
    with held(path) as mine:
        assert not mine.recovered
