"""Local files of raw rows: what separates lines, how a file may begin, what is ambiguous or broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataflex_rl.data.tasks.public import SOURCES
from dataflex_rl.data.tasks.read import read_file, read_rows
from dataflex_rl.errors import ConfigError

ROWS = [{"question": "1\u2028+\u00851?", "answer": "#### 2"}, {"question": "2\x0b+\u20292?", "answer": "#### 4"}]


def read(path: Path) -> list[dict[str, object]]:
    return read_rows("gsm8k", SOURCES["gsm8k"].remote, ("question", "answer"), str(path))


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    rows = [ROWS[0], {"question": "2\u2029+2?", "answer": "#### 4"}]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    assert read_file(tmp_path / "a.jsonl") == rows
    text = "question,answer\r\n" + "".join(f'"{row["question"]}\n!",{row["answer"]}\r\n' for row in ROWS)
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert read_file(tmp_path / "a.csv") == [row | {"question": f"{row['question']}\n!"} for row in ROWS]


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    rows = [{"question": "1+1?", "answer": "#### 2"}]
    for name, text in (
        ("a.jsonl", json.dumps(rows[0])), ("a.json", json.dumps(rows)), ("a.csv", "question,answer\n1+1?,#### 2\n"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8-sig")
        assert read(tmp_path / name) == rows


def test_the_case_of_a_suffix_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "gsm8k.JSONL").write_text('{"question": "1+1?", "answer": "#### 2"}')
    assert read(tmp_path) == read(tmp_path / "gsm8k.JSONL") == [{"question": "1+1?", "answer": "#### 2"}]


def test_two_files_of_one_dataset_are_ambiguous(tmp_path: Path) -> None:
    for name in ("gsm8k.csv", "gsm8k.jsonl", "gsm8k/0.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[]")
    with pytest.raises(ConfigError, match=r"gsm8k: source=.* has gsm8k.csv and gsm8k.jsonl and gsm8k/; expected one"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"question": ""}\n\n{"question" 1}\n', r"a.jsonl: cannot be read \(line 3 column 13: Expecting"),
        ("a.json", "[" * 200_000, r"a.json: cannot be read \(maximum recursion depth"),
        ("a.csv", f"question,answer\n{'x' * 200_000},1\n", r"a.csv: cannot be read \(field larger than field limit"),
    ],
)
def test_a_broken_file_says_where(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "message"),
    [("~nouser-here/x", "there is no such home folder"), ("/tmp/" + "x" * 300, "cannot be read .File name too long")],
)
def test_a_path_that_cannot_be_is_refused(source: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_rows("gsm8k", SOURCES["gsm8k"].remote, ("question",), source)
