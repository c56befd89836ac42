"""From a command line to a configuration, by Hydra; what Hydra and OmegaConf refuse is said in one line of ours."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import hydra
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from dataflex_rl.config.local_model import with_local_model
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.quoting import readable
from dataflex_rl.config.schema import check_types
from dataflex_rl.errors import ConfigError, unknown
from dataflex_rl.quiet import mute_missing_engines

_LAYOUT = re.compile(r"\s*(Config search path:|See https://).*", re.DOTALL)
_ABSENT = object()


def composed(arguments: Sequence[str]) -> DictConfig | None:
    """Compose `conf/run.yaml` with the arguments through Hydra; None where they only asked for help.

    Raises:
        ConfigError: an unknown choice or key, a value of the wrong kind, an interpolation that leads nowhere.
    """
    mute_missing_engines()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    arguments = readable(arguments)
    try:
        arguments = with_local_model(arguments)
        _check_choices(arguments)
        return _composed(arguments)
    except HydraException as error:
        raise ConfigError(_unknown_choice(error) or _misspelt(error, arguments) or _one_line(error)) from error
    except OmegaConfBaseException as error:
        raise ConfigError(_one_line(error)) from error


def _composed(arguments: Sequence[str]) -> DictConfig | None:
    verl = f"hydra.searchpath=[file://{_package('verl') / 'trainer' / 'config'}]"  # as a package it would be imported
    if not any(_key(argument) == "hydra.searchpath" for argument in arguments):
        arguments = [*arguments, verl]
    if any(argument.startswith("-") for argument in arguments):
        return _by_command_line(arguments)
    with initialize_config_dir(str(shipped("conf")), version_base="1.3"):  # composes once, the command line twice
        config: DictConfig = compose("run", overrides=list(arguments), return_hydra_config=True)
    check_types(config, config.hydra.runtime.choices)
    with read_write(config), open_dict(config):
        del config["hydra"]
    return config


def _by_command_line(arguments: Sequence[str]) -> DictConfig | None:
    """Compose with the options of Hydra's own command line, such as `--help` and `--config-dir`."""
    result: list[DictConfig | ConfigError | OmegaConfBaseException] = []

    def job(config: DictConfig) -> None:
        try:
            check_types(config, HydraConfig.get().runtime.choices)
            result.append(config)
        except (ConfigError, OmegaConfBaseException) as error:
            result.append(error)  # raised below: Hydra would announce it in its own words first

    saved, sys.argv = sys.argv, ["dataflex_rl.run", *arguments]
    try:
        hydra.main(config_path=str(shipped("conf")), config_name="run", version_base="1.3")(job)()
    finally:
        sys.argv = saved
    found = result[0] if result else None  # `--help` and the like run no job
    if isinstance(found, Exception):
        raise found
    return found


def chosen(arguments: Sequence[str]) -> bool:
    """Return whether arguments choose anything of what is trained: a group of ours, or a part of the policy."""
    return any(key in groups() or key.startswith("dataflex.") for key in map(_key, arguments))


def cpu_environment(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return what `host=cpu` and the model ask of the environment of training processes, before anything is composed.

    None: the arguments choose another host.
    """
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if given.get("host", "cpu") != "cpu":
        return None
    conf = shipped("conf")
    files = [conf / "host" / "cpu.yaml", conf / "model" / f"{given.get('model', 'tiny')}.yaml"]
    host = OmegaConf.merge(*(OmegaConf.load(file) for file in files if file.is_file())).host
    return {str(key): str(value) for key, value in host.env.items()}


def changed(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that change a setting inside of what the groups chose: `data.train_batch_size=8`."""
    return [argument for argument in arguments if "." in _key(argument) and not argument.startswith("-")]


def groups() -> list[str]:
    """Return the names of our configuration groups."""
    return sorted(path.name for path in shipped("conf").iterdir() if path.is_dir())


def _key(argument: str) -> str:
    """Return the key that an argument sets, adds or deletes."""
    return argument.lstrip("+~").partition("=")[0]


def choices(group: str) -> list[str]:
    """Return the names of a configuration group: ours where we have the group, else verl's or Hydra's own."""
    folder = next(filter(Path.is_dir, (root / group for root in _roots())), None)
    return [] if folder is None else sorted(path.stem for path in folder.glob("*.yaml"))


def _roots() -> tuple[Path, ...]:
    return shipped("conf"), _package("verl") / "trainer" / "config", _package("hydra") / "conf"


def _package(name: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    found = importlib.util.find_spec(name)
    assert found is not None, f"{name} is a dependency"
    assert found.submodule_search_locations, f"{name} is a package"
    return Path(found.submodule_search_locations[0])


def neighbours(config: DictConfig, key: str) -> str | None:
    """Return what stands beside an unknown dotted key, `data has: ...`; None if the key is there, or inside a value."""
    if OmegaConf.select(config, key, default=_ABSENT, throw_on_missing=False) is not _ABSENT:
        return None
    path = key.split(".")[:-1]
    while path and not isinstance(OmegaConf.select(config, ".".join(path)), DictConfig):
        path.pop()
    node = OmegaConf.select(config, ".".join(path)) if path else config
    return f"{'.'.join(path) or 'the configuration'} has: {', '.join(sorted(map(str, node)))}"


def _check_choices(arguments: Sequence[str]) -> None:
    """Refuse a word that sets nothing, and a group set to what is no name: Hydra ends in a traceback there."""
    bare = [argument for argument in arguments if "=" not in argument and not argument.startswith("~")]
    if bare and not any(argument.startswith("-") for argument in arguments):  # a flag may take the next word
        raise ConfigError(f"{bare[0]!r}: expected KEY=VALUE, as method=difffilter")
    settings = [argument for argument in arguments if "=" in argument and not argument.startswith("-")]
    for override in OverridesParser.create().parse_overrides(settings):
        group = str(override.key_or_group)
        if override.is_delete() or override.is_sweep_override():
            continue
        names_one = str | dict if group in groups() else str | list | dict
        if not isinstance(override.value(), names_one) and any((root / group).is_dir() for root in _roots()):
            known = ", ".join(choices(group)) or "(none)"
            raise ConfigError(f"{group}={override.value()!r}: expected a name of this group; known: {known}")


def _unknown_choice(error: HydraException) -> str | None:
    """Return which choice does not exist, and which do; None if that is not the error."""
    if not isinstance(error, MissingConfigException) or not error.missing_cfg_file or not error.options:
        return None
    group, _, name = error.missing_cfg_file.rpartition("/")
    return str(unknown(group, name, choices(group) or error.options))


def _misspelt(error: HydraException, arguments: Sequence[str]) -> str | None:
    """Return what stands beside a key that the configuration does not have; None if that is not the error."""
    found = re.match(r"Could not override '([\w.]+)'", str(error))
    if found is None:
        return None
    try:
        config = _composed([argument for argument in arguments if argument.partition("=")[0] != found[1]])
    except (ConfigError, HydraException, OmegaConfBaseException):  # one error at a time: the other comes next
        return None
    known = None if config is None else neighbours(config, found[1])
    return f"unknown setting {found[1]!r}; {known} (+{found[1]}=... adds a new one)" if known else None


def _one_line(error: Exception) -> str:
    """Return a message of Hydra or OmegaConf without its layout."""
    return " ".join(_LAYOUT.sub("", str(error)).split())
