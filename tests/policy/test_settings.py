"""The schema of settings: what it takes and refuses, and that conf/ and the reference say the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from dataflex_rl.commands.listing import main
from dataflex_rl.components.options import words
from dataflex_rl.components.settings import SETTINGS, block_defaults
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.reference import as_yaml, commented, component_settings, launcher_settings, page, run_settings
from dataflex_rl.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("dataflex.warmup_step", 0, 0),
        ("dataflex.group_estimator", None, None),
        ("dataflex.actuator.cap", 1, 1.0),
        ("dataflex.actuator.cap", float("inf"), float("inf")),  # the same as null: no bound
        ("dataflex.mixer.oversample", 2, 2.0),
        ("regime.data_fraction", 1, 1.0),
        ("regime.label_noise", 0, 0.0),
        ("wandb.mode", "online", "online"),
        ("launcher.timeout", None, None),
        ("trainer.total_training_steps", 1, 1),
    ],
)
def test_values_inside_the_range(key: str, value: Any, taken: Any) -> None:
    found = SETTINGS[key].check(value)
    assert (found, type(found)) == (taken, type(taken))


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("dataflex.warmup_step", True, "dataflex.warmup_step must be a number of steps >= 0, got True"),
        ("dataflex.shadow", None, "dataflex.shadow must be true or false, got None"),
        ("dataflex.mixer.domain_key", "", "dataflex.mixer.domain_key must be the name of a dataset column, got ''"),
        ("dataflex.mixer.oversample", float("nan"),
         "dataflex.mixer.oversample must be a number >= 1.0 (prompts generated per prompt consumed), got nan"),
        ("regime.data_fraction", 0, "regime.data_fraction=0: expected a share above 0, at most 1"),
        ("regime.label_noise", 1.0, "regime.label_noise=1.0: expected a share from 0 to below 1"),
        ("wandb.mode", "on", "wandb.mode='on': expected one of offline, online, disabled, or null"),
        ("launcher.timeout", 0, "launcher.timeout=0: expected a number above 0 [s], or null for no bound"),
        ("data.train_batch_size", 0, "data.train_batch_size=0: expected an integer >= 1 [prompts]"),
        ("data.train_batch_size", 1.0, "data.train_batch_size=1.0: expected an integer >= 1 [prompts]"),
    ],
)  # fmt: skip
def test_values_outside_are_refused_in_one_line(key: str, value: Any, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        SETTINGS[key].check(value)
    assert str(error.value) == says


def test_every_default_is_itself_taken_and_is_the_one_in_conf() -> None:
    for key, setting in SETTINGS.items():
        if setting.default is not None or setting.null:
            assert setting.check(setting.default) == setting.default, key
    values = {key: yaml.safe_load(value) for key, value, _ in commented((shipped("conf") / "run.yaml").read_text())}
    shared = [key for key in SETTINGS if key in values]
    assert {key: values[key] for key in shared} == {key: SETTINGS[key].default for key in shared}
    assert len(shared) >= 8
    mixer = yaml.safe_load((shipped("conf") / "mixer" / "none.yaml").read_text())
    assert mixer == block_defaults("dataflex.mixer")
    prompts = yaml.safe_load((shipped("conf") / "prompts" / "none.yaml").read_text())
    assert prompts == block_defaults("dataflex.prompts")


def test_comments_of_a_yaml_file() -> None:
    text = (
        "# title\n\na: 1\n# of b\nb:\n  # of c,\n  # on two lines\n  c: x\n  d: [1, 2]\n# list\ne:\n  - f: 1\ng: null\n"
    )
    assert list(commented(text)) == [
        ("a", "1", ""), ("b", "", "of b"), ("b.c", "x", "of c, on two lines"),
        ("b.d", "[1, 2]", "of c, on two lines"),  # right below: the same comment
        ("e", "", "list"), ("g", "null", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (float, "a number"),
        (bool, "true or false"),
        (int | None, "an integer or null"),
        (Literal["mean", "sum"], "one of mean, sum"),
        (Mapping[str, float] | Sequence[float] | None, "a mapping or a list or null"),
    ],
)
def test_annotations_in_words(annotation: Any, said: str) -> None:
    assert words(annotation) == said


def test_as_one_would_write_it() -> None:
    assert [as_yaml(value) for value in (None, True, 0.5, "x", {}, [1], float("inf"))] == [
        "null", "true", "0.5", "x", "{}", "[1]", ".inf",
    ]  # fmt: skip


def test_every_setting_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*run_settings(), *component_settings(), *launcher_settings()]
    assert [row.key for row in rows if not row.help] == []
    named = {row.key for row in rows}
    not_in_run = {key for key in SETTINGS if key.startswith(("trainer.", "data.", "actor_"))} | {"dataflex.weight_kl"}
    assert set(SETTINGS) - named == not_in_run  # verl's own, and a switch that can only be false
    assert main(["--settings", "--json"]) == 0
    listed = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed.keys() == named
    assert listed["actuator=difffilter low"]["expected"] == "a number"
    assert listed["launcher.retries"]["default"] == "2"


def test_the_page_is_current() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == page()
