"""Items, their rows and files, and the gate that every gold answer grades as correct."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.utils.dataset.rl_dataset import RLHFDataset

from dataflex_rl.data.tasks.items import Item, check_items, prompt_of, read_items, to_row, write_items
from dataflex_rl.data.tasks.options import with_options
from dataflex_rl.data.tiny.tokenizer import build_tokenizer
from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards import choice, knights, math

SCIENCE = Item(source="sciq", domain="science", item_id="a", question="Which?\n(A) x\n(B) y", gold="B", difficulty=2)
MATH = Item(source="math500", domain="math", item_id="b", question="2+2?", gold="4", max_new_tokens=8192)
LOGIC = Item(source="kk_hard", domain="logic", item_id="c", question="Who?", gold="Ann is a knight, Bo is a knave")


def test_a_prompt_states_the_format_its_verifier_reads() -> None:
    assert prompt_of(SCIENCE) == [{"role": "user", "content": f"Which?\n(A) x\n(B) y\n\n{choice.INSTRUCTION}"}]
    assert "\\boxed{}" in prompt_of(MATH)[0]["content"]
    assert "'Final answer:'" in prompt_of(LOGIC)[0]["content"]


def test_a_brief_prompt_shows_an_example_first() -> None:
    example, answer, asked = prompt_of(replace(SCIENCE, brief=True))
    assert asked == {"role": "user", "content": f"Which?\n(A) x\n(B) y\n\n{choice.BRIEF}"}
    assert (example["role"], answer["role"]) == ("user", "assistant")
    assert example["content"].endswith(choice.BRIEF)


@pytest.mark.parametrize(("module", "gold"), [(math, "7"), (choice, "B"), (knights, "Ann is a knave, Bob is a knight")])
def test_the_example_of_each_verifier_is_right_and_graded_as_such(module: Any, gold: str) -> None:
    assert module.compute_score("text", module.EXAMPLE[1], gold)["score"] == 1.0


def test_a_row_is_verls_schema_with_id_difficulty_and_limit() -> None:
    row = to_row(MATH, split="test", index=7)
    assert row["prompt"] == prompt_of(MATH)
    assert (row["data_source"], row["domain"], row["reward_model"]["ground_truth"]) == ("math500", "math", "4")
    assert row["extra_info"] == {
        "split": "test", "index": 7, "item_id": "b", "difficulty": 0, "max_new_tokens": 8192
    }  # fmt: skip


def test_a_file_comes_back_as_it_was_and_verl_reads_it(tmp_path: Path) -> None:
    items = [SCIENCE, MATH, replace(LOGIC, brief=True)]
    file = write_items(items, tmp_path / "deep" / "x.parquet", split="val", first_index=3)
    assert read_items(file) == items
    config = {"filter_overlong_prompts": False, "cache_dir": str(tmp_path / "cache")}
    dataset = RLHFDataset(data_files=str(file), tokenizer=build_tokenizer(), config=OmegaConf.create(config))
    rows = [dataset[i] for i in range(3)]
    assert [row["index"] for row in rows] == [3, 4, 5]
    assert rows[1]["raw_prompt"] == prompt_of(MATH)
    assert [row["extra_info"]["max_new_tokens"] for row in rows] == [None, 8192, None]


def test_good_items_pass() -> None:
    check_items([SCIENCE, MATH, LOGIC, replace(MATH, source="aime24")])


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "no items are left"),
        ([MATH, MATH], r"math500: item id 'b' occurs more than once \(1 ids do\)"),
        (
            [MATH, replace(MATH, item_id="d", gold="")],
            "answers of 1 of 2 prompts wrongly, expected 0; first",
        ),
        ([replace(MATH, gold="{")], "item 'b', gold '{'"),
        ([replace(SCIENCE, gold="Z")], "gold answer 'Z', expected one letter A to J"),
        ([replace(SCIENCE, source="nowhere")], "unknown data_source 'nowhere'; known: aime24"),
    ],
)
def test_bad_items_stop_the_build(items: list[Item], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        check_items(items)


def test_the_order_of_options_depends_on_the_key_alone() -> None:
    question, letter = with_options("Which?", "right", ["w1", "w2", "w3"], key="0:sciq:1")
    assert (question, letter) == with_options("Which?", "right", ["w1", "w2", "w3"], key="0:sciq:1")
    assert question.splitlines()["ABCD".index(letter) + 1] == f"({letter}) right"
    letters = {with_options("Which?", "right", ["w1", "w2", "w3"], key=f"{seed}:sciq:1")[1] for seed in range(40)}
    assert letters == set("ABCD")


@pytest.mark.parametrize("wrong", [[], ["right"], ["Right "], ["a", "a"], [str(i) for i in range(10)]])
def test_options_must_differ_and_have_letters(wrong: list[str]) -> None:
    with pytest.raises(ConfigError, match="expected 2 to 10 different ones"):
        with_options("Which?", "right", wrong, key="k")
