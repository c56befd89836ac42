"""metrics.jsonl: right lines, right refusals."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.record import MetricsLog, RecordError, RunRecord, cut_metrics, read_metrics
from dataflex_rl.record.metrics import metrics_line


def filled(folder, steps):
    record = RunRecord(folder)
    log = MetricsLog(record)
    for step in range(log.last_step + 1, steps + 1):
        log.append(step, {"a": step * 10})
    return record


def test_lines_are_as_promised(tmp_path):
    record = filled(tmp_path, 2)
    assert record.metrics.read_text() == '{"step":1,"data":{"a":10}}\n{"step":2,"data":{"a":20}}\n'


def test_numbers_of_every_kind(tmp_path):
    data = {"np": np.float32(0.5), "array": np.array([3]), "torch": torch.tensor(2), "bool": np.True_, "name": "x"}
    assert json.loads(metrics_line(1, data))["data"] == {"np": 0.5, "array": 3, "torch": 2, "bool": True, "name": "x"}


def test_nonfinite_is_null_and_said():
    line = json.loads(metrics_line(1, {"a": float("nan"), "b": np.float64("-inf"), "c": 0.0, "d": float("inf")}))
    assert line == {
        "step": 1,
        "data": {"a": None, "b": None, "c": 0.0, "d": None},
        "nonfinite": {"a": "nan", "b": "-inf", "d": "inf"},
    }


@pytest.mark.parametrize("value", [[1], np.zeros(2), torch.zeros(2), {"a": 1}, object()])
def test_a_value_that_is_no_number_is_refused_by_name(tmp_path, value):
    log = MetricsLog(RunRecord(tmp_path))
    with pytest.raises(RecordError, match=r"metric 'actor/x' is a \w+, expected a number"):
        log.append(1, {"actor/x": value})
    assert read_metrics(RunRecord(tmp_path)) == []


@pytest.mark.parametrize("step", [0, 1, 2, 4, -1])
def test_only_the_next_step_is_taken(tmp_path, step):
    record = filled(tmp_path, 2)
    with pytest.raises(RecordError, match=rf"step {step} cannot follow step 2; expected 3"):
        MetricsLog(record).append(step, {})
    assert [line["step"] for line in read_metrics(record)] == [1, 2]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 200))
def test_cut_anywhere_reads_the_whole_lines_and_continues(tmp_path_factory, cut):
    record = filled(tmp_path_factory.mktemp("record"), 5)
    content = record.metrics.read_bytes()
    record.metrics.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    assert [line["step"] for line in read_metrics(record)] == list(range(1, whole + 1))
    filled(record.path, 5)
    assert record.metrics.read_bytes() == content


def test_a_broken_line_elsewhere_is_an_error(tmp_path):
    record = filled(tmp_path, 3)
    lines = record.metrics.read_text().splitlines(keepends=True)
    record.metrics.write_text(lines[0] + lines[1][:9] + "\n" + lines[2])
    with pytest.raises(RecordError, match=r"metrics\.jsonl:2 is no JSON"):
        read_metrics(record)
    record.metrics.write_text(lines[0] + lines[0])
    with pytest.raises(RecordError, match=r"metrics\.jsonl:2 holds step 1, expected step 2"):
        read_metrics(record)
    record.metrics.write_text(lines[0] + '{"step": 2}\n')
    with pytest.raises(RecordError, match=r"metrics\.jsonl:2 is no"):
        read_metrics(record)


def test_cut_metrics(tmp_path):
    record = filled(tmp_path, 5)
    assert cut_metrics(record, 3) == 2
    assert cut_metrics(record, 3) == 0
    with pytest.raises(RecordError, match="ends at step 3: cannot be cut to step 4"):
        cut_metrics(record, 4)
    assert [line["step"] for line in read_metrics(record)] == [1, 2, 3]
    filled(tmp_path, 5)
    assert [line["data"]["a"] for line in read_metrics(record)] == [10, 20, 30, 40, 50]
    assert cut_metrics(record, 0) == 5
    assert cut_metrics(RunRecord(tmp_path / "none"), 0) == 0
