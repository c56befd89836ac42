"""The plan says where the W&B copy will be, and one configuration makes one W&B run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from dataflex_rl.config.wandb_copy import plan_copy
from dataflex_rl.errors import ConfigError
from dataflex_rl.runtime.wandb_log import run_id

KEY = {"WANDB_API_KEY": "x"}


def config(logger: Any = (), **wandb: str | None) -> DictConfig:
    block = {"mode": None, "project": None, "entity": None, **wandb}
    return OmegaConf.create({"run_dir": "/r/s", "wandb": block, "trainer": {"logger": logger}})


@pytest.mark.parametrize(
    ("block", "environment", "text"),
    [
        ({}, {}, "offline, in the folder wandb of the record when it is done"),
        ({"mode": "disabled"}, KEY, "disabled"),
        (
            {}, KEY,
            "online since WANDB_API_KEY is set, at https://wandb.ai/(the key's own entity)/dataflex_rl; "
            "wandb.mode=offline keeps it here",
        ),
        (
            {"mode": "online", "project": "p", "entity": "e"}, {**KEY, "WANDB_BASE_URL": "https://w.example"},
            "online, at https://w.example/e/p",
        ),
        ({}, {**KEY, "WANDB_MODE": "offline"}, "offline, in the folder wandb of the record when it is done"),
    ],
)  # fmt: skip
def test_mode_and_place_are_said(block: dict[str, str], environment: dict[str, str], text: str) -> None:
    by_key = [f"W&B copy: {text}"] if "since WANDB_API_KEY" in text else []
    assert plan_copy(config(**block), environment) == (text, by_key)


@pytest.mark.parametrize("logger", [["console", "wandb"], "wandb"])
def test_verls_own_logger_makes_no_second_run(logger: Any) -> None:
    made = config(logger)
    _, warnings = plan_copy(made, {})
    assert list(made.trainer.logger) == [name for name in ("console",) if name in logger]
    assert len(warnings) == 1
    assert "trainer.logger: wandb is left out, so that there is one W&B run" in warnings[0]


def test_without_a_copy_of_the_runs_own_verl_makes_the_one_run_and_its_folder_must_do(tmp_path: Path) -> None:
    made = config(["console", "wandb"], mode="disabled")
    text, warnings = plan_copy(made, {"WANDB_DIR": str(tmp_path)})
    assert (text, warnings) == (f"by verl's own logger, in {tmp_path}/wandb or online as WANDB_MODE says", [])
    assert list(made.trainer.logger) == ["console", "wandb"]
    with pytest.raises(ConfigError, match="WANDB_DIR=/proc/no: no folder one may write to"):
        plan_copy(made, {"WANDB_DIR": "/proc/no"})


def test_an_id_belongs_to_one_record() -> None:
    same = dict.fromkeys(("sweep", "model", "task", "regime", "method", "seed", "config_hash"), "x")
    first, second = {**same, "record_id": "a"}, {**same, "record_id": "b"}
    assert run_id(first) != run_id(second)
    assert run_id({**first, "finished": "later", "started": "later"}) == run_id(first)
    assert run_id(same) == run_id(dict(same))
