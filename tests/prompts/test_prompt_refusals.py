"""Every mistake is one line that names the thing, what it got and what it expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dataflex_rl import apply_policy, replay_prompts
from dataflex_rl.components import registry
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.prompt_config import parse_prompts, take_prompts
from dataflex_rl.prompts import Candidates, Choice, PromptSelector, PromptTable
from dataflex_rl.prompts.interface import Candidates as Seen
from tests.prompts.pools import feed, mixing, table

HISTORY = [{"p": [1.0, 0.0], "q": [1.0, 1.0]}]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (
            {"name": "mopps"},
            "unknown prompt selector 'mopps'; known: beta_thompson, curriculum, greso_skip, hierarchical",
        ),
        ({"name": "none", "params": {"x": 1}}, "prompt selector 'none' has no parameter 'x'; known: (it has none)"),
        ({"nme": "none"}, "dataflex.prompts has no key 'nme'; known: name, params, buckets, success_threshold"),
        ({"name": 3}, "dataflex.prompts.name must be the name of a prompt selector, or none, got 3"),
        (
            {"name": "none", "buckets": "level"},
            "dataflex.prompts.buckets must be a list of dataset columns, got 'level'",
        ),
        ({"name": "none", "success_threshold": "x"}, "dataflex.prompts.success_threshold must be a number, got 'x'"),
        ("none", "dataflex.prompts must be a mapping, got 'none'"),
    ],
)
def test_blocks(block: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_prompts(block)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("beta_thompson", {"candidates": 0}, "candidates must be an integer of at least 1"),
        ("beta_thompson", {"target": 2}, "target must be between 0 and 1, got 2.0"),
        ("beta_thompson", {"alpha0": 0}, "alpha0 must be above 0, got 0.0"),
        ("beta_thompson", {"decay": 1.5}, "decay must be between 0 and 1, got 1.5"),
        ("beta_thompson", {"low": 0.3}, "low=0.3 and high=None; set both for a band, or neither"),
        ("beta_thompson", {"low": 0.7, "high": 0.3}, "low must be at least 0 and below high=0.3"),
        ("greso_skip", {"easy": 0.1}, "hard must be below easy=0.1, got 0.11"),
        ("greso_skip", {"start_chance": 0.99}, "start_chance must be in 0.05..0.95, got 0.99"),
        ("greso_skip", {"least_chance": 0}, "least_chance must be above 0 and at most 1, got 0.0"),
        ("learnability", {"tau": 0}, "tau must be above 0, got 0.0"),
        ("learnability", {"explore": 0}, "explore must be above 0 and at most 1, got 0.0"),
        ("no_resample", {"pass_rate": 0}, "pass_rate must be above 0 and at most 1, got 0.0"),
        ("no_resample", {"reserve": -1}, "reserve must be at least 0 (batches), got -1.0"),
        ("curriculum", {"schedule": "linear"}, "schedule must be one of adaptive, gaussian, got 'linear'"),
        ("curriculum", {"start_at": 101}, "start_at must be between 0 and 100, got 101.0"),
        ("curriculum", {"width": 0}, "width must be above 0, got 0.0"),
        ("hierarchical", {"pick": "best"}, "pick must be one of thompson, learnability, got 'best'"),
        ("hierarchical", {"start_kappa": 0}, "start_kappa must be in 0.5..1000, got 0.0"),
    ],
)
def test_parameters(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_prompts({"name": name, "params": params})
    assert str(caught.value).startswith(f"prompt selector {name!r}: {message}")


def test_a_curriculum_without_its_column() -> None:
    with pytest.raises(
        ConfigError, match="prompt selector 'curriculum' needs the column 'level'; the data has extra_info"
    ):
        feed("curriculum", table(10), 2, params={"column": "level"})
    bare = PromptTable.of(["a", "b"], ["x", "x"])
    with pytest.raises(ConfigError, match=r"needs the column 'extra_info\.difficulty'; the data has no column besides"):
        feed("curriculum", bare, 2)


@pytest.mark.parametrize("bad", ["hard", None, float("nan")])
def test_a_difficulty_that_is_no_number(bad: Any) -> None:
    pool = table(3, difficulty=[1, bad, 3])
    for name, params in (("curriculum", {}), ("order", {"column": "extra_info.difficulty"})):
        with pytest.raises(ConfigError, match=f"prompt selector '{name}' needs numbers in the column 'extra_info.diff"):
            feed(name, pool, 2, params=params)


def test_a_schedule_needs_an_end_and_few_levels() -> None:
    with pytest.raises(ConfigError, match="schedule gaussian ends with the run, so it needs its number of steps"):
        feed("curriculum", table(10), 2, steps=None, params={"schedule": "gaussian"})
    with pytest.raises(
        ConfigError, match=r"'extra_info\.difficulty' has 101; expected at most 100, or schedule adaptive"
    ):
        feed("curriculum", table(101, difficulty=range(101)), 2, params={"schedule": "gaussian"})


def test_a_pool_smaller_than_a_batch() -> None:
    with pytest.raises(ConfigError, match="the data has 3 distinct prompts, fewer than a batch of 4"):
        feed("none", table(3), 4)
    twice = PromptTable.of(["a", "b", "a", "b"], ["x"] * 4)
    with pytest.raises(ConfigError, match="the data has 2 distinct prompts, fewer than a batch of 4"):
        feed("none", twice, 4)


def test_quotas_that_cannot_be_met() -> None:
    pool = table(30, domains=["a"] * 3 + ["b"] * 27)
    with pytest.raises(ConfigError) as caught:
        feed("none", pool, 8, **mixing(name="static"))
    assert str(caught.value) == (
        "domain 'a' has 3 distinct prompts, but its share 0.5 of a batch of 8 asks for 4; lower the share or the batch"
    )


def test_tables_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match="column 'level' has 1 values for 2 prompts"):
        PromptTable.of(["a", "b"], ["x", "x"], {"level": [1]})
    with pytest.raises(ConfigError, match="a prompt selector needs prompts, got none"):
        PromptTable.of([], [])
    with pytest.raises(ConfigError, match=r"dataflex\.prompts\.buckets names the column 'level'; the data has age"):
        PromptTable.of(["a"], ["x"], {"age": [1]}, ["level"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"history": {"p": [1]}}, "history must be a list of steps, got dict"),
        ({"history": [["p"]]}, "history step 1 must be a mapping {prompt: rewards}, got list"),
        ({"history": [{"p": 1.0}]}, "history step 1, prompt 'p' must be a list of rewards, got 1.0"),
        ({"history": [{"p": [1.0]}, {"p": ["x"]}]}, "history step 2, prompt 'p': expected finite rewards, got 'x'"),
        ({"history": [{"p": [float("nan")]}]}, "history step 1, prompt 'p': expected finite rewards, got nan"),
        ({"prompts": ["q", "r"]}, "history step 1, prompt 'p' is unknown; known: q, r"),
        ({"prompts": "pq"}, "prompts must be a list of names or a mapping, got 'pq'"),
        ({"prompts": {"p": 1}}, "prompt 'p' must be a mapping like {'domain': ...}, got 1"),
        ({"n": 0}, "n must be an integer of at least 1 [prompts], got 0"),
        ({"n": 3}, "the data has 2 distinct prompts, fewer than a batch of 3"),
        ({"history": [{}], "prompts": ["p"]}, "history step 1 has no prompt; set n, the prompts of a batch"),
        ({"seed": -1}, "seed=-1: expected an integer from 0 to 4294967295"),
        (
            {"config": {"name": "curriculum"}},
            "prompt 'p' has no column 'extra_info.difficulty', which the selector reads",
        ),
        (
            {"config": {"name": "none", "buckets": ["level"]}},
            "prompt 'p' has no column 'level', which the selector reads",
        ),
    ],
)
def test_replays(more: dict[str, Any], message: str) -> None:
    arguments = {"config": {"name": "none"}, "history": HISTORY, **more}
    with pytest.raises(ConfigError) as caught:
        replay_prompts(arguments.pop("config"), arguments.pop("history"), **arguments)
    assert message in str(caught.value)


def test_a_selector_where_nothing_draws_by_it() -> None:
    block = {"prompts": {"name": "beta_thompson"}}
    with pytest.raises(
        ConfigError, match="prompt selector 'beta_thompson' would do nothing: it chooses prompts before"
    ):
        apply_policy(block, {"uid": ["a"], "reward": [1.0]})
    assert apply_policy({"prompts": {"name": "none", "params": {}}}, {"uid": ["a"], "reward": [1.0]}).keep is None
    rest, part = take_prompts({"chain": None, **block})
    assert (rest, part["name"], part["params"]) == ({"chain": None}, "beta_thompson", {})


# ---------------------------------------------------------------- third parties


@dataclass(frozen=True, kw_only=True)
class Told(PromptSelector):
    """Answers what it is told."""

    take: tuple[int, ...] = (0,)
    used: int = 1

    def window(self, n: int) -> int:
        return 4

    def choose(self, candidates: Seen, n: int, rng: np.random.Generator) -> Choice:
        return Choice(take=np.array(self.take, np.int64), used=self.used, skipped={})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.names("prompt selector")
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    registry.register_prompt_selector("told")(Told)


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"take": [0, 1, 2], "used": 4},
            "prompt selector 'told' chose [0, 1, 2], expected at most 2 different candidates",
        ),
        ({"take": [1, 1], "used": 4}, "prompt selector 'told' chose [1, 1], expected at most 2 different candidates"),
        ({"take": [0, 4], "used": 5}, "prompt selector 'told' used 5 of 4 candidates and chose [0, 4]"),
        ({"take": [-1, 0], "used": 4}, "prompt selector 'told' used 4 of 4 candidates and chose [-1, 0]"),
        ({"take": [0, 3], "used": 2}, "prompt selector 'told' used 2 of 4 candidates and chose [0, 3]"),
        ({"take": [], "used": 0}, "prompt selector 'told' used 0 of 4 candidates and chose []"),
        ({"take": [0], "used": 3}, "prompt selector 'told' chose 1 of 2 prompts and left 1 unused"),
    ],
)
def test_answers_that_break_the_contract(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        feed("told", table(10), 2, params=params).draw(2)
    assert str(caught.value) == message


@pytest.mark.usefixtures("told")
def test_a_selector_of_another_package_draws() -> None:
    assert len(feed("told", table(10), 2, params={"take": [3, 0], "used": 4}).draw(2).rows) == 2
    assert registry.lookup("prompt selector", "told").kind == "prompts"


def test_what_is_no_selector_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Loose:
        """Registered without the base."""

    registry.names("prompt selector")
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    registry.register_prompt_selector("loose")(Loose)
    with pytest.raises(ConfigError, match=r"'loose': Loose must be a dataflex_rl.prompts.PromptSelector"):
        parse_prompts({"name": "loose"})
    with pytest.raises(
        ConfigError, match=r"prompt selector 'none' of .* is already taken by dataflex_rl\.prompts\.none"
    ):
        registry.register_prompt_selector("none")(Loose)
    assert Candidates is Seen
