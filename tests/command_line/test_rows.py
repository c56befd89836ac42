"""Rows of the data files: read, dropped and cut, counted before anything starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig, OmegaConf
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from dataflex_rl.config.rows import Rows, count_rows, regime_rows
from dataflex_rl.config.sources import check_batches
from dataflex_rl.data.lengths import overlong
from dataflex_rl.errors import ConfigError

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"
CUT = "longer than actor_rollout_ref.rollout.prompt_length=8"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder whose tokenizer has one token per character."""
    folder = tmp_path_factory.mktemp("model")
    words = {chr(code): code for code in range(256)} | {"[UNK]": 256}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=TEMPLATE).save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder


def messages(*contents: str) -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": content}] for content in contents]


def write(path: Path, *contents: str) -> str:
    pq.write_table(pa.table({"prompt": messages(*contents)}), path)
    return str(path)


def config(folder: Path, model: Path, *train: str, val: tuple[str, ...] = ("ab",), **data: Any) -> DictConfig:
    prompt_length = data.pop("prompt_length", "${data.max_prompt_length}")
    files = {
        "train_files": [write(folder / f"{len(train)}.parquet", *train)],
        "val_files": write(folder / "val.parquet", *val),
    }
    given = {"prompt_key": "prompt", "max_prompt_length": 8, "train_batch_size": 2, "truncation": "error"}
    rollout = {"prompt_length": prompt_length}
    return OmegaConf.create(
        {
            "data": {**files, **given, **data},
            "actor_rollout_ref": {"model": {"path": str(model)}, "rollout": rollout},
        }
    )


def test_prompts_are_counted_as_the_tokenizer_counts_them(model: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ab é漢"), size=size)) for size in rng.integers(1, 40, size=300)]
    prompts = messages(*texts)
    counted = [
        len(tokenizer.apply_chat_template(p, add_generation_prompt=True, tokenize=True, return_dict=False))
        for p in prompts
    ]
    for limit in (5, 20, 31):
        expected = {number: count for number, count in enumerate(counted) if count > limit}
        assert overlong(prompts, tokenizer, limit) == expected


def test_a_prompt_at_the_limit_is_whole_and_one_above_is_refused(tmp_path: Path, model: Path) -> None:
    found = count_rows(config(tmp_path, model, "a" * 7, "b"))  # 7 characters and the mark of the answer are 8 tokens
    assert found["data.train_files"] == Rows(read=2)
    assert found["data.val_files"].as_dict() == {"read": 1, "dropped": {}, "cut": {}, "used": 1}
    message = (
        r"data.train_files=.*3.parquet: 2 prompts are longer than data.max_prompt_length=8 tokens \(the longest: 21; "
        r"first: row 1\), and verl would cut their beginning; raise .*, or leave them out by data.filter_overlong_"
    )
    with pytest.raises(ConfigError, match=message):
        count_rows(config(tmp_path, model, "a", "a" * 8, "b" * 20))
    with pytest.raises(ConfigError, match=r"data.val_files=.*val.parquet: 1 prompts are longer .* first: row 0"):
        count_rows(config(tmp_path, model, "a", "b", val=("c" * 8,)))


def test_what_is_filtered_is_counted_and_must_leave_a_batch(tmp_path: Path, model: Path) -> None:
    found = count_rows(config(tmp_path, model, "a", "a" * 8, "c", val=("d" * 9, "e"), filter_overlong_prompts=True))
    why = "longer than data.max_prompt_length=8"
    assert found["data.train_files"] == Rows(read=3, dropped={why: 1})
    assert found["data.val_files"] == Rows(read=2, dropped={why: 1})
    assert found["data.train_files"].line("data.train_files") == (
        f"data.train_files: 3 rows read, 2 used, 1 dropped ({why})"
    )
    with pytest.raises(ConfigError, match=r"2 rows read, 1 used, 1 dropped .*: too few for a batch of .*_size=2"):
        count_rows(config(tmp_path, model, "a", "a" * 8, filter_overlong_prompts=True))
    with pytest.raises(ConfigError, match="too few for a validation"):
        count_rows(config(tmp_path, model, "a", "b", val=("c" * 9,), filter_overlong_prompts=True))


def test_a_cut_that_is_allowed_is_counted(tmp_path: Path, model: Path) -> None:
    found = count_rows(config(tmp_path, model, "a", "a" * 8, "c", truncation="left"))
    assert found["data.train_files"] == Rows(read=3, cut={CUT: 1})
    assert found["data.train_files"].needs_a_look
    with pytest.raises(ConfigError, match=r"verl cuts the beginning, not data.truncation=middle"):
        count_rows(config(tmp_path, model, "a", "a" * 8, truncation="middle"))


def test_a_rollout_that_is_shorter_than_the_data_cuts_what_the_filter_keeps(tmp_path: Path, model: Path) -> None:
    settings = {"max_prompt_length": 12, "prompt_length": 8, "truncation": "left", "filter_overlong_prompts": True}
    found = count_rows(config(tmp_path, model, "a" * 7, "a" * 9, "a" * 12, **settings))["data.train_files"]
    assert (found.dropped, found.cut, found.used) == ({"longer than data.max_prompt_length=12": 1}, {CUT: 1}, 2)


@pytest.mark.parametrize("shuffle", [True, False])
def test_samples_are_those_that_verl_takes(shuffle: bool, tmp_path: Path, model: Path) -> None:
    from verl.utils.dataset.rl_dataset import RLHFDataset

    texts = ["a" * (1 + n % 10) for n in range(40)]
    settings = {
        "train_max_samples": 15, "shuffle": shuffle, "seed": 3, "filter_overlong_prompts": True,
        "filter_overlong_prompts_workers": None, "cache_dir": str(tmp_path),
    }  # fmt: skip
    made = config(tmp_path, model, *texts, **settings)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
    taken = RLHFDataset(made.data.train_files, tokenizer, made.data, max_samples=15)
    found = count_rows(made)["data.train_files"]
    assert found.used == len(taken) < 15
    assert (found.read, found.dropped["data.train_max_samples=15"]) == (40, 25)


def test_a_template_that_refuses_a_prompt_is_named_with_its_row(tmp_path: Path, model: Path) -> None:
    made = config(tmp_path, model, "a", "no")
    template = TEMPLATE + "{% if messages[0]['content'] == 'no' %}{{ raise_exception('not this') }}{% endif %}"
    OmegaConf.update(made, "actor_rollout_ref.model.custom_chat_template", template, force_add=True)
    with pytest.raises(ConfigError, match=r"2.parquet: row 1: the chat template refuses the prompt \(not this\)"):
        count_rows(made)


def test_lengths_are_unknown_without_the_tokenizer(tmp_path: Path, model: Path) -> None:
    made = config(tmp_path, model, "a", "b" * 99)
    made.actor_rollout_ref.model.path = "nobody/nothing-here"
    found = count_rows(made)["data.train_files"]
    assert (found.cut, found.needs_a_look, found.as_dict()["cut"]) == (None, True, None)
    assert found.line("x") == "x: 2 rows read, 2 used, prompt lengths not known before it starts"


def test_a_regime_is_counted_from_what_it_was_drawn_from(tmp_path: Path, model: Path) -> None:
    made = config(tmp_path, model, "a", "b")
    whole = write(tmp_path / "whole.parquet", *"abcdefgh")
    made.regime = {"train_files": whole, "data_fraction": 0.25}
    found = regime_rows(made, count_rows(made))["data.train_files"]
    assert found == Rows(read=8, dropped={"regime.data_fraction=0.25": 6})


@pytest.mark.parametrize(("truncation", "limit"), [("error", 8), ("right", 8), ("left", 8), ("error", 9)])
def test_the_training_process_looks_again_for_what_other_entry_points_bring(
    truncation: str, limit: int, tmp_path: Path, model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from dataflex_rl.host.lengths import check_prompts

    made = config(
        tmp_path, model, "a", "a" * 8, max_prompt_length=limit, truncation=truncation, cache_dir=str(tmp_path)
    )
    made.data.filter_overlong_prompts = False
    tokenizer = PreTrainedTokenizerFast.from_pretrained(model)
    datasets = {"data.train_files": RLHFDataset(made.data.train_files, tokenizer, made.data)}
    if limit == 9 or truncation == "left":
        check_prompts(made, tokenizer, datasets)
        said = ["data.train_files: 1 of 2 prompts are longer than 8 tokens; their beginning is cut"]
        assert [record.message for record in caplog.records] == (said if limit == 8 else [])
        return
    with pytest.raises(
        ConfigError, match=r"1 of 2 prompts are longer than 8 tokens \(the longest: 9\), and verl would"
    ):
        check_prompts(made, tokenizer, datasets)


def test_a_column_that_only_some_files_have_is_warned_of(tmp_path: Path) -> None:
    columns = {"prompt": messages("a", "b"), "data_source": ["gsm8k"] * 2, "reward_model": [{"ground_truth": "1"}] * 2}
    paths = [str(tmp_path / name) for name in ("one.parquet", "two.parquet")]
    pq.write_table(pa.table(columns | {"extra_info": [{"item_id": "x"}] * 2}), paths[0])
    pq.write_table(pa.table(columns), paths[1])
    data = {"train_files": paths, "val_files": paths[0], "train_batch_size": 2, "reward_fn_key": "data_source"}
    warned = check_batches(OmegaConf.create({"data": data}))
    assert warned == [f"data.train_files: column 'extra_info' is not in {paths[1]}: those rows have none"]
