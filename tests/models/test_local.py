"""`model=path/to/folder` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from dataflex_rl.config.local_model import place_template, stated_template, with_local_model
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


def template_of(path: Path | str, given: str | None = None) -> tuple[str | None, str, list[str]]:
    """The template of a configuration, and what `place_template` says of it."""
    config = OmegaConf.create({"actor_rollout_ref": {"model": {"path": str(path), "custom_chat_template": given}}})
    said, warnings = place_template(config)
    return config.actor_rollout_ref.model.custom_chat_template, said, warnings


def test_the_models_own_chat_template_is_kept_and_said(folder: Path) -> None:
    assert template_of(folder) == (None, "the model's own", [])
    assert template_of("some/model-of-the-hub") == (None, "the model's own", [])
    (folder / "tokenizer_config.json").unlink()
    (folder / "chat_template.jinja").write_text("x")
    assert template_of(folder) == (None, "the model's own", [])


def test_a_folder_without_a_chat_template_gets_the_stated_one_and_a_warning(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text("{}")
    template, said, warnings = template_of(folder)
    assert (template, said) == (stated_template(), "that of model=llama3_1_8b")
    assert "Question: {{ message['content'] }}" in stated_template()
    assert warnings == [f"chat template: that of model=llama3_1_8b, which is not the model's own ({folder} has none)"]


def test_a_template_in_place_of_the_models_own_is_warned_of(folder: Path) -> None:
    template, said, warnings = template_of(folder, "mine")
    assert (template, said) == ("mine", "actor_rollout_ref.model.custom_chat_template (4 characters)")
    assert warnings == [f"chat template: {said}, which is not the model's own ({folder} has one of its own)"]
    assert template_of("meta-llama/Llama-3.1-8B", stated_template())[1:] == ("that of model=llama3_1_8b", [])


def test_a_broken_tokenizer_configuration_is_one_line(folder: Path) -> None:
    for text in ("{", "[1]"):
        (folder / "tokenizer_config.json").write_text(text)
        with pytest.raises(ConfigError, match=r"tokenizer_config.json: cannot be read as a JSON object"):
            template_of(folder)


def test_a_path_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no Hugging Face model there \(no config.json\); known names: llama3_1"):
        with_local_model([f"model={tmp_path}"])
    with pytest.raises(ConfigError, match="no Hugging Face model there"):
        with_local_model(["model=./nothing"])
