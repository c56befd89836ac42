"""`model=path/to/folder`: a local Hugging Face causal LM in place of a name in `conf/model/`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError

_GROUP = "model="
_PATH = "actor_rollout_ref.model.path"
_TEMPLATE = "actor_rollout_ref.model.custom_chat_template"
_TEMPLATE_OF = "llama3_1_8b"  # the model whose stated template a folder without one gets


def with_local_model(arguments: Sequence[str]) -> list[str]:
    """Return command line arguments with `model=FOLDER` spelled out: `model=local`, its path, its name.

    Every other argument stays as it is, `model=NAME` of `conf/model/` included. A folder whose tokenizer has no chat
    template gets the one stated in `conf/model/llama3_1_8b.yaml`, unless the arguments set one.

    Raises:
        ConfigError: a path that is no folder, a folder without config.json, or `model=local` without its path.
    """
    result: list[str] = []
    for argument in arguments:
        value = argument.removeprefix(_GROUP)
        named = not argument.startswith(_GROUP) or not re.search(r"[/~]|^\.", value)
        result += [argument] if named else _spelled_out(Path(value).expanduser(), arguments)
    if f"{_GROUP}local" in arguments and not any(argument.startswith(f"{_PATH}=") for argument in arguments):
        raise ConfigError(f"{_GROUP}local stands for a folder; wanted {_GROUP}path/to/folder")
    return result


def _spelled_out(folder: Path, arguments: Sequence[str]) -> list[str]:
    if not (folder / "config.json").is_file():
        known = ", ".join(sorted(path.stem for path in (shipped("conf") / "model").glob("*.yaml")))
        raise ConfigError(f"model={folder}: no Hugging Face model there (no config.json); known names: {known}")
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", folder.resolve().name).lstrip(".") or "local"
    changes = [f"{_GROUP}local", _set(_PATH, str(folder.resolve())), _set("model_name", name)]
    stated = any(argument.lstrip("+").startswith(f"{_TEMPLATE}=") for argument in arguments)
    if not has_chat_template(folder) and not stated:
        changes.append(_set(_TEMPLATE, stated_template()))
    return changes


def _set(key: str, value: str) -> str:
    """Return an override whose value is that text, whatever is in it."""
    quoted = re.sub(r"(\\*)'", lambda found: found[1] * 2 + "\\'", value)
    return f"{key}='{quoted}'"


def has_chat_template(folder: Path) -> bool:
    """Return whether the tokenizer of a model folder has a chat template."""
    if (folder / "chat_template.jinja").is_file():
        return True
    file = folder / "tokenizer_config.json"
    return file.is_file() and bool(json.loads(file.read_text(encoding="utf-8")).get("chat_template"))


def stated_template() -> str:
    """Return the chat template for base models without one."""
    config = yaml.safe_load((shipped("conf") / "model" / f"{_TEMPLATE_OF}.yaml").read_text(encoding="utf-8"))
    return str(config["actor_rollout_ref"]["model"]["custom_chat_template"])
