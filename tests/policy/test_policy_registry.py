"""Registration: what a component must be, collisions, listing, entry points that do not import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pytest

from dataflex_rl.commands import listing
from dataflex_rl.components import registry
from dataflex_rl.components.batch import Batch
from dataflex_rl.components.registry import (
    build,
    describe,
    lookup,
    names,
    register_actuator,
    register_mixer,
    register_scorer,
)
from dataflex_rl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Every type of parameter."""

    needed: int
    table: dict[str, float] | None = None
    items: list[int] | None = None
    pair: tuple[str, ...] = ("a",)
    mode: Literal["x", "y"] = "x"
    anything: Any = None

    def __call__(self, batch: Batch) -> Any:
        return batch.outcome_B


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    lookup("scorer", "reward")
    before, loaded = dict(registry._SPECS), set(registry._loaded)
    yield
    registry._SPECS.clear()
    registry._SPECS.update(before)
    registry._loaded.clear()
    registry._loaded.update(loaded)


def test_the_eight_methods_and_four_scorers_are_there() -> None:
    assert set(names("scorer")) >= {"advantage_magnitude", "group_solve", "reward", "token_prob"}
    assert set(names("actuator")) >= {"ar", "diffband", "difffilter", "gfpo", "maxvar", "per", "softmax", "topk"}


def test_describe_says_what_each_needs() -> None:
    parts = {part["name"]: part for part in describe()}
    assert parts["group_solve"] == {
        "name": "group_solve",
        "kind": "scorer",
        "granularity": ["prompt"],
        "requires": ["rm_scores", "uid"],
        "timing": "post_reward",
        "needs_groups": True,
        "stateful": False,
        "defaults": {"success_threshold": 0.5, "signal": "reward"},
        "summary": "Share of the group's responses whose outcome exceeds success_threshold.",
    }
    kinds = {name: parts[name]["kind"] for name in ("difffilter", "ar")}
    assert kinds == {"difffilter": "select", "ar": "reweight"}
    assert all(part["summary"].endswith(".") for part in parts.values())


def test_parameters_of_every_type() -> None:
    register_scorer("wide", granularity="response")(Wide)
    made = build("scorer", "wide", {"needed": 1, "table": {"a": 1}, "items": [1, 2], "pair": ["b", "c"], "mode": "y"})
    assert made == Wide(needed=1, table={"a": 1.0}, items=[1, 2], pair=("b", "c"), mode="y")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "scorer 'wide' needs the parameter 'needed'"),
        ({"needed": None}, "needed must be an integer, got None"),
        ({"needed": 1, "table": [1]}, "table must be a mapping or null, got [1]"),
        ({"needed": 1, "table": {"a": "x"}}, "table must be a number or null, got {'a': 'x'}"),
        ({"needed": 1, "items": "12"}, "items must be a list or null, got '12'"),
        ({"needed": 1, "pair": [1]}, "pair[0] must be a string, got 1"),
        ({"needed": 1, "mode": "z"}, "mode must be one of x, y, got 'z'"),
    ],
)
def test_parameters_that_do_not_fit(params: dict[str, Any], message: str) -> None:
    register_scorer("wide", granularity="response")(Wide)
    with pytest.raises(ConfigError) as caught:
        build("scorer", "wide", params)
    assert message in str(caught.value)


def test_a_component_must_be_a_dataclass() -> None:
    with pytest.raises(ConfigError, match="scorer 'x': Plain must be a dataclass whose fields are its parameters"):
        register_scorer("x", granularity="response")(type("Plain", (), {}))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"granularity": "batch"}, "granularity 'batch' is none of domain, prompt, response, token"),
        ({"timing": "later"}, "timing 'later' is none of pre_rollout, post_reward, post_advantage, in_loss"),
        ({"stateful": True}, "stateful, but Wide lacks state_dict or load_state_dict"),
    ],
)
def test_a_declaration_that_does_not_fit(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        register_scorer("x", **{"granularity": "response", **more})(Wide)


def test_a_name_is_taken_once_per_role() -> None:
    with pytest.raises(ConfigError, match=r"scorer 'reward' of .* is already taken by dataflex_rl.scorers.reward"):
        register_scorer("reward", granularity="response")(Wide)
    register_actuator("reward", kind="reweight", granularity=("response",))(Wide)
    register_mixer("wide")(Wide)
    assert lookup("mixer", "wide").kind == "mix"


def test_a_score_that_comes_too_late_is_refused() -> None:
    from dataflex_rl.policy import Policy

    register_scorer("late", granularity="response", timing="in_loss")(Wide)
    block = {"scorer": {"name": "late", "params": {"needed": 1}}, "actuator": {"name": "per"}}
    with pytest.raises(ConfigError, match="scorer 'late' is computed in_loss, but actuator 'per' acts post_advantage"):
        Policy.from_config(block)


def test_an_entry_point_that_does_not_import_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = EntryPoint(name="theirs", value="not_there_at_all", group=registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken])
    for _ in range(2):  # not only the first time
        registry._loaded.discard(registry.ENTRY_POINTS)
        with pytest.raises(ConfigError) as caught:
            names("scorer")
        assert str(caught.value) == (
            "component 'theirs' (not_there_at_all) of entry-point group 'dataflex_rl.components' does not import: "
            "ModuleNotFoundError: No module named 'not_there_at_all'"
        )
    assert listing.main([]) == 2
    assert "component 'theirs'" in capsys.readouterr().err


def test_list_prints_every_component(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert listing.main([]) == 0
    text = capsys.readouterr().out
    for part in describe():
        assert part["name"] in text
        assert part["summary"] in text
    assert "success_threshold=0.5, signal=reward" in text


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert listing.main(["--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert [part["name"] for part in parts] == [part["name"] for part in describe()]
