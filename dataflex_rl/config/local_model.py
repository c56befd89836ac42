"""`model=path/to/folder`: a local Hugging Face causal LM in place of a name in `conf/model/`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import yaml
from omegaconf import DictConfig, open_dict

from dataflex_rl.config.paths import shipped
from dataflex_rl.config.quoting import quoted, unquoted
from dataflex_rl.data.cache import is_there
from dataflex_rl.errors import ConfigError

_GROUP = "model="
_PATH = "actor_rollout_ref.model.path"
_TEMPLATE = "actor_rollout_ref.model.custom_chat_template"
_TEMPLATE_OF = "llama3_1_8b"  # the model whose stated template a folder without one gets


def with_local_model(arguments: Sequence[str]) -> list[str]:
    """Return command line arguments with `model=FOLDER` spelled out: `model=local`, its path, its name.

    Every other argument stays as it is, `model=NAME` of `conf/model/` included. The folder may stand in quotes.

    Raises:
        ConfigError: a path that is no folder, a folder without config.json, or `model=local` without its path.
    """
    result: list[str] = []
    for argument in arguments:
        value = unquoted(argument.removeprefix(_GROUP)) if argument.startswith(_GROUP) else ""
        named = not re.search(r"[/~]|^\.", value)
        result += [argument] if named else _spelled_out(Path(value).expanduser())
    if f"{_GROUP}local" in arguments and not any(argument.startswith(f"{_PATH}=") for argument in arguments):
        raise ConfigError(f"{_GROUP}local stands for a folder; expected {_GROUP}path/to/folder")
    return result


def _spelled_out(folder: Path) -> list[str]:
    if not is_there(folder / "config.json"):
        known = ", ".join(sorted(path.stem for path in (shipped("conf") / "model").glob("*.yaml")))
        raise ConfigError(f"model={folder}: no Hugging Face model there (no config.json); known names: {known}")
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", folder.resolve().name).lstrip(".") or "local"
    return [f"{_GROUP}local", f"{_PATH}={quoted(str(folder.resolve()))}", f"model_name={quoted(name)}"]


def place_template(config: DictConfig) -> tuple[str, list[str]]:
    """State the chat template: give a local model without one that of `conf/model/llama3_1_8b.yaml`.

    Returns:
        Which template prompts are written in, and a warning where it is not the model's own.

    Raises:
        ConfigError: a tokenizer_config.json that is no JSON object.
    """
    model = config.actor_rollout_ref.model
    folder = Path(str(model.get("tokenizer_path") or model.path)).expanduser()
    own = has_chat_template(folder) if folder.is_dir() else None
    given = model.get("custom_chat_template")
    if given is None and own is not False:
        return "the model's own", []
    if given is None:
        with open_dict(config):
            model.custom_chat_template = given = stated_template()
    is_stated = given == stated_template()
    where = f"that of model={_TEMPLATE_OF}" if is_stated else f"{_TEMPLATE} ({len(str(given))} characters)"
    if own is None:
        return where, []
    has = "has one of its own" if own else "has none"
    return where, [f"chat template: {where}, which is not the model's own ({folder} {has})"]


def has_chat_template(folder: Path) -> bool:
    """Return whether the tokenizer of a model folder has a chat template."""
    if is_there(folder / "chat_template.jinja"):
        return True
    file = folder / "tokenizer_config.json"
    if not is_there(file):
        return False
    try:
        return bool(dict(json.loads(file.read_text(encoding="utf-8"))).get("chat_template"))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{file}: cannot be read as a JSON object ({str(error).splitlines()[0]})") from error


def stated_template() -> str:
    """Return the chat template for base models without one."""
    config = yaml.safe_load((shipped("conf") / "model" / f"{_TEMPLATE_OF}.yaml").read_text(encoding="utf-8"))
    return str(config["actor_rollout_ref"]["model"]["custom_chat_template"])
