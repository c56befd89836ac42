"""One launcher per sweep."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dataflex_rl.record import lock as locks
from dataflex_rl.record.lockfile import host_id, identity
from dataflex_rl.sweep import lock
from dataflex_rl.sweep.lock import SweepBusy, acquire, held, launcher_alive
from tests.sweep.stubs import HOLD


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
        acquire(path)
    other.kill()
    other.communicate()
    assert not launcher_alive(path)
    with held(path) as mine:
        assert mine.recovered
        assert launcher_alive(path)
    assert not launcher_alive(path)


def write(path: Path, **changes: object) -> None:
    process = {"pid": changes.pop("pid", 1), "start": changes.pop("start", 0)}
    holder = {"host": "elsewhere", "host_id": "elsewhere", "token": "t", "since": "then", "processes": [process]}
    path.write_text(json.dumps(holder | changes))


def test_a_launcher_whose_clock_is_a_day_off_lives_if_it_gives_signs_of_life(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT", 0.3)
    write(path)
    yesterday = time.time() - 86400
    os.utime(path, (yesterday, yesterday))
    threading.Timer(0.3, os.utime, (path, (yesterday + 1, yesterday + 1))).start()
    assert launcher_alive(path)


def test_a_launcher_elsewhere_lives_by_its_heartbeat(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SILENT", 1.5)
    write(path)
    beating = threading.Timer(0.5, path.touch)
    beating.start()
    with pytest.raises(SweepBusy, match="on elsewhere since then"):
        acquire(path)
    begin = time.monotonic()
    with held(path) as mine:
        assert mine.recovered
    assert time.monotonic() - begin >= 1.5


@pytest.mark.parametrize(("ago", "alive"), [(30, True), (-30, True), (90, False), (-86400, False)])
def test_whether_a_launcher_elsewhere_lives_at_a_glance(path: Path, ago: float, alive: bool) -> None:
    """A heartbeat a day ahead is the mistake of a clock, not a life of a day."""
    write(path)
    os.utime(path, (time.time() - ago, time.time() - ago))
    assert launcher_alive(path) is alive


@pytest.mark.parametrize("start", [12, "x", None])
def test_a_reused_process_number_does_not_count_as_alive(path: Path, start: object) -> None:
    write(path, host_id=host_id(), pid=1, start=start)
    assert not launcher_alive(path)
    write(path, host_id=host_id(), **identity(1))
    assert launcher_alive(path)


@pytest.mark.parametrize("pid", ["1", -1, None, 10**30])
def test_a_lock_with_no_process_number_is_free(path: Path, pid: object) -> None:
    write(path, host_id=host_id(), pid=pid)
    assert not launcher_alive(path)
    acquire(path).release()


def test_the_heart_beats_and_notices_a_successor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT", 0.05)
    with held(path) as mine:
        first = path.stat().st_mtime_ns
        deadline = time.monotonic() + 5
        while path.stat().st_mtime_ns == first:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        write(path)
        while not mine.lost:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert json.loads(path.read_text())["host"] == "elsewhere"  # not given back in its stead


def test_a_deleted_lock_is_back_at_the_next_beat(path: Path) -> None:
    with held(path) as mine:
        path.unlink()
        time.sleep(2 * lock.HEARTBEAT)
        assert launcher_alive(path)
        with pytest.raises(SweepBusy):
            acquire(path)
        assert not mine.lost


def test_a_folder_that_is_gone_needs_no_giving_back(path: Path) -> None:
    with held(path):
        shutil.rmtree(path.parent)
    assert not path.parent.exists()
    assert not launcher_alive(path)


@pytest.mark.parametrize("content", ['{"host": "els', "[" * 100000])
def test_half_a_file_is_no_lock(path: Path, content: str) -> None:
    path.write_text(content)
    with held(path) as mine:
        assert not mine.recovered
