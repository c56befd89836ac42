"""A setting keeps the kind that it ships with, and what ships passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plan import resolve
from dataflex_rl.config.schema import check_types
from dataflex_rl.errors import ConfigError
from dataflex_rl.host.validate import validate

CHOICES = {"host": "cpu", "model": "tiny", "task": "toy3", "benchmark": "none"}


@pytest.fixture(scope="module")
def config() -> DictConfig:
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        return compose("run", overrides=["dry_run=true", "runs_dir=/tmp/none"])


def blocks(node: DictConfig, where: str = "") -> Iterator[str]:
    """Yield the dotted key of every block below a node."""
    for key in node:
        value = node._get_node(key)
        if isinstance(value, DictConfig) and not value._is_none() and not value._is_interpolation():
            yield f"{where}{key}"
            yield from blocks(value, f"{where}{key}.")


@pytest.mark.parametrize("host", sorted(path.stem for path in (shipped("conf") / "host").glob("*.yaml")))
def test_what_ships_has_its_shape(host: str) -> None:
    with initialize_config_dir(config_dir=str(shipped("conf")), version_base="1.3"):
        for model, task in (("tiny", "toy3"), ("llama3_1_8b", "multidomain3"), ("smollm2_135m", "text3")):
            chosen = {"host": host, "model": model, "task": task, "benchmark": "text12"}
            check_types(compose("run", overrides=[f"{group}={name}" for group, name in chosen.items()]), chosen)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sweep", 7),  # a number names a folder
        ("dataflex.scorer", None),  # the policy's own check knows what may be missing
        ("trainer.max_actor_ckpt_to_keep", None),  # verl: keep all
        ("reward.custom_reward_function.path", None),  # verl: by data_source
        ("actor_rollout_ref.rollout.val_kwargs.temperature", 0.6),  # ships as 0
        ("actor_rollout_ref.actor.optim.lr", 1),
        ("data.max_response_length", "${data.max_prompt_length}"),
        ("trainer.logger", "console"),
    ],
)
def test_what_fits_passes(config: DictConfig, key: str, value: object) -> None:
    changed = config.copy()
    OmegaConf.update(changed, key, value, merge=False)
    check_types(changed, CHOICES)


@pytest.mark.slow
def test_no_block_set_to_null_ends_in_a_traceback(config: DictConfig) -> None:
    """Whatever block is missing, ours or verl's: the run is refused in one line, or it needs no such block."""
    refused = []
    for key in blocks(config):
        changed = config.copy()
        with open_dict(changed):
            OmegaConf.update(changed, key, None, merge=False)
        try:
            check_types(changed, CHOICES)
            validate(resolve(changed, dry=True).settings)
        except ConfigError as error:
            refused.append(str(error))
    assert len(refused) > 30
    assert not any("\n" in line for line in refused)
