"""Atomic writes: kills and full disks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import MetricsLog, RecordError, RunRecord, check_writable, read_json, read_metrics, write_json
from tests.record.disks import small

WRITER = """
import sys
from pathlib import Path
from dataflex_rl.record import MetricsLog, RunRecord, write_json
record = RunRecord(Path(sys.argv[1]))
log = MetricsLog(record)
print("ready", flush=True)
while True:
    n = log.last_step + 1
    log.append(n, {f"key/{i}": n * i for i in range(300)})
    write_json(record.status, {"step": n, "filling": "x" * 20000})
"""


def test_kills_in_the_middle_of_writes_lose_nothing(tmp_path):
    record = RunRecord(tmp_path)
    seen = 0
    for delay in (0.05, 0.0, 0.011, 0.023, 0.002):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while len(read_metrics(record)) < seen + 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        steps = [line["step"] for line in read_metrics(record)]
        assert steps == list(range(1, len(steps) + 1))
        assert len(steps) >= seen + 5
        seen = len(steps)
        status = read_json(record.status)
        assert status["filling"] == "x" * 20000
        assert seen - 1 <= status["step"] <= seen


def test_write_json_replaces_whole_files(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": 1, "ä": [None, True, 0.5]})
    write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_write_json_is_strict(tmp_path):
    write_json(tmp_path / "a.json", 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert read_json(tmp_path / "a.json") == 1


@small
def test_full_disk_is_named_and_leaves_the_old_file(tmp_path, small_disk, reason):
    with small_disk(tmp_path / "disk") as disk:
        path = disk / "status.json"
        write_json(path, {"state": "running"})
        with pytest.raises(RecordError, match=rf"cannot write .*/disk/status\.json: {reason}"):
            write_json(path, {"filling": "x" * 200_000})
        assert read_json(path) == {"state": "running"}
        assert [entry.name for entry in disk.iterdir()] == ["status.json"]


@small
def test_full_disk_keeps_the_lines_before_and_continues_with_room(tmp_path, small_disk, reason):
    with small_disk(tmp_path / "disk") as disk:
        record = RunRecord(disk)
        log = MetricsLog(record)
        log.append(1, {"a": 1})
        with pytest.raises(RecordError, match=rf"cannot append to .*/metrics\.jsonl: {reason}"):
            log.append(2, {f"key/{i}": i for i in range(10_000)})
        assert record.metrics.read_text() == '{"step":1,"data":{"a":1}}\n'
        log.append(2, {"a": 2})
        assert [line["data"]["a"] for line in read_metrics(record)] == [1, 2]


def test_errors_name_the_file(tmp_path):
    with pytest.raises(RecordError, match=r"cannot write .*/no/a\.json: No such file or directory \(ENOENT\)"):
        write_json(tmp_path / "no" / "a.json", 1)
    assert read_json(tmp_path / "a.json") is None
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(RecordError, match=r"a\.json is no JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(RecordError, match=r"cannot read .*\(EISDIR\)"):
        read_json(tmp_path)


def test_runs_dir_must_be_writable(tmp_path):
    assert check_writable(tmp_path / "new" / "runs") == (tmp_path / "new" / "runs")
    assert list((tmp_path / "new" / "runs").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"runs_dir=.*/file/runs: cannot write to .*: Not a directory"):
        check_writable(tmp_path / "file" / "runs")
    read_only = Path("/proc/runs")
    with pytest.raises(ConfigError, match=r"runs_dir=/proc/runs: cannot write to /proc/runs"):
        check_writable(read_only)


def test_relative_runs_dir_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert check_writable("runs") == Path(os.path.realpath(tmp_path)) / "runs"
