"""The YAML files of scorers, actuators and methods: vetted defaults, and a comment over each key."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataflex_rl.components.registry import lookup
from dataflex_rl.config.methods import merged, method_block
from dataflex_rl.config.paths import shipped
from dataflex_rl.policy import Policy

SCORERS = ("none", "reward", "advantage_magnitude", "group_solve", "token_prob")
ACTUATORS = ("none", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband")
# method -> (scorer, its options, actuator, its options): the setting of the study
STUDY: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "difffilter": (
        "group_solve", {"success_threshold": 0.5, "signal": "reward"}, "difffilter", {"low": 0.2, "high": 0.8}
    ),
    "maxvar": ("reward", {"signal": "reward"}, "maxvar", {"keep_fraction": 0.5}),
    "gfpo": ("reward", {"signal": "reward"}, "gfpo", {"k": 3, "metric": "efficiency"}),
    "topk": ("advantage_magnitude", {"agg": "mean"}, "topk", {"fraction": 0.5, "largest": True}),
    "ar": ("token_prob", {}, "ar", {"alpha": 0.5}),
    "per": ("advantage_magnitude", {"agg": "mean"}, "per", {"alpha": 0.5}),
    "softmax": ("advantage_magnitude", {"agg": "mean"}, "softmax", {"temperature": 1.0}),
    "diffband": ("reward", {"signal": "reward"}, "diffband", {"low_q": 0.25, "high_q": 0.75, "focus_weight": 2.0}),
}  # fmt: skip
FILES = [
    *(("scorer", name) for name in SCORERS),
    *(("actuator", name) for name in ACTUATORS),
    *(("method", name) for name in ("uniform", *STUDY)),
]


def path(group: str, name: str) -> Path:
    return shipped("conf") / group / f"{name}.yaml"


@pytest.mark.parametrize("method", STUDY)
def test_methods_are_the_studys_setting(method: str) -> None:
    block = method_block(method)
    scorer, scorer_knobs, actuator, actuator_knobs = STUDY[method]
    assert block["scorer"] == {"name": scorer, "params": scorer_knobs}
    assert block["actuator"]["name"] == actuator
    assert block["actuator"]["params"] == actuator_knobs
    assert (block["actuator"]["cap"], block["actuator"]["on_empty"]) == (None, "zero")
    assert block["mixer"] == {"name": "none"}
    policy = Policy.from_config(block)
    assert (policy.name, policy.kind) == (method, lookup("actuator", actuator).kind)
    # normalize: none for selectors (the study's rule), response for reweighters, token for the token-granular one
    expected = "none" if policy.kind == "select" else "token" if method == "ar" else "response"
    assert block["actuator"]["normalize"] == expected == policy.config.links[0].normalize


def test_uniform_has_no_link() -> None:
    assert Policy.from_config(method_block("uniform")).kind == "uniform"


@pytest.mark.parametrize(("group", "name"), [item for item in FILES if item[0] != "method" and item[1] != "none"])
def test_defaults_of_files_and_classes_agree(group: str, name: str) -> None:
    spec = lookup("scorer" if group == "scorer" else "actuator", name)
    part = yaml.safe_load(path(group, name).read_text(encoding="utf-8"))
    assert (part["name"], part["params"]) == (name, spec.defaults)


@pytest.mark.parametrize(("group", "name"), FILES)
def test_files_are_headed_and_each_key_has_a_comment(group: str, name: str) -> None:
    lines = path(group, name).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# @package " + ("_global_" if group == "method" else f"dataflex.{group}")
    assert lines[1].startswith(f"# {group}={name}: ")
    for above, line in pairwise(lines[1:]):
        if line.strip() and not line.strip().startswith("#"):
            assert above.strip().startswith("#"), f"{group}/{name}.yaml: no comment over {line!r}"


def test_merged_keeps_what_is_not_named() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}, "e": 5}) == {"a": {"b": 4, "c": 2}, "d": 3, "e": 5}
