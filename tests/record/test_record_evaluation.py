"""eval.json: counted from items, untrained once, same items."""

import json

import pytest

from dataflex_rl.record import RecordError, RunRecord, has_evaluation, read_evaluation, write_evaluation


def items(phase, right):
    """Items of two benchmarks; `right` maps benchmark to its correctness list."""
    return [
        {
            "phase": phase,
            "benchmark": name,
            "domain": name.split("_")[0],
            "item": number,
            "correct": correct,
            "pred": "4",
            "gold": "5",
            "tokens": 7,
            "truncated": False,
        }
        for name, marks in right.items()
        for number, correct in enumerate(marks)
    ]


UNTRAINED = {"math_a": [True, False, False], "logic_b": [False, False]}
TRAINED = {"math_a": [True, True, False], "logic_b": [True, True]}


def test_eval_is_counted_from_items(tmp_path):
    record = RunRecord(tmp_path)
    assert read_evaluation(record) is None
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    assert has_evaluation(record, "untrained")
    assert not has_evaluation(record, "trained")
    write_evaluation(record, items("trained", TRAINED), steps=60)
    assert json.loads(record.eval.read_text()) == {
        "schema": 1,
        "benchmarks": {
            "logic_b": {
                "domain": "logic",
                "untrained": {"correct": 0, "total": 2, "accuracy": 0.0},
                "trained": {"correct": 2, "total": 2, "accuracy": 1.0},
            },
            "math_a": {
                "domain": "math",
                "untrained": {"correct": 1, "total": 3, "accuracy": 1 / 3},
                "trained": {"correct": 2, "total": 3, "accuracy": 2 / 3},
            },
        },
        "steps": 60,
    }
    lines = [json.loads(line) for line in record.eval_items.read_text().splitlines()]
    assert lines == items("untrained", UNTRAINED) + items("trained", TRAINED)


def test_untrained_is_measured_once(tmp_path):
    record = RunRecord(tmp_path)
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    before = record.eval.read_bytes()
    with pytest.raises(RecordError, match="has the untrained model already; it is measured once"):
        write_evaluation(record, items("untrained", TRAINED), steps=0)
    assert record.eval.read_bytes() == before


def test_trained_again_after_a_kill_replaces_itself_only(tmp_path):
    record = RunRecord(tmp_path)
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    write_evaluation(record, items("trained", UNTRAINED), steps=60)
    write_evaluation(record, items("trained", TRAINED), steps=60)
    assert read_evaluation(record)["benchmarks"]["math_a"]["untrained"]["correct"] == 1
    assert read_evaluation(record)["benchmarks"]["math_a"]["trained"]["correct"] == 2
    assert len(record.eval_items.read_text().splitlines()) == 10


def test_a_kill_between_items_and_counts_is_made_good(tmp_path):
    record = RunRecord(tmp_path)
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    record.eval.unlink()
    assert not has_evaluation(record, "untrained")
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    assert read_evaluation(record)["benchmarks"]["math_a"]["untrained"]["total"] == 3
    assert len(record.eval_items.read_text().splitlines()) == 5


def test_both_phases_need_the_same_items(tmp_path):
    record = RunRecord(tmp_path)
    write_evaluation(record, items("untrained", UNTRAINED), steps=0)
    with pytest.raises(RecordError, match=r"1 items are not in both phases, the first is '2' of math_a"):
        write_evaluation(record, items("trained", {"math_a": [True, True], "logic_b": [True, True]}), steps=60)
    assert not has_evaluation(record, "trained")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"correct": 1}, "item 0: correct=1, expected true or false"),
        ({"correct": None}, "correct=None"),
        ({"phase": "after"}, "phase 'after'; expected one of untrained, trained"),
        ({"item": 1}, "item 1 of math_a is there twice"),
        ({"domain": "logic"}, "benchmark math_a has two domains: logic, math"),
    ],
)
def test_bad_items_are_named_and_nothing_is_written(tmp_path, change, says):
    record = RunRecord(tmp_path)
    good = items("trained", UNTRAINED)
    with pytest.raises(RecordError, match=says):
        write_evaluation(record, [{**good[0], **change}, *good[1:]], steps=60)
    assert list(tmp_path.iterdir()) == []


def test_missing_keys_and_no_items(tmp_path):
    record = RunRecord(tmp_path)
    with pytest.raises(RecordError, match="no items to write"):
        write_evaluation(record, [], steps=0)
    lacking = {key: value for key, value in items("trained", UNTRAINED)[0].items() if key not in ("gold", "tokens")}
    with pytest.raises(RecordError, match="an item lacks gold, tokens"):
        write_evaluation(record, [lacking], steps=0)


def test_broken_files_are_named(tmp_path):
    record = RunRecord(tmp_path)
    record.eval.write_text("{}")
    with pytest.raises(RecordError, match=r"eval\.json has no benchmarks"):
        read_evaluation(record)
    record.eval.unlink()
    record.eval_items.write_text('{"phase"')
    with pytest.raises(RecordError, match=r"eval_items\.jsonl:1 is no JSON"):
        write_evaluation(record, items("untrained", UNTRAINED), steps=0)
