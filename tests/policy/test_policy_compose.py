"""Hydra composes every scorer, actuator and method file to the block that `method_block` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from dataflex_rl.components.registry import lookup, names
from dataflex_rl.config.methods import method_block
from dataflex_rl.config.paths import shipped
from dataflex_rl.policy import Policy, split_block

METHODS = ("uniform", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband")
ROOT = """
defaults:
  - _self_
  - scorer: none
  - actuator: none
  - mixer: none
  - method: uniform
hydra:
  searchpath: [file://{conf}]
dataflex: {{chain: null, warmup_step: 0, shadow: false, trace: false}}
"""


def composed(folder: Path, *overrides: str) -> dict[str, object]:
    (folder / "root.yaml").write_text(ROOT.format(conf=shipped("conf")), encoding="utf-8")
    with initialize_config_dir(str(folder), version_base="1.3"):
        config = compose("root", list(overrides))
    block = OmegaConf.to_container(config.dataflex, resolve=True)
    assert isinstance(block, dict)
    return {str(key): value for key, value in block.items()}


@pytest.mark.parametrize("method", METHODS)
def test_methods_compose_to_what_is_read_without_hydra(method: str, tmp_path: Path) -> None:
    block, read = composed(tmp_path, f"method={method}"), method_block(method)
    assert Policy.from_config(block).name == method
    for part in ("scorer", "actuator"):
        if read[part] == {"name": "none"}:
            assert block[part]["name"] == "none"  # type: ignore[index]
        else:
            assert block[part] == read[part]


@pytest.mark.parametrize("actuator", ["softmax", "per", "topk", "diffband", "gfpo"])
def test_a_scorer_and_an_actuator_compose(actuator: str, tmp_path: Path) -> None:
    block = composed(tmp_path, "scorer=group_solve", f"actuator={actuator}", "dataflex.actuator.on_empty=keep_all")
    policy = Policy.from_config(block)
    assert (policy.name, policy.config.links[0].on_empty) == (actuator, "keep_all")


def test_a_knob_is_overridden_by_its_dotted_name(tmp_path: Path) -> None:
    block = composed(tmp_path, "method=difffilter", "dataflex.actuator.params.low=0", "dataflex.actuator.params.high=1")
    options = Policy.from_config(block).config.links[0].actuator
    assert (options.low, options.high) == (0.0, 1.0)


def test_the_composed_mixer_part_is_none(tmp_path: Path) -> None:
    assert split_block(composed(tmp_path))[1]["name"] == "none"


@pytest.mark.parametrize("role", ["scorer", "actuator"])
def test_components_and_files_are_one_to_one(role: Literal["scorer", "actuator"]) -> None:
    files = {path.stem for path in (shipped("conf") / role).glob("*.yaml")}
    ours = {name for name in names(role) if lookup(role, name).cls.__module__.startswith("dataflex_rl.")}
    assert files == ours | {"none"}
