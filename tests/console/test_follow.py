"""Following a record that another process writes."""

import subprocess
import sys
import threading
import time

from dataflex_rl.record import MetricsLog, RunRecord, update_status
from dataflex_rl.runtime.console import Phase, Step, follow

WRITER = """
import sys, time
from pathlib import Path
from dataflex_rl.record import MetricsLog, RunRecord, update_status
record = RunRecord(Path(sys.argv[1]))
log = MetricsLog(record)
update_status(record, state="running", phase="train")
for step in range(log.last_step + 1, 41):
    log.append(step, {"a": step})
    time.sleep(0.01)
update_status(record, phase="trained")
"""


def test_every_step_once_in_order_until_the_process_ends(tmp_path):
    record = RunRecord(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)])
    seen = list(follow(record, lambda: child.poll() is None, threading.Event()))
    assert [event.line["step"] for event in seen if isinstance(event, Step)] == list(range(1, 41))
    assert [event.text for event in seen if isinstance(event, Phase)] == ["train", "trained"]
    assert seen[0] == Phase(text="train")


def test_a_resumed_record_shows_the_new_steps_only(tmp_path):
    record = RunRecord(tmp_path)
    log = MetricsLog(record)
    for step in range(1, 6):
        log.append(step, {"a": step})
    seen = list(follow(record, lambda: False, threading.Event(), after_step=3))
    assert [event.line for event in seen] == [{"step": 4, "data": {"a": 4}}, {"step": 5, "data": {"a": 5}}]


def test_half_a_line_waits_for_its_end(tmp_path):
    record = RunRecord(tmp_path)
    record.metrics.write_text('{"step":1,"data":{}}\n{"step":2,')
    stop = threading.Event()
    seen = follow(record, lambda: True, stop)
    assert next(seen).line["step"] == 1
    with record.metrics.open("a") as file:
        file.write('"data":{}}\n')
    assert next(seen).line["step"] == 2
    stop.set()
    assert list(seen) == []


def test_stop_ends_it_soon_and_loses_nothing(tmp_path):
    record = RunRecord(tmp_path)
    stop = threading.Event()
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(follow(record, lambda: True, stop)))
    thread.start()
    time.sleep(0.05)
    MetricsLog(record).append(1, {})
    update_status(record, state="interrupted")
    started = time.monotonic()
    stop.set()
    thread.join(5)
    assert time.monotonic() - started < 1.0
    assert [event.line["step"] for event in seen] == [1]
