"""Local folders in the layouts of the hub: the declared configuration and split are read, or files are named."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataflex_rl.data.benchmarks.paper12 import items_of
from dataflex_rl.data.benchmarks.specs import BENCHMARKS, Benchmark
from dataflex_rl.data.tasks import layout
from dataflex_rl.data.tasks.layout import choose
from dataflex_rl.data.tasks.public import SOURCES
from dataflex_rl.data.tasks.read import read_file
from dataflex_rl.data.tasks.source import Source, load
from dataflex_rl.errors import ConfigError
from tests.record.faults import refused

DATA = Path(__file__).parent.parent / "data"
SOLE = ("aime24", "olympiadbench", "gpqa_diamond")  # the hub has one split of them, called train

# How the hub stores each: files of the evaluated rows, and files of other rows beside them.
HUB = {
    "math500": (["test.jsonl"], ["train.jsonl"]),
    "aime24": (["data/train-00000-of-00001.parquet"], []),
    "olympiadbench": (
        ["OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet"],
        ["OE_TO_physics_en_COMP/OE_TO_physics_en_COMP.parquet", "TP_TO_maths_en_COMP/TP_TO_maths_en_COMP.parquet"],
    ),
    "minerva_math": (["test.jsonl"], ["train.jsonl", "validation.jsonl"]),
    "gsm8k": (
        ["main/test-00000-of-00001.parquet"],
        ["main/train-00000-of-00001.parquet", "socratic/test-00000-of-00001.parquet", "socratic/train-0.parquet"],
    ),
    "kk_hard": (
        ["test/people7_num100.jsonl", "test/people8_num100.jsonl"],
        ["test/people2_num100.jsonl", "train/people7_num1000.jsonl", "train/people8_num1000.jsonl"],
    ),
    "bbh_logical_deduction": (
        [f"logical_deduction_{n}_objects/test-00000-of-00001.parquet" for n in ("three", "five", "seven")],
        ["date_understanding/test-00000-of-00001.parquet"],
    ),
    "bbh_tracking": (
        [f"data/tracking_shuffled_objects_{n}_objects.json" for n in ("three", "five", "seven")],
        ["data/web_of_lies.json", "data/logical_deduction_five_objects.json"],
    ),
    "zebra_logic_mc": (["mc_mode/test-00000-of-00001.parquet"], ["grid_mode/test-00000-of-00001.parquet"]),
    "gpqa_diamond": (["gpqa_diamond.csv"], ["gpqa_main.csv", "gpqa_extended.csv"]),
    "mmlu_pro_chemistry": (["data/test-00000-of-00001.parquet"], ["data/validation-00000-of-00001.parquet"]),
    "mmlu_pro_physics": (["data/test-00000-of-00001.parquet"], ["data/validation-00000-of-00001.parquet"]),
}


def rows(name: str, folder: Path = DATA / "benchmarks") -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def write(path: Path, records: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        header = ",".join(records[0])
        path.write_text("\n".join([header, *(",".join(map(json.dumps, row.values())) for row in records)]))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


def marked(record: dict[str, object], mark: str) -> dict[str, object]:
    """Return a row of another split: the same, but for its question and its id."""
    keys = ("problem", "question", "quiz", "input", "Question", "unique_id", "id", "Record ID", "question_id")
    return {
        key: f"{value} {mark}" if key in keys and isinstance(value, str) and value.strip() else value
        for key, value in record.items()
    }


def found(name: str, source: Path, where: Benchmark | None = None) -> set[str]:
    items, _ = items_of(where or BENCHMARKS[name], source=str(source), seed=0, any_size=True)
    return {item.item_id for item in items}


@pytest.fixture
def hub_ids() -> dict[str, set[str]]:
    return {name: found(name, DATA / "benchmarks") for name in BENCHMARKS}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_copy_of_the_hub_gives_the_evaluated_rows_alone(
    name: str, tmp_path: Path, hub_ids: dict[str, set[str]]
) -> None:
    ours, others = HUB[name]
    for number, file in enumerate(ours):
        write(tmp_path / name / file, rows(name)[number :: len(ours)] or [marked(rows(name)[0], "more")])
    for file in others:
        write(tmp_path / name / file, [marked(row, file) for row in rows(name)])
    extra = hub_ids[name] | found_extra(name, len(ours))
    assert found(name, tmp_path) == extra
    chosen = choose(name, BENCHMARKS[name].remote, str(tmp_path))
    assert {str(file.relative_to(tmp_path / name)) for file in chosen.files} == set(ours)
    assert set(chosen.left_out) == set(others)


def found_extra(name: str, files: int) -> set[str]:
    """Return the id of the row that fills the third file of a benchmark of two rows, where there is one."""
    if files <= len(rows(name)):
        return set()
    item = BENCHMARKS[name].convert(marked(rows(name)[0], "more"), 0)
    assert not isinstance(item, str)
    return {item.item_id}


@pytest.mark.parametrize("name", BENCHMARKS)
@pytest.mark.parametrize("layout", ["{}-00000-of-00001.parquet", "{}.jsonl", "{}/rows.json", "data/my_{}_rows.jsonl"])
def test_a_folder_with_train_and_test_files_gives_test_rows_or_names_both(
    name: str, layout: str, tmp_path: Path, hub_ids: dict[str, set[str]]
) -> None:
    folder = tmp_path / name
    write(folder / layout.format("test"), rows(name))
    write(folder / layout.format("train"), [marked(row, "train") for row in rows(name)])
    if name in SOLE:
        with pytest.raises(ConfigError, match=rf"{name}: .* which rows are meant\? .*test.*train.*pass source=FILE"):
            found(name, tmp_path)
        assert found(name, folder / layout.format("test")) == hub_ids[name]
        (folder / layout.format("train")).unlink()
    assert found(name, tmp_path) == hub_ids[name]
    if name not in SOLE:
        (folder / layout.format("test")).unlink()
        with pytest.raises(ConfigError, match=rf"{name}: .*train"):
            found(name, tmp_path)


@pytest.mark.parametrize("name", SOURCES)
def test_a_training_source_takes_the_rows_of_its_training_split_alone(name: str, tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        write(tmp_path / name / f"{split}.jsonl", [marked(row, split) for row in rows(name, DATA)])
    plain = load(SOURCES[name], str(DATA), seed=0)
    loaded = load(SOURCES[name], str(tmp_path), seed=0)
    assert (loaded.rows, len(loaded.items)) == (plain.rows, len(plain.items))
    if name != "dapo_math_17k":  # its question is inside a message
        assert all(" train" in item.question for item in loaded.items)
        assert not any(" test" in item.question or " validation" in item.question for item in loaded.items)


def test_a_split_may_stand_in_the_name_beside_other_datasets(tmp_path: Path, hub_ids: dict[str, set[str]]) -> None:
    write(tmp_path / "gsm8k_test.jsonl", rows("gsm8k")[:2])
    write(tmp_path / "gsm8k-train.jsonl", [marked(row, "train") for row in rows("gsm8k")])
    write(tmp_path / "gsm8k_notes.jsonl", [{"note": "no split, so another dataset"}])
    assert choose("gsm8k", BENCHMARKS["gsm8k"].remote, str(tmp_path)).left_out == {"gsm8k-train.jsonl": "split train"}
    assert found("gsm8k", tmp_path) == hub_ids["gsm8k"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["gsm8k/test.jsonl", "gsm8k/0.jsonl"], "which rows are meant. 0.jsonl say no split beside others that do"),
        (["gsm8k/train.jsonl"], "train.jsonl are not all of split 'test'"),
        (["gsm8k/socratic/test.jsonl"], "has socratic/test.jsonl, which name no configuration 'main'"),
        (["gsm8k/train_and_test.jsonl"], "train_and_test.jsonl names test and train; expected one split"),
        (["gsm8k/test-00001-of-00003.jsonl", "gsm8k/test-00002-of-00003.jsonl"], "test-.: part 00000 of 3 is missing"),
        (["gsm8k/test.jsonl", "gsm8k/more.jsonl.gz"], "has gsm8k/more.jsonl.gz; expected .*.csv alone"),
        (["gsm8k.jsonl", "gsm8k_test.jsonl"], "gsm8k.jsonl say no split beside others"),
    ],
)
def test_files_that_do_not_say_which_rows_are_meant_are_named(files: list[str], message: str, tmp_path: Path) -> None:
    for file in files:
        write(tmp_path / file, rows("gsm8k")[:1])
    with pytest.raises(ConfigError, match=message):
        found("gsm8k", tmp_path)


def test_missing_configurations_and_splits_are_named(tmp_path: Path) -> None:
    name = "bbh_tracking"
    write(tmp_path / name / "tracking_shuffled_objects_five_objects" / "test.jsonl", rows(name))
    with pytest.raises(ConfigError, match="has no file of configuration 'tracking_shuffled_objects_three_objects' or"):
        found(name, tmp_path)
    write(tmp_path / "kk_hard" / "test" / "people7_num100.jsonl", rows("kk_hard"))
    with pytest.raises(ConfigError, match=r"has no file of split '8ppl', only test/people7_num100.jsonl"):
        found("kk_hard", tmp_path)


def test_a_named_file_is_read_unless_its_name_says_another_split(tmp_path: Path, hub_ids: dict[str, set[str]]) -> None:
    for file in ("mine.jsonl", "test-a.jsonl", "train-a.jsonl"):
        write(tmp_path / file, rows("gsm8k")[:2])
    for file in ("mine.jsonl", "test-a.jsonl"):
        assert found("gsm8k", tmp_path / file) == hub_ids["gsm8k"]
    with pytest.raises(ConfigError, match=r"train-a.jsonl names split 'train'; expected 'test'"):
        found("gsm8k", tmp_path / "train-a.jsonl")


def test_hidden_files_and_descriptions_of_a_dataset_are_no_rows(tmp_path: Path, hub_ids: dict[str, set[str]]) -> None:
    write(tmp_path / "gsm8k" / "test.jsonl", rows("gsm8k"))
    for file in (".cache/huggingface/x.json", "dataset_infos.json"):
        write(tmp_path / "gsm8k" / file, [{"no": "row"}])
    (tmp_path / "gsm8k" / "README.md").write_text("---")
    assert found("gsm8k", tmp_path) == hub_ids["gsm8k"]


def test_rows_that_name_another_split_are_dropped_and_counted(tmp_path: Path) -> None:
    records = [rows("gsm8k")[0] | {"split": "test"}, marked(rows("gsm8k")[1], "x") | {"split": "train"}]
    write(tmp_path / "gsm8k.jsonl", records)
    loaded = load(BENCHMARKS["gsm8k"], str(tmp_path), seed=0)
    assert (len(loaded.items), loaded.dropped) == (1, {"split train": 1})
    write(tmp_path / "aime24.jsonl", [row | {"split": s} for row, s in zip(rows("aime24"), ("a", "b"), strict=True)])
    assert len(load(BENCHMARKS["aime24"], str(tmp_path), seed=0).items) == 2  # the column says something else
    splits = ("train", "test")
    write(tmp_path / "aime24.jsonl", [row | {"split": s} for row, s in zip(rows("aime24"), splits, strict=True)])
    with pytest.raises(ConfigError, match="aime24: column 'split' holds test, train; expected the rows of one split"):
        load(BENCHMARKS["aime24"], str(tmp_path), seed=0)


def test_a_surplus_is_never_a_subset_unnoticed(tmp_path: Path) -> None:
    records = [marked(rows("aime24")[0], str(number)) | {"id": f"i{number}"} for number in range(31)]
    write(tmp_path / "aime24.jsonl", records)
    with pytest.raises(ConfigError, match=r"aime24: .* gives 31 items, the study has 30 \(dropped: none\)"):
        items_of(BENCHMARKS["aime24"], source=str(tmp_path), seed=0, any_size=False)
    assert len(found("aime24", tmp_path)) == 31
    many = [rows("zebra_logic_mc")[0] | {"id": f"mc-{i}", "question": f"Who lives in house {i}?"} for i in range(510)]
    write(tmp_path / "zebra_logic_mc.jsonl", many)
    items, loaded = items_of(BENCHMARKS["zebra_logic_mc"], source=str(tmp_path), seed=0, any_size=False)
    assert (len(items), loaded.dropped) == (500, {"outside the study's subset": 10})


def test_puzzles_with_fewer_people_are_not_in_kk_hard(tmp_path: Path) -> None:
    small = {"quiz": "Two people.", "names": ["Ada", "Ben"], "solution": [True, False]}
    write(tmp_path / "kk_hard.jsonl", [rows("kk_hard")[0], rows("kk_hard")[0] | small])
    loaded = load(BENCHMARKS["kk_hard"], str(tmp_path), seed=0)
    assert (len(loaded.items), loaded.dropped) == (1, {"fewer than 7 people": 1})


@pytest.mark.parametrize("row", ["1", "1,2,3"])
def test_a_row_of_a_table_with_other_cells_than_the_header_is_refused(row: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"question,answer\nx,#### 1\n{row}\n")
    with pytest.raises(ConfigError, match=re.escape(f"(line 3: {len(row.split(','))} cells, the header has 2)")):
        read_file(tmp_path / "a.csv")


def test_every_training_source_and_benchmark_declares_what_it_reads() -> None:
    declared: list[Source] = [*SOURCES.values(), *BENCHMARKS.values()]
    assert all(source.remote.kinds() for source in declared)
    assert {source.name for source in declared if source.remote.sole} == set(SOLE)


def test_a_folder_that_cannot_be_read_is_not_called_empty(tmp_path: Path) -> None:
    file = tmp_path / "gsm8k" / "main" / "train.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("{}\n")
    for folder in (file.parent, file.parent.parent):
        with refused(folder, errno.EACCES), pytest.raises(ConfigError, match=r"cannot be read \(Permission denied\)"):
            choose("gsm8k", SOURCES["gsm8k"].remote, str(tmp_path))
    assert choose("gsm8k", SOURCES["gsm8k"].remote, str(tmp_path)).files == [file]


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("trainset", {"train"}), ("testset", {"test"}), ("TrainSplit", {"train"}), ("traindata", {"train"}),
        ("test_files", {"test"}), ("gsm8k-tst", {"test"}), ("myTestRows2", {"test"}), ("VALIDATION", {"validation"}),
        ("latest", set()), ("contest", set()), ("strain", set()), ("dataset", set()), ("questions", set()),
        ("trainset_testset", {"train", "test"}),
    ],
)  # fmt: skip
def test_what_a_name_says_of_its_split(part: str, kinds: set[str]) -> None:
    assert layout._kinds(part) == kinds
