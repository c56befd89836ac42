"""Sources that stand by name in a configuration: `build:NAME` and `prepared:NAME`."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from dataflex_rl.config.mixing import domains_in
from dataflex_rl.config.sources import build_sources, check_files, missing, place_sources, source_of, to_build
from dataflex_rl.data.benchmarks.specs import BENCHMARKS
from dataflex_rl.data.catalogue import BUILT, MODEL, TRAIN, VAL
from dataflex_rl.data.tasks.items import Item, write_items
from dataflex_rl.errors import ConfigError
from dataflex_rl.prepare import main as prepare_main

ITEM = Item(source="gsm8k", domain="math", item_id="a", question="1+1?", gold="2")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAFLEX_RL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("dataflex_rl.data.catalogue.default_root", lambda: tmp_path / "cache")
    return tmp_path


def config(model: str = "/m", train: str = "build:text3", val: str = "build:text12", **more: object) -> DictConfig:
    model_part = {"actor_rollout_ref": {"model": {"path": model}}}
    return OmegaConf.create(
        {**model_part, "data": {"train_files": train, "val_files": val, "prompt_key": "prompt"}, **more}
    )


def test_names_are_found_and_paths_take_their_place(root: Path) -> None:
    made = config(model="build:smollm2_135m", val="prepared:paper12")
    assert to_build(made) == {MODEL: "smollm2_135m", TRAIN: "text3", VAL: "prepared:paper12"}
    assert missing(to_build(made)) == ["prepared:paper12", "smollm2_135m", "text3"]
    place_sources(made)
    assert made.data.val_files == str(root / "data" / "paper12" / "test.parquet")
    assert made.data.train_files == str(BUILT["text3"].places()[TRAIN])
    assert made.data.train_files.startswith(str(root / "cache" / "text3-"))
    assert to_build(made) == {}


def test_what_is_embedded_is_built_once_where_its_path_says(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {VAL: "text12"}
    build_sources(names, progress=True)
    assert capsys.readouterr().out.startswith("building text12, once ...\n")
    assert missing(names) == []
    file = BUILT["text12"].places()[VAL]
    stamp = file.stat().st_mtime_ns
    build_sources(names, progress=True)
    assert file.stat().st_mtime_ns == stamp
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("key", "name", "message"),
    [
        (
            TRAIN,
            "text4",
            "unknown embedded source in data.train_files.*known: smollm2_135m, text12, text3, tiny",
        ),
        (TRAIN, "text12", "data.train_files: 'text12' is no source for it; it is one for data.val_files"),
        (MODEL, "text3", "actor_rollout_ref.model.path: 'text3' is no source for it"),
        (TRAIN, "prepared:paper12", "data.train_files: 'prepared:paper12' is no source for it"),
    ],
)
def test_a_name_that_does_not_fit_its_place_is_refused(root: Path, key: str, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        source_of(key, name)


@pytest.mark.parametrize(("name", "command"), [("multidomain3", "task=multidomain3"), ("math500", "benchmark=math500")])
def test_what_is_not_prepared_says_how_to_prepare_it(root: Path, name: str, command: str) -> None:
    key = {"multidomain3": "train", "math500": "val"}[name]
    with pytest.raises(
        ConfigError, match=f"'{name}' is not prepared: .*; run: python -m dataflex_rl.prepare {command}"
    ):
        check_files(config(**{key: f"prepared:{name}"}))
    check_files(config(**{key: f"prepared:{name}"}), dry=True)


def test_own_prepared_data_stand_by_the_name_of_their_folder(root: Path) -> None:
    for split in ("train", "val"):
        write_items([ITEM], root / "data" / "mine" / f"{split}.parquet", split=split)
    made = config(train="prepared:mine", val="prepared:mine")
    check_files(made)
    place_sources(made)
    assert made.data.val_files == str(root / "data" / "mine" / "val.parquet")
    check_files(made)


def test_domains_are_known_before_the_data_are_there_and_read_once_they_are(root: Path) -> None:
    assert domains_in("prepared:multidomain3", "domain") == ["logic", "math", "science"]
    assert domains_in("build:text3", "data_source") == ["text_logic", "text_math", "text_science"]
    with pytest.raises(ConfigError, match=r"no column 'topic' .* it has: domain, ability, data_source"):
        domains_in("prepared:multidomain3", "topic")
    for split in ("train", "val"):
        write_items([ITEM], root / "data" / "multidomain3" / f"{split}.parquet", split=split)
    assert domains_in("prepared:multidomain3", "domain") == ["math"]


@pytest.mark.parametrize(
    ("argument", "known"),
    [
        ("benchmark=nosuch", ["paper12", "text12", *BENCHMARKS]),
        ("task=nosuch", ["text3", "multidomain3", "multidomain_math", "multidomain_logic", "multidomain_science"]),
    ],
)
def test_an_unknown_name_lists_all_that_can_be_prepared(
    root: Path, argument: str, known: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare_main([argument]) == 2
    kind, _, name = argument.partition("=")
    assert capsys.readouterr().err == f"error: unknown {kind} {name!r}; known: {', '.join(sorted(known))}\n"


def test_an_unknown_benchmark_to_keep_out_lists_all_and_none(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare_main(["task=multidomain_math", "against=nosuch"]) == 2
    known = ", ".join(sorted(["none", "paper12", "text12", *BENCHMARKS]))
    assert capsys.readouterr().err == f"error: unknown against 'nosuch'; known: {known}\n"
