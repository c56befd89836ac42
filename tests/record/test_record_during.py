"""Evaluations during training: counted from their items, each step once, cut with the metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataflex_rl.record import RecordError, RunRecord, read_evaluation, write_evaluation
from dataflex_rl.record.during import check_during, cut_during, read_during, write_during
from tests.record.test_record_evaluation import TRAINED, UNTRAINED, items

SPENT = {"generated": 120, "trained": 60}


def written(folder: Path, *steps: int) -> RunRecord:
    """A record with an evaluation after each step: `step` of four items right."""
    record = RunRecord(folder)
    for step in steps:
        marks = {"math_a": [number < step for number in range(4)]}
        write_during(record, items("trained", marks), step=step, tokens={"generated": 100 * step, "trained": None})
    return record


def test_an_entry_is_counted_from_its_items(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    write_during(record, items("trained", TRAINED), step=5, tokens=SPENT)
    benchmarks = {"logic_b": {"correct": 2, "total": 2}, "math_a": {"correct": 2, "total": 3}}
    assert read_during(record) == [{"step": 5, "benchmarks": benchmarks, "tokens": SPENT}]
    lines = [json.loads(line) for line in record.eval_during.read_text().splitlines()]
    assert [(line["step"], line["benchmark"], line["item"], line["correct"]) for line in lines] == [
        (5, "math_a", 0, True), (5, "math_a", 1, True), (5, "math_a", 2, False),
        (5, "logic_b", 0, True), (5, "logic_b", 1, True),
    ]  # fmt: skip
    check_during(record)


def test_each_step_is_there_once_and_later_ones_go_with_it(tmp_path: Path) -> None:
    record = written(tmp_path, 1, 2, 3, 2)  # the third was made, then the run went on from a checkpoint before it
    assert [(entry["step"], entry["benchmarks"]["math_a"]["correct"]) for entry in read_during(record)] == [
        (1, 1),
        (2, 2),
    ]
    assert len(record.eval_during.read_text().splitlines()) == 8
    check_during(record)


@pytest.mark.parametrize(("step", "left"), [(0, []), (1, [1]), (2, [1, 2]), (9, [1, 2])])
def test_what_is_beyond_a_step_is_cut(step: int, left: list[int], tmp_path: Path) -> None:
    record = written(tmp_path, 1, 2)
    cut_during(record, step)
    assert [entry["step"] for entry in read_during(record)] == left
    assert len(record.eval_during.read_text().splitlines()) == 4 * len(left)
    check_during(record)


def test_the_two_models_are_kept_beside_it(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    write_during(record, items("trained", TRAINED), step=5, tokens=SPENT)
    write_evaluation(record, items("trained", TRAINED), steps=10)
    write_during(record, items("trained", TRAINED), step=10, tokens=SPENT)
    found = read_evaluation(record)
    assert found is not None
    assert found["steps"] == 10
    assert found["benchmarks"]["math_a"]["untrained"]["correct"] == 1
    assert found["benchmarks"]["math_a"]["trained"]["correct"] == 2
    assert [entry["step"] for entry in found["during"]] == [5, 10]


def test_older_records_have_none(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    assert read_during(record) == []
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    assert read_during(record) == []
    before = record.eval.read_bytes()
    cut_during(record, 3)
    check_during(record)
    assert record.eval.read_bytes() == before


def test_counts_that_are_not_those_of_the_items_are_refused(tmp_path: Path) -> None:
    record = written(tmp_path, 1, 2)
    value = json.loads(record.eval.read_text())
    value["during"][1]["benchmarks"]["math_a"]["correct"] = 4
    record.eval.write_text(json.dumps(value))
    with pytest.raises(
        RecordError, match=r"during, step 2 is .*\"correct\": 4.*eval_during.jsonl counts .*\"correct\": 2"
    ):
        check_during(record)


def test_broken_files_are_named_and_left_alone(tmp_path: Path) -> None:
    record = written(tmp_path, 1, 2)
    record.eval_during.write_text("no json\n")
    with pytest.raises(RecordError, match=r"eval_during.jsonl:1 is no item of a step"):
        cut_during(record, 1)
    assert [entry["step"] for entry in read_during(record)] == [1, 2]
    record.eval.write_text(json.dumps({"benchmarks": {}, "during": 3}))
    with pytest.raises(RecordError, match="during is no list of evaluations with their step"):
        read_during(record)
