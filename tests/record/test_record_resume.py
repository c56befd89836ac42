"""Which checkpoint a run continues from, and when it is done."""

import shutil
import signal
import subprocess
import sys
import time

import pytest

from dataflex_rl.record import (
    MetricsLog,
    RecordError,
    RunRecord,
    find_checkpoint,
    is_done,
    last_step,
    mark_checkpoint,
    read_metrics,
    resumable_checkpoint,
    update_status,
    why_not_done,
    write_config,
    write_evaluation,
    write_json,
)
from dataflex_rl.record.manifest import KEYS
from dataflex_rl.record.resume import GENERATED, checkpoint_folder, is_complete, read_state

LOOP = """
import sys
from pathlib import Path
from dataflex_rl.record import MetricsLog, RunRecord, mark_checkpoint, resumable_checkpoint
from dataflex_rl.record.resume import checkpoint_folder, read_state
record = RunRecord(Path(sys.argv[1]))
start = resumable_checkpoint(record)
total = read_state(record, start)["total"] if start else 0
log = MetricsLog(record)
print("ready", flush=True)
for step in range((start or 0) + 1, 100_000):
    total += step
    if step % 5 == 0:  # verl's order: files, tracker, then the line of the step
        folder = checkpoint_folder(record, step)
        (folder / "actor").mkdir(parents=True, exist_ok=True)
        for name in ("actor/model.pt", "actor/optim.pt", "data.pt"):
            (folder / name).write_bytes(b"x" * 50_000)
        record.tracker.write_text(str(step))
        mark_checkpoint(record, step, {"total": total})
    log.append(step, {"total": total})
"""


def checkpoint(record, step, state=None, *, mark=True):
    folder = checkpoint_folder(record, step)
    (folder / "actor" / "hf").mkdir(parents=True)
    (folder / "actor" / "model.pt").write_bytes(b"m" * step)
    (folder / "actor" / "hf" / "config.json").write_text("{}")
    (folder / "data.pt").write_bytes(b"d")
    record.tracker.write_text(str(step))
    if mark:
        mark_checkpoint(record, step, state)


def steps(record, upto):
    log = MetricsLog(record)
    for step in range(log.last_step + 1, upto + 1):
        log.append(step, {"a": step})


def left(record):
    return sorted(path.name for path in record.checkpoints.iterdir())


def test_continues_from_the_newest_with_all_lines(tmp_path):
    record = RunRecord(tmp_path)
    steps(record, 23)
    checkpoint(record, 10)
    checkpoint(record, 20, {"draws": 3})
    assert find_checkpoint(record) == 20
    assert len(read_metrics(record)) == 23
    assert resumable_checkpoint(record) == 20
    assert [line["step"] for line in read_metrics(record)] == list(range(1, 21))
    assert left(record) == ["global_step_10", "global_step_20", "latest_checkpointed_iteration.txt"]
    assert read_state(record, 20) == {"draws": 3}
    assert resumable_checkpoint(record) == 20


def test_a_checkpoint_without_its_line_is_not_used(tmp_path):
    record = RunRecord(tmp_path)
    steps(record, 19)
    checkpoint(record, 10)
    checkpoint(record, 20)
    assert resumable_checkpoint(record) == 10
    assert len(read_metrics(record)) == 10
    assert record.tracker.read_text() == "10"
    assert left(record) == ["global_step_10", "latest_checkpointed_iteration.txt"]


@pytest.mark.parametrize("damage", ["unmarked", "no data", "no actor", "short file", "renamed", "torn marker"])
def test_a_checkpoint_that_is_not_whole_is_not_used(tmp_path, damage):
    record = RunRecord(tmp_path)
    steps(record, 25)
    checkpoint(record, 10)
    checkpoint(record, 20, mark=damage != "unmarked")
    folder = checkpoint_folder(record, 20)
    if damage == "no data":
        (folder / "data.pt").unlink()
    elif damage == "no actor":
        shutil.rmtree(folder / "actor")
    elif damage == "short file":
        (folder / "actor" / "model.pt").write_bytes(b"m")
    elif damage == "renamed":
        folder.rename(checkpoint_folder(record, 21))
    elif damage == "torn marker":
        (folder / "dataflex.json").write_text('{"schema"')
    assert find_checkpoint(record) == 10
    assert resumable_checkpoint(record) == 10
    assert left(record) == ["global_step_10", "latest_checkpointed_iteration.txt"]


def test_no_checkpoint_starts_over(tmp_path):
    record = RunRecord(tmp_path)
    assert resumable_checkpoint(record) is None
    steps(record, 7)
    checkpoint(record, 10)
    assert resumable_checkpoint(record) is None
    assert read_metrics(record) == []
    assert left(record) == []


def test_marking_wants_what_verl_writes(tmp_path):
    record = RunRecord(tmp_path)
    folder = checkpoint_folder(record, 3)
    folder.mkdir(parents=True)
    (folder / "data.pt").write_bytes(b"d")
    with pytest.raises(RecordError, match=r"global_step_3 has no data\.pt or no actor/; has: data\.pt"):
        mark_checkpoint(record, 3)
    with pytest.raises(RecordError, match=r"global_step_3 is not complete"):
        read_state(record, 3)
    assert not is_complete(folder)


def test_killed_at_any_moment_the_record_equals_the_undisturbed_one(tmp_path):
    record = RunRecord(tmp_path)
    for delay in (0.0, 0.013, 0.029, 0.041, 0.007, 0.017):
        child = subprocess.Popen([sys.executable, "-c", LOOP, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        before = len(read_metrics(record))
        while len(read_metrics(record)) < before + 6 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    start = resumable_checkpoint(record)
    lines = read_metrics(record)
    assert start >= 30  # six rounds of at least six steps, each back to a multiple of five
    assert start == len(lines)
    assert [line["data"]["total"] for line in lines] == [n * (n + 1) // 2 for n in range(1, start + 1)]
    assert read_state(record, start) == {"total": start * (start + 1) // 2}


def items(phase):
    common = {"benchmark": "math", "domain": "math", "item": 0, "pred": "", "gold": "", "tokens": 1, "truncated": False}
    return [{**common, "phase": phase, "correct": True}]


def test_done_is_validated_step_by_step(tmp_path):
    record = RunRecord(tmp_path)
    checkpoint(record, 2)
    assert why_not_done(record, 2) == "status is pending"
    update_status(record, state="done")
    assert why_not_done(record, 2) == "0 of 2 steps have metrics"
    steps(record, 2)
    assert why_not_done(record, 2) == "the untrained model is not evaluated"
    write_evaluation(record, items("untrained"), steps=0)
    assert why_not_done(record, 2) == "the trained model is not evaluated"
    write_evaluation(record, items("trained"), steps=1)
    assert why_not_done(record, 2) == "the trained model was evaluated after another number of steps"
    write_evaluation(record, items("trained"), steps=2)
    assert why_not_done(record, 2) == "config.yaml is missing"
    write_config(record, {"lr": 1})
    assert why_not_done(record, 2) == "manifest.json is missing"
    write_json(record.manifest, {})
    assert is_done(record, 2)
    assert why_not_done(record, 3) == "2 of 3 steps have metrics"
    assert not is_done(record, 1)
    record.eval_items.write_text(record.eval_items.read_text().replace("true", "false", 1))
    with pytest.raises(RecordError, match=r"eval\.json: math is .* but eval_items\.jsonl counts .*\"correct\": 0"):
        why_not_done(record, 2)
    record.eval_items.write_text("[]\n")
    with pytest.raises(RecordError, match=r"eval_items\.jsonl:1 is no item of untrained or trained"):
        why_not_done(record, 2)
    record.metrics.write_text(record.metrics.read_text().splitlines(keepends=True)[0] + '{"step": 2, "data": {}}\n')
    assert why_not_done(record, 2) == "1 of 2 steps have metrics"
    update_status(record, state="interrupted")
    assert why_not_done(record, 2) == "status is interrupted"


def test_a_run_that_ends_by_its_tokens_is_done_at_the_step_that_reached_them(tmp_path):
    record = RunRecord(tmp_path)
    log = MetricsLog(record)
    for step, tokens in enumerate((40.0, 40.0, 30.0), start=1):
        assert last_step(record, 9) == 9
        write_json(record.manifest, dict.fromkeys(KEYS) | {"stop_at_tokens": 100})
        log.append(step, {GENERATED: tokens}, applied=True)
    assert last_step(record, 9) == 3  # 40 + 40 < 100 <= 110
    assert last_step(record, 2) == 2  # the plan ends first
    for phase, at in (("untrained", 0), ("trained", 3)):
        write_evaluation(record, items(phase), steps=at)
    write_config(record, {"lr": 1})
    update_status(record, state="done")
    assert is_done(record, 9)
    log.append(4, {GENERATED: 1.0}, applied=True)
    assert why_not_done(record, 9) == "4 of 3 steps have metrics"
    write_json(record.manifest, dict.fromkeys(KEYS) | {"stop_at_tokens": None})
    assert why_not_done(record, 9) == "4 of 9 steps have metrics"


def test_a_step_that_the_policy_missed_is_not_done(tmp_path):
    """As a later verl would leave it, that no longer calls what the policy hangs on."""
    record = RunRecord(tmp_path)
    update_status(record, state="done")
    log = MetricsLog(record)
    log.append(1, {"a": 1}, applied=True)
    log.append(2, {"a": 1}, applied=False)
    log.append(3, {"a": 1}, applied=True)
    assert [line["applied"] for line in read_metrics(record)] == [True, False, True]
    assert why_not_done(record, 3) == "the policy was not applied at step 2"
    assert why_not_done(record, 2) == "3 of 2 steps have metrics"


def test_a_broken_record_is_an_error_not_undone(tmp_path):
    record = RunRecord(tmp_path)
    write_json(record.status, {"state": "done"})
    record.metrics.write_text('{"step": 2, "data": {}}\n')
    with pytest.raises(RecordError, match="holds step 2, expected step 1"):
        is_done(record, 1)
