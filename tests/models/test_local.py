"""`model=path/to/folder` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from dataflex_rl.config.local_model import stated_template, with_local_model
from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my model's, 7B"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": "x"}))
    return made


def composed(arguments: list[str]) -> tuple[str, str, str | None]:
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        config = compose("run", overrides=with_local_model(arguments))
    model = config.actor_rollout_ref.model
    return config.model_name, model.path, model.custom_chat_template


def test_names_stay_as_they_are() -> None:
    assert with_local_model(["model=tiny", "seed=3", "x=a/b"]) == ["model=tiny", "seed=3", "x=a/b"]


def test_a_folder_becomes_its_path_and_its_name_whatever_is_in_them(folder: Path) -> None:
    assert composed([f"model={folder}"]) == ("my_model_s__7B", str(folder), None)


def test_a_folder_without_a_chat_template_gets_the_stated_one(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text("{}")
    assert composed([f"model={folder}"])[2] == stated_template()
    assert "Question: {{ message['content'] }}" in stated_template()
    own = "actor_rollout_ref.model.custom_chat_template='mine'"
    assert composed([f"model={folder}", own])[2] == "mine"
    (folder / "chat_template.jinja").write_text("x")
    assert composed([f"model={folder}"])[2] is None


def test_a_path_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no Hugging Face model there \(no config.json\); known names: llama3_1"):
        with_local_model([f"model={tmp_path}"])
    with pytest.raises(ConfigError, match="no Hugging Face model there"):
        with_local_model(["model=./nothing"])
