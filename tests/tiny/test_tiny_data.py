import hashlib
import json
import random

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf
from verl.utils.dataset.rl_dataset import RLHFDataset

from dataflex_rl.data.tiny import toy3
from dataflex_rl.data.tiny.data import check_grading, make_rows, prepare_toy3
from dataflex_rl.data.tiny.tokenizer import build_tokenizer
from dataflex_rl.errors import ConfigError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return prepare_toy3(tmp_path_factory.mktemp("toy3"), seed=0, train_size=300, val_size=90)


@pytest.fixture(scope="module")
def tables(files):
    return tuple(pd.read_parquet(file) for file in files)


def messages(table):
    return [row[0]["content"] for row in table.prompt]


def test_each_split_has_a_third_per_domain_shuffled(tables):
    for table, per_domain in zip(tables, (100, 30), strict=True):
        assert table.domain.value_counts().to_dict() == dict.fromkeys(toy3.DOMAINS, per_domain)
        assert list(table.data_source) == list(table.ability) == list(table.domain)
        assert set(table.domain[:20]) == set(toy3.DOMAINS)


def test_no_prompt_repeats_and_no_body_is_in_both_splits(tables):
    train, val = (messages(table) for table in tables)
    assert len(set(train)) == 300
    assert len(set(val)) == 90
    assert not {text.split(":", 1)[1] for text in train} & {text.split(":", 1)[1] for text in val}


def test_extra_info_names_split_unique_index_and_level(tables):
    train, val = tables
    infos = [*train.extra_info, *val.extra_info]
    assert [info["index"] for info in infos] == list(range(390))
    assert [info["split"] for info in infos] == ["train"] * 300 + ["val"] * 90
    assert [info["difficulty"] for info in infos] == [int(text[1]) for text in messages(train) + messages(val)]


def test_the_gold_answer_is_the_right_one(tables):
    for row in tables[0].itertuples():
        assert row.reward_model["style"] == "rule"
        assert row.reward_model["ground_truth"] != row.extra_info["wrong_answer"]
    text = tables[0].set_index(pd.Index(messages(tables[0]))).reward_model
    sums = {t: r["ground_truth"] for t, r in text.items() if "+" in t}
    assert len(sums) > 10
    assert all(int(gold) == sum(int(x) for x in t.split(":")[1].split("+")) for t, gold in sums.items())


def test_verl_reads_the_rows_as_chat_messages(files):
    # pandas gives the list of messages back as an ndarray; verl must see plain lists of dicts.
    assert isinstance(pd.read_parquet(files[0]).prompt[0], np.ndarray)
    config = OmegaConf.create(
        {"max_prompt_length": 20, "filter_overlong_prompts": True, "filter_overlong_prompts_workers": None}
    )
    dataset = RLHFDataset(data_files=str(files[0]), tokenizer=build_tokenizer(), config=config)
    assert len(dataset) == 300  # none is longer than 20 tokens
    row = dataset[7]
    assert row["raw_prompt"] == [{"role": "user", "content": row["raw_prompt"][0]["content"]}]
    assert type(row["raw_prompt"]) is list
    assert row["index"] == 7
    assert row["domain"] == row["data_source"]
    assert row["reward_model"]["ground_truth"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(files, tmp_path):
    again = prepare_toy3(tmp_path / "a", seed=0, train_size=300, val_size=90)
    other = prepare_toy3(tmp_path / "b", seed=1, train_size=300, val_size=90)
    for first, second, third in zip(files, again, other, strict=True):
        assert first.read_bytes() == second.read_bytes() != third.read_bytes()


def test_the_problems_of_this_version_are_pinned():
    # A new digest needs a new toy3.VERSION, or caches would keep the old problems.
    rows = make_rows(random.Random(0), split="train", size=300, first_index=0)
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
    assert (toy3.VERSION, digest[:16]) == (2, "d686ff4a0117ee53")


def test_a_gold_answer_that_grades_wrong_stops_the_build():
    rows = make_rows(random.Random(0), split="val", size=9, first_index=0)
    check_grading(rows)
    rows[4]["reward_model"]["ground_truth"] += "</s>"
    with pytest.raises(
        ConfigError, match=r"answers of 1 of 9 prompts wrongly, expected 0; first: prompt '.*', gold '.*'"
    ):
        check_grading(rows)


def test_a_wrong_answer_that_grades_right_stops_the_build():
    rows = make_rows(random.Random(0), split="val", size=9, first_index=0)
    rows[0]["extra_info"]["wrong_answer"] = rows[0]["reward_model"]["ground_truth"]
    with pytest.raises(ConfigError, match="1 of 9"):
        check_grading(rows)


@pytest.mark.parametrize("size", [0, -3, 10])
def test_a_size_that_is_no_multiple_of_three_is_refused(tmp_path, size):
    with pytest.raises(ConfigError, match=f"toy3 train size: got {size}, expected a positive multiple of 3"):
        prepare_toy3(tmp_path, seed=0, train_size=size, val_size=3)


def test_more_prompts_than_exist_are_refused(monkeypatch):
    monkeypatch.setattr(toy3, "MAX_ANSWER", 1)
    with pytest.raises(ConfigError, match="toy3 math: expected 2000 distinct prompts, found"):
        make_rows(random.Random(0), split="train", size=6000, first_index=0)
