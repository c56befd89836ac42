"""The study's twelve benchmarks, on a few rows written by hand in their public schemas."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dataflex_rl.data.benchmarks import text12
from dataflex_rl.data.benchmarks.paper12 import items_of, names, prepare
from dataflex_rl.data.benchmarks.specs import BENCHMARKS
from dataflex_rl.data.tasks.items import Item, read_items
from dataflex_rl.data.tasks.layout import Remote
from dataflex_rl.data.tasks.multidomain3 import DOMAINS
from dataflex_rl.data.tasks.read import read_rows
from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.dispatch import SOURCES, VERIFIERS

DATA = Path(__file__).parent.parent / "data" / "benchmarks"

# The study's item counts, by domain.
TOTALS = {
    "math": {"math500": 500, "aime24": 30, "olympiadbench": 675, "minerva_math": 272, "gsm8k": 1319},
    "logic": {"kk_hard": 200, "bbh_logical_deduction": 750, "bbh_tracking": 750, "zebra_logic_mc": 500},
    "science": {"gpqa_diamond": 198, "mmlu_pro_chemistry": 500, "mmlu_pro_physics": 500},
}


def items(name: str, source: str | Path = DATA) -> list[Item]:
    return items_of(BENCHMARKS[name], source=str(source), seed=0, any_size=True)[0]


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def write(folder: Path, name: str, records: list[dict[str, object]]) -> str:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(folder)


def test_the_counts_and_domains_are_the_studys() -> None:
    found = {domain: {b.name: b.total for b in BENCHMARKS.values() if b.domain == domain} for domain in TOTALS}
    assert found == TOTALS
    assert names("paper12") == tuple(BENCHMARKS)


def test_every_source_has_a_verifier_and_every_verifier_exists() -> None:
    training = {name for sources in DOMAINS.values() for name in sources} | {"text_math", "text_logic", "text_science"}
    assert set(SOURCES) == {*BENCHMARKS, *text12.BENCHMARKS, *training}
    assert set(SOURCES.values()) == set(VERIFIERS)


@pytest.mark.parametrize(
    ("name", "golds"),
    [
        ("math500", ["\\left( 3, \\frac{\\pi}{2} \\right)", "\\frac{1}{2}"]),
        ("aime24", ["294", "33"]),
        ("olympiadbench", ["1, 2", "5"]),
        ("minerva_math", ["4", "4.5e-7"]),
        ("gsm8k", ["45", "30"]),
        ("bbh_logical_deduction", ["C", "B"]),
        ("bbh_tracking", ["C", "A"]),
        ("zebra_logic_mc", ["B", "B"]),
        ("mmlu_pro_chemistry", ["C", "B"]),
        ("mmlu_pro_physics", ["A", "C"]),
    ],
)
def test_each_benchmark_reads_its_public_schema(name: str, golds: list[str]) -> None:
    found = items(name)
    assert [item.gold for item in found] == golds
    limit = 8192 if BENCHMARKS[name].domain == "math" else 4096
    assert {(item.source, item.domain, item.max_new_tokens) for item in found} == {
        (name, BENCHMARKS[name].domain, limit)
    }


def test_kk_hard_has_seven_and_eight_people() -> None:
    assert [item.difficulty for item in items("kk_hard")] == [7, 8]
    assert items("kk_hard")[0].gold.startswith("Ada is a knight, Ben is a knave, ")


def test_gpqa_has_its_options_in_a_stable_order() -> None:
    for item, answer in zip(items("gpqa_diamond"), ["1e-4 eV", "11"], strict=True):
        assert f"({item.gold}) {answer}" in item.question.splitlines()
    assert [item.item_id for item in items("gpqa_diamond")] == ["rec-a1", "rec-b2"]
    assert items("gpqa_diamond") == items("gpqa_diamond")


def test_mmlu_pro_lists_its_options_without_fillers_and_takes_its_category_only() -> None:
    chemistry = items("mmlu_pro_chemistry")
    assert [item.item_id for item in chemistry] == ["3501", "3502"]
    assert chemistry[0].question.splitlines()[-1] == "(J) CsF"
    assert chemistry[1].question.splitlines()[-1] == "(C) 14"


def test_ids_are_stable_whatever_the_order_of_rows(tmp_path: Path) -> None:
    for name in BENCHMARKS:
        turned = items(name, write(tmp_path, name, rows(name)[::-1]))
        assert {item.item_id: item for item in turned} == {item.item_id: item for item in items(name)}


def test_a_larger_source_gives_the_same_subset_whatever_the_order(tmp_path: Path) -> None:
    record = rows("zebra_logic_mc")[0]
    many = [record | {"id": f"mc-{i}", "question": f"Who lives in house {i}?"} for i in range(510)]
    first = items("zebra_logic_mc", write(tmp_path, "zebra_logic_mc", many))
    again = items("zebra_logic_mc", write(tmp_path, "zebra_logic_mc", many[::-1]))
    assert len(first) == 500
    assert {item.item_id for item in first} == {item.item_id for item in again}
    numbers = [int(item.item_id.removeprefix("mc-")) for item in first]
    assert numbers == sorted(numbers)  # in the order of the rows


def test_all_twelve_go_into_one_file_with_a_card(tmp_path: Path) -> None:
    totals = prepare(tmp_path, "paper12", source=str(DATA), any_size=True)
    assert totals == dict.fromkeys(BENCHMARKS, 2)
    assert Counter(item.source for item in read_items(tmp_path / "test.parquet")) == totals
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["limits"] == {"math": 8192, "logic": 4096, "science": 4096}
    assert [entry["source"] for entry in card["sources"]] == list(BENCHMARKS)


def test_another_number_of_items_than_the_studys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"aime24: .* gives 2 items, the study has 30 \(dropped: none\); any_size=true"
    ):
        prepare(tmp_path, "aime24", source=str(DATA))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_missing_column_an_empty_file_and_a_wrong_value_are_errors(name: str, tmp_path: Path) -> None:
    column = BENCHMARKS[name].columns[0]
    with pytest.raises(ConfigError, match=rf"{name}: .* has no column '{column}'"):
        items(name, write(tmp_path, name, [{k: v for k, v in row.items() if k != column} for row in rows(name)]))
    with pytest.raises(ConfigError, match=f"{name}: .* has no rows"):
        items(name, write(tmp_path, name, []))
    text = next(key for key in BENCHMARKS[name].columns if key not in ("id", "Record ID", "question_id"))
    with pytest.raises(ConfigError, match=f"{name}: row 1 is not in the public schema"):
        items(name, write(tmp_path, name, [rows(name)[0], rows(name)[1] | {text: 7}]))


@pytest.mark.parametrize("name", ["math500", "aime24", "gpqa_diamond", "mmlu_pro_physics", "zebra_logic_mc", "gsm8k"])
def test_an_id_that_occurs_twice_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{name}: rows 0 and 1 have the same id"):
        items(name, write(tmp_path, name, [rows(name)[0], rows(name)[0]]))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bbh_tracking", {"target": "(D)"}, r"target '\(D\)' is none of the options"),
        ("zebra_logic_mc", {"answer": "Zed"}, "answer 'Zed' is not one of the choices"),
        ("mmlu_pro_physics", {"answer": "J"}, "answer 'J' is none of 4 options"),
        ("kk_hard", {"names": ["Ada"]}, "1 names .* and 7 roles"),
        ("aime24", {"answer": "about 3"}, "invalid literal"),
        ("gpqa_diamond", {"Incorrect Answer 1": "1e-4 eV"}, "expected 2 to 10 different ones"),
        ("gpqa_diamond", {"Incorrect Answer 1": " "}, "expected 2 to 10 different ones"),
        ("mmlu_pro_physics", {"options": "AB"}, "column 'options' holds 'AB', expected a list of texts"),
        ("mmlu_pro_physics", {"options": [None, "y"]}, "column 'options' holds .*, expected a list of texts"),
        ("mmlu_pro_physics", {"answer": "AB"}, "answer 'AB' is none of 4 options"),
        ("mmlu_pro_physics", {"options": ["N/A", "y"]}, "answer 'A' is 'N/A', which fills up the options"),
        ("zebra_logic_mc", {"choices": ["Ann", "Bo", "Bo"]}, "expected 2 to 10 different ones"),
        ("zebra_logic_mc", {"choices": ["Ann"]}, "expected 2 to 10 different ones"),
        ("zebra_logic_mc", {"choices": ["Ann", ""]}, "expected 2 to 10 different ones"),
        ("bbh_tracking", {"input": "Who?\n(A) x\n(B) x", "target": "(A)"}, "expected 2 to 10 different ones"),
        ("bbh_tracking", {"input": "Who?\n(A) x\n(A) y", "target": "(A)"}, "lettered from A"),
        ("olympiadbench", {"final_answer": [None]}, "column 'final_answer' holds .*, expected a list of texts"),
        ("aime24", {"answer": True}, "invalid literal"),
        ("aime24", {"answer": 3.5}, "invalid literal"),
        ("aime24", {"id": None}, "column 'id' holds NoneType 'None', expected an id"),
        ("kk_hard", {"names": [None, *"BCDEFG"]}, "column 'names' holds .*, expected a list of texts"),
    ],
)
def test_an_answer_that_fits_no_option_is_an_error(
    name: str, change: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        items(name, write(tmp_path, name, [rows(name)[0] | change]))


def test_the_gold_letter_follows_its_option_when_fillers_go() -> None:
    row = {"question_id": 1, "question": "Q", "options": ["x", "N/A", "y", "z"], "answer": "C", "category": "chemistry"}
    item = BENCHMARKS["mmlu_pro_chemistry"].convert(row, 0)
    assert isinstance(item, Item)
    assert item.question == "Q\n(A) x\n(B) y\n(C) z"
    assert item.gold == "B"


@pytest.mark.parametrize("options", [["x", "x"], ["x", ""], ["x"], ["x", "N/A"], [str(i) for i in range(11)]])
def test_options_of_mmlu_pro_that_are_none_are_dropped_and_counted(options: list[str], tmp_path: Path) -> None:
    name = "mmlu_pro_physics"
    records = [rows(name)[0], rows(name)[1] | {"options": options, "answer": "A"}]
    found, loaded = items_of(BENCHMARKS[name], source=write(tmp_path, name, records), seed=0, any_size=True)
    assert len(found) == 1
    assert loaded.dropped == {"options not 2 to 10 different ones": 1}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("kk_hard", {"quiz": " "}), ("zebra_logic_mc", {"puzzle": " "}), ("zebra_logic_mc", {"question": ""}),
        ("mmlu_pro_physics", {"question": ""}), ("gpqa_diamond", {"Question": ""}), ("aime24", {"problem": "\n"}),
        ("bbh_tracking", {"input": "Options:\n(A) x\n(B) y", "target": "(A)"}),
    ],
)  # fmt: skip
def test_a_blank_question_is_dropped_and_counted(name: str, change: dict[str, object], tmp_path: Path) -> None:
    source = write(tmp_path, name, [rows(name)[0], rows(name)[1] | change])
    found, loaded = items_of(BENCHMARKS[name], source=source, seed=0, any_size=True)
    assert (len(found), loaded.dropped) == (1, {"no question": 1})


def test_answers_of_olympiadbench_lose_their_dollar_signs_and_blank_ones_are_dropped() -> None:
    row = rows("olympiadbench")[0]
    convert = BENCHMARKS["olympiadbench"].convert
    for golds, gold in ((["$1$, $2$"], "1, 2"), (["$1$", "$2$"], "1, 2"), (["7"], "7")):
        item = convert(row | {"final_answer": golds}, 0)
        assert isinstance(item, Item)
        assert item.gold == gold
    assert convert(row | {"final_answer": ["$1$", " "]}, 0) == "no answer"


def test_a_gated_set_that_the_hub_refuses_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    gated = Remote(repo="nobody/nothing-here", split="train", gated=True)
    with pytest.raises(
        ConfigError, match=r"cannot be read .* it is gated: accept its terms on its page, log in with `hf auth login`"
    ):
        read_rows("gpqa_diamond", gated, ("Question",), "hub")
    with pytest.raises(ConfigError, match=r"cannot be read from the hub .* pass source=PATH with a local copy"):
        read_rows("math500", Remote(repo="nobody/nothing-here", split="test"), ("problem",), "hub")
