"""The training sources, on a few rows written by hand in their public schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from dataflex_rl.data.tasks.items import Item
from dataflex_rl.data.tasks.public import SOURCES, math_item
from dataflex_rl.data.tasks.source import load, seeded_order
from dataflex_rl.errors import ConfigError

DATA = Path(__file__).parent.parent / "data"


def golds(name: str) -> list[str]:
    return [item.gold for item in load(SOURCES[name], str(DATA), seed=0).items]


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def write(folder: Path, name: str, records: list[dict[str, object]]) -> str:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(folder)


@pytest.mark.parametrize(
    ("name", "expected", "dropped"),
    [
        ("gsm8k", ["16", "1425", "70"], {"repeated question": 1, "no answer": 1}),
        ("deepscaler", ["9", "5\\pi", "\\frac{3}{8}"], {"no answer": 1, "answer fits no box": 1}),
        ("dapo_math_17k", ["90", "10", "97"], {"repeated question": 1}),
        (
            "knights_and_knaves",
            [
                "Iris is a knight, Otto is a knave",
                "Pia is a knave, Quinn is a knight, Rolf is a knight",
                "Uma is a knight, Vera is a knight",
            ],
            {"other words than knight and knave": 1},
        ),
    ],
)
def test_each_source_reads_its_public_schema(name: str, expected: list[str], dropped: dict[str, int]) -> None:
    loaded = load(SOURCES[name], str(DATA), seed=0)
    assert [item.gold for item in loaded.items] == expected
    assert loaded.dropped == dropped
    assert loaded.rows == len(expected) + sum(dropped.values())
    assert {item.source for item in loaded.items} == {name}


def test_sciq_has_four_options_in_a_seeded_order() -> None:
    loaded = load(SOURCES["sciq"], str(DATA), seed=0)
    assert loaded.dropped == {"fewer than 4 different options": 1}
    right = ["carbon dioxide", "mantle", "ohm"]
    for item, answer in zip(loaded.items, right, strict=True):
        assert f"({item.gold}) {answer}" in item.question.splitlines()
    assert load(SOURCES["sciq"], str(DATA), seed=0).items == loaded.items
    others = [tuple(item.gold for item in load(SOURCES["sciq"], str(DATA), seed=seed).items) for seed in range(20)]
    assert len(set(others)) > 5


def test_dapo_loses_the_answer_format_of_its_own_prompts() -> None:
    questions = [item.question for item in load(SOURCES["dapo_math_17k"], str(DATA), seed=0).items]
    assert questions[1] == "How many three-digit numbers have digits that add up to $4$?"
    assert not any("Answer:" in question for question in questions)


def test_the_difficulty_of_knights_is_the_number_of_people() -> None:
    assert [item.difficulty for item in load(SOURCES["knights_and_knaves"], str(DATA), seed=0).items] == [2, 3, 2]


@pytest.mark.parametrize("name", SOURCES)
def test_a_missing_column_is_named(name: str, tmp_path: Path) -> None:
    column = SOURCES[name].columns[0]
    records = [{key: value for key, value in row.items() if key != column} for row in rows(name)]
    with pytest.raises(ConfigError, match=rf"{name}: .* has no column '{column}'; expected .*; it has: "):
        load(SOURCES[name], write(tmp_path, name, records), seed=0)


@pytest.mark.parametrize("name", SOURCES)
def test_an_empty_file_and_a_missing_one_are_errors(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{name}: source=.* has no {name}"):
        load(SOURCES[name], str(tmp_path), seed=0)
    with pytest.raises(ConfigError, match=f"{name}: .* has no rows"):
        load(SOURCES[name], write(tmp_path, name, []), seed=0)


@pytest.mark.parametrize("name", SOURCES)
def test_a_value_of_the_wrong_kind_is_an_error_with_its_row(name: str, tmp_path: Path) -> None:
    records = [rows(name)[0], rows(name)[1] | {SOURCES[name].columns[0]: 7}]
    with pytest.raises(ConfigError, match=f"{name}: row 1 is not in the public schema"):
        load(SOURCES[name], write(tmp_path, name, records), seed=0)


def test_parquet_csv_json_and_folders_of_parts_read_alike(tmp_path: Path) -> None:
    records = rows("gsm8k")
    frame = pd.DataFrame(records)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "a.json").write_text(json.dumps(records))
    (tmp_path / "parts" / "gsm8k" / "main").mkdir(parents=True)
    frame[:2].to_parquet(tmp_path / "parts" / "gsm8k" / "main" / "0.parquet")
    frame[2:].to_parquet(tmp_path / "parts" / "gsm8k" / "main" / "1.parquet")
    for where in ("a.parquet", "a.csv", "a.json", "parts"):
        assert (
            load(SOURCES["gsm8k"], str(tmp_path / where), seed=0).items
            == load(SOURCES["gsm8k"], str(DATA), seed=0).items
        )


@pytest.mark.parametrize(("name", "text"), [("gsm8k.jsonl", "{"), ("gsm8k.parquet", "no"), ("gsm8k.json", "[1]")])
def test_a_broken_file_is_an_error(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=name):
        load(SOURCES["gsm8k"], str(tmp_path), seed=0)


def test_a_seeded_order_does_not_depend_on_the_order_of_the_rows() -> None:
    items = load(SOURCES["gsm8k"], str(DATA), seed=0).items
    assert seeded_order(items, 3) == seeded_order(items[::-1], 3)
    assert len({tuple(item.item_id for item in seeded_order(items, seed)) for seed in range(10)}) > 1


@pytest.mark.parametrize(
    ("reason", "golds"),
    [
        ("no answer", ["", "$ $"]),
        ("answer fits no box", ["{", "1\x002", r"\boxed{1}", "1" * 500]),
        ("answer cannot be read", [r"\frac", r"\frac{1}", r"\frac{}{2}", r"2\frac{1}{\frac{3}}", "%", r"\%", "..."]),
        ("answer cannot be read", [r"\text{}", r"\text{see figure}", "See the graph.", r"\left( \right)"]),
    ],
)
def test_an_answer_that_cannot_be_graded_is_dropped(reason: str, golds: list[str]) -> None:
    assert [math_item("gsm8k", "1+1?", gold) for gold in golds] == [reason] * len(golds)


GRADED = (
    *("7", "-3.5", r"50\%", r"\$5", r"60^\circ", r"\pi", r"\infty", "∞", r"\emptyset", "x", "1,\n2", r"\{1, 2\}"),
    *(r"\frac12", r"\frac{1}{2}", r"\frac\pi 2", r"\dfrac{\sqrt{3}}3", r"\left( 3, \frac{\pi}{2} \right)"),
    *(r"\text{Evelyn}", r"\text{(C)}", r"\text{no real roots}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
)


@pytest.mark.parametrize("gold", GRADED)
def test_an_answer_that_can_be_graded_stays_as_it_is(gold: str) -> None:
    made = math_item("gsm8k", "1+1?", gold)
    assert isinstance(made, Item)
    assert made.gold == gold


def test_signs_around_formulas_go_and_amounts_stay() -> None:
    for gold, plain in (("$1$, $2$", "1, 2"), ("$$5$$", "5"), (r"$5\$$", r"5\$"), ("$x$ or $y$", "x or y")):
        made = math_item("gsm8k", "1+1?", gold)
        assert isinstance(made, Item)
        assert made.gold == plain


@pytest.mark.parametrize(
    ("name", "column"), [("sciq", "question"), ("knights_and_knaves", "quiz"), ("gsm8k", "question")]
)
def test_a_blank_question_is_dropped_and_counted(name: str, column: str, tmp_path: Path) -> None:
    records = [rows(name)[0], rows(name)[1] | {column: " \n"}]
    loaded = load(SOURCES[name], write(tmp_path, name, records), seed=0)
    assert (len(loaded.items), loaded.dropped) == (1, {"no question": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["Iris", None]}, "column 'names' holds .* expected a list of texts"),
        ({"names": "Io"}, "column 'names' holds 'Io', expected a list of texts"),
        ({"names": ["Iris", "IRIS"]}, r"2 names \['Iris', 'IRIS'\] and 2 roles"),
        ({"names": ["Iris", " "]}, "row 0 is not in the public schema"),
        ({"names": ["Iris", "Bo is a knight, Al"]}, "row 0 is not in the public schema"),
        ({"solution": "TF"}, "column 'solution' holds 'TF', expected a list"),
    ],
)
def test_people_must_have_names_that_can_be_told_apart(change: dict[str, object], message: str, tmp_path: Path) -> None:
    records = [rows("knights_and_knaves")[0] | change]
    with pytest.raises(ConfigError, match=message):
        load(SOURCES["knights_and_knaves"], write(tmp_path, "knights_and_knaves", records), seed=0)


@pytest.mark.parametrize("truth", [None, True, 1.5, ["1"]])
def test_the_truth_of_dapo_is_text_or_an_integer(truth: object, tmp_path: Path) -> None:
    records = [rows("dapo_math_17k")[0] | {"reward_model": {"ground_truth": truth}}]
    with pytest.raises(ConfigError, match="row 0 is not in the public schema: the ground truth is"):
        load(SOURCES["dapo_math_17k"], write(tmp_path, "dapo_math_17k", records), seed=0)
