"""The kind of each setting: a block stays a block, a switch a switch, a number a number, as in `conf/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from dataflex_rl.config.paths import shipped
from dataflex_rl.errors import ConfigError

# What every run reads, by example: there, and not null. Most of it is verl's or from a group.
_READ: dict[str, Any] = {
    "model_name": "tiny",
    "task_name": "toy3",
    "host": {"name": "cpu"},
    "dataflex": {},
    "data": {"train_files": [], "val_files": [], "prompt_key": "prompt", "reward_fn_key": "data_source"},
    "actor_rollout_ref": {
        "model": {"path": "build:tiny"},
        "actor": {"policy_loss": {}},
        "rollout": {"val_kwargs": {}},
        "ref": {},
    },
    "algorithm": {"adv_estimator": "grpo", "filter_groups": {"enable": False}},
    "critic": {"model": {}},
    "reward": {"custom_reward_function": {}},
    "trainer": {"device": "cpu", "save_freq": 1, "test_freq": 1, "total_epochs": 1, "v1": {"trainer_mode": "sync"}},
    "ray_kwargs": {"ray_init": {}},
}
_FREE = ("seed", "dry_run", "runs_dir", "data.train_files", "data.val_files")  # checked where they are used
_NAMES = ("sweep", "model_name", "task_name", "benchmark_name")  # a number is a name too
_OURS = ("run", "host", "model", "task", "benchmark")  # the files of `conf/` whose settings the check knows
_VERL = ("actor_rollout_ref", "algorithm", "critic", "data", "ray_kwargs", "reward", "trainer", "transfer_queue")


def check_types(config: DictConfig, choices: Mapping[str, str]) -> None:
    """Check every setting that `conf/run.yaml` and the chosen {group: name} files give a value.

    Where they say null, anything goes; null in place of a number or a text is refused unless the setting is verl's.

    Raises:
        ConfigError: the first setting of another kind, or one that every run reads and the configuration lacks.
    """
    given = OmegaConf.to_container(config, resolve=False)
    _check("", _READ, given, needed=True)
    for group in _OURS:
        file = shipped("conf") / (f"{group}.yaml" if group == "run" else f"{group}/{choices.get(group)}.yaml")
        if file.is_file():
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            _check("", {key: value for key, value in content.items() if key not in ("defaults", "hydra")}, given)


def _check(where: str, shipped_value: Any, given: Any, *, needed: bool = False) -> None:
    """Compare one setting, and where it is a block all in it, with the value that it ships with."""
    if where in _FREE or _is_reference(shipped_value) or _is_reference(given) or shipped_value is None:
        return
    if not isinstance(shipped_value, dict):
        _check_value(where, shipped_value, given, needed)
        return
    if not isinstance(given, dict):
        keys = f": {', '.join(shipped_value)}" if shipped_value else ""
        raise ConfigError(f"{where}={given!r}: expected a block of settings{keys}")
    for key, value in shipped_value.items():
        place = f"{where}.{key}" if where else str(key)
        if key in given:
            _check(place, value, given[key], needed=needed)
        elif needed:
            raise ConfigError(f"{place} is missing; every run needs it")


def _check_value(where: str, shipped_value: Any, given: Any, needed: bool) -> None:
    expected, fits = _kind(where, shipped_value)
    may_be_null = not needed and where.split(".")[0] in _VERL and not isinstance(shipped_value, bool)
    if given is None and may_be_null:
        return
    if not isinstance(given, fits) or (isinstance(given, bool) and fits is not bool):
        raise ConfigError(f"{where}={given!r}: expected {expected}")


def _kind(where: str, value: Any) -> tuple[str, Any]:
    """Return what a setting wants, in words and as types; 0 may stand for a fraction."""
    if isinstance(value, bool):
        return "true or false", bool
    if isinstance(value, int) and value != 0:
        return "an integer", int
    if isinstance(value, int | float):
        return "a number", int | float
    if isinstance(value, str):
        return ("a name", str | int) if where in _NAMES else ("text", str)
    return "a value", object


def kind_of(where: str, value: Any) -> str:
    """Return in words what a setting with that value in `conf/` wants; "" where anything goes."""
    if where in _FREE or value is None or _is_reference(value) or not isinstance(value, bool | int | float | str):
        return ""
    return _kind(where, value)[0]


def _is_reference(value: Any) -> bool:
    """Return whether a value is taken from another setting."""
    return isinstance(value, str) and "${" in value
