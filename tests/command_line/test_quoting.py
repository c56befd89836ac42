"""Paths on a command line that Hydra's grammar does not take as they are."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from dataflex_rl.config.local_model import with_local_model
from dataflex_rl.config.quoting import quoted, readable, run_line, setting, unquoted
from dataflex_rl.sweep.seeds import points, prepare

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


def value_of(override: str) -> object:
    return OverridesParser.create().parse_override(override).value()


@given(TEXT)
def test_a_quoted_text_is_read_as_it_is(text: str) -> None:
    assert value_of(f"key={quoted(text)}") == text
    assert value_of(setting("key", text)) == text or setting("key", text) == f"key={text}"
    assert unquoted(quoted(text)) == text


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("model=/x/epoch=3", "/x/epoch=3"),
        ("runs_dir=~/a=b/(1)", "~/a=b/(1)"),
        ("data.val_files=./x[1].parquet", "./x[1].parquet"),
        ("data.train_files=[/x/k=v.parquet, /y.parquet]", ["/x/k=v.parquet", "/y.parquet"]),
        ("+mine=/a=b", "/a=b"),
    ],
)
def test_a_path_that_hydra_cannot_read_is_quoted(argument: str, value: object) -> None:
    (fixed,) = readable([argument])
    assert value_of(fixed) == value
    assert readable([fixed]) == [fixed]


@pytest.mark.parametrize("argument", ["seed=3", "method=a,b", "x=a=b", "x='/a=b'", "~x", "-m", "x=[1,2]", "y={a:1}"])
def test_what_is_no_unreadable_path_stays(argument: str) -> None:
    assert readable([argument]) == [argument]


@pytest.mark.parametrize("form", ["model={}", "model='{}'", 'model="{}"'])
def test_a_model_folder_may_have_an_equals_sign_and_stand_in_quotes(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "epoch=3"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    chosen, path, name = with_local_model(readable([form.format(folder)]))
    assert chosen == "model=local"
    assert value_of(path) == str(folder)
    assert value_of(name) == "epoch_3"


def test_a_sweep_takes_such_paths_too() -> None:
    (argument,) = prepare(["model=/x/epoch=3"]).arguments
    assert [value_of(point) for (point,) in points([argument])] == ["/x/epoch=3"]
    assert points(["model=/x/epoch=3", "a=1,2"]) == [("model='/x/epoch=3'", "a=1"), ("model='/x/epoch=3'", "a=2")]


@pytest.mark.parametrize("name", ["plain", "k=v", "with space", "it's", "a,b", "$HOME;x"])
def test_the_printed_use_line_can_be_pasted_into_a_shell(name: str, tmp_path: Path) -> None:
    words = shlex.split(run_line("text3", tmp_path / name))
    assert words[:4] == ["python", "-m", "dataflex_rl.run", "task=text3"]
    values = [value_of(word) for word in words[4:]]
    assert values == [str(tmp_path / name / f"{split}.parquet") for split in ("train", "val")]
