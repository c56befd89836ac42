"""The YAML files of prompt selectors compose, build, and say what the classes say; a run is named by its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from dataflex_rl.components.registry import lookup
from dataflex_rl.config.methods import method_block
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plan import resolve
from dataflex_rl.feed.prompt_config import PROMPT_DEFAULTS, parse_prompts, take_prompts
from dataflex_rl.policy import Policy
from tests.prompts.pools import OURS

FOLDER = shipped("conf") / "prompts"


def composed(*overrides: str) -> Any:
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        return compose("run", overrides=["dry_run=true", "runs_dir=/tmp/none", *overrides])


def test_files_and_selectors_are_one_to_one() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == list(OURS)


@pytest.mark.parametrize("name", OURS)
def test_every_file_composes_and_builds(name: str) -> None:
    block = OmegaConf.to_container(composed(f"prompts={name}").dataflex, resolve=True)
    rest, part = take_prompts(block)  # type: ignore[arg-type]
    parsed = parse_prompts(part)
    assert parsed.name == name
    assert parsed.selector == lookup("prompt selector", name).cls()
    assert Policy.from_config(rest).kind == "uniform"
    assert parsed.buckets == (("extra_info.difficulty",) if name == "hierarchical" else ())


@pytest.mark.parametrize("name", OURS)
def test_defaults_of_files_and_classes_agree(name: str) -> None:
    part = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    assert (part["name"], part["params"]) == (name, lookup("prompt selector", name).defaults)
    assert part.keys() == PROMPT_DEFAULTS.keys()
    assert part["success_threshold"] == PROMPT_DEFAULTS["success_threshold"]


@pytest.mark.parametrize("name", OURS)
def test_files_are_headed_and_each_key_has_a_comment(name: str) -> None:
    lines = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# @package dataflex.prompts"
    assert lines[1].startswith(f"# prompts={name}: ")
    for above, line in pairwise(lines[1:]):
        if line.strip() and not line.strip().startswith("#"):
            assert above.strip().startswith("#"), f"{name}.yaml: no comment over {line!r}"


def test_a_value_is_overridden_by_its_dotted_name() -> None:
    block = OmegaConf.to_container(composed("prompts=beta_thompson", "dataflex.prompts.params.target=0.7").dataflex)
    assert parse_prompts(block["prompts"]).selector.target == 0.7  # type: ignore[index,attr-defined,call-overload]


@pytest.mark.parametrize(
    ("overrides", "method"),
    [
        ("", "uniform"),
        ("prompts=greso_skip", "greso_skip"),
        ("method=difffilter prompts=hierarchical", "difffilter+hierarchical"),
        ("method=reward_gap prompts=beta_thompson", "reward_gap+beta_thompson"),
        ("method=difffilter mixer=tscl prompts=order", "difffilter+tscl+order"),
        ("scorer=reward actuator=gfpo prompts=learnability", "gfpo+learnability"),
        ("method=difffilter mixer=tscl", "difffilter+tscl"),
    ],
)
def test_a_run_is_named_by_all_that_it_does(overrides: str, method: str, tmp_path: Path) -> None:
    config = composed(*overrides.split(), f"runs_dir={tmp_path}")
    plan = resolve(config, dry=True)
    assert (plan.method, plan.prompt_selector) == (method, config.dataflex.prompts.name)
    mixes = config.dataflex.mixer.name != "none"
    assert config.trainer.v1.trainer_mode == ("dataflex_mix_sync" if mixes else "dataflex_sync")


NAMED = sorted(path.stem for path in (shipped("conf") / "method" / "prompts").glob("*.yaml"))


def test_every_rule_has_a_named_method() -> None:
    assert {name for name in OURS if name != "none"} <= set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_a_named_method_is_called_as_its_file(name: str, tmp_path: Path) -> None:
    assert resolve(composed(f"method=prompts/{name}", f"runs_dir={tmp_path}"), dry=True).method == name
    assert method_block(f"prompts/{name}")["prompts"]["name"] == name.rpartition("+")[2]
