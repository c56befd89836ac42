"""Seeds and lists on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflex_rl.errors import ConfigError
from dataflex_rl.sweep.seeds import parse_seeds, points, prepare


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", (7,)),
        ("0-11", tuple(range(12))),
        ("0,3,7", (0, 3, 7)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("8,0-2", (8, 0, 1, 2)),
        ("4-4", (4,)),
        (" 1 , 2 ", (1, 2)),
    ],
)
def test_seed_texts(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5-2", "the range 5-2 runs backwards"),
        ("0,3,3", "seed 3 is named twice"),
        ("0-4,2", "seed 2 is named twice"),
        ("0,", "'' is no seed"),
        ("a-b", "'a-b' is no seed"),
        ("0-4294967296", "0 to 4294967295"),
    ],
)
def test_bad_seed_texts_are_named_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_seeds(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.sets(st.integers(0, 200), min_size=1, max_size=20))
def test_any_set_of_seeds_comes_back(seeds: set[int]) -> None:
    assert parse_seeds(",".join(map(str, sorted(seeds)))) == tuple(sorted(seeds))


@pytest.mark.parametrize("multirun", [False, True])
@pytest.mark.parametrize(
    ("form", "seeds"),
    [
        ("seed=0-2", (0, 1, 2)),
        ("seed=0,3,7", (0, 3, 7)),
        ("seed='0,3'", (0, 3)),
        ("seed=[0,3]", (0, 3)),
        ("seed=0 - 1", (0, 1)),
    ],
)
def test_seed_forms_are_the_same_with_and_without_m(multirun: bool, form: str, seeds: tuple[int, ...]) -> None:
    request = prepare([*(["-m"] if multirun else []), "method=ar", form])
    assert (request.arguments, request.seeds, request.single) == (("method=ar",), seeds, False)


def test_one_seed_stays_in_the_foreground() -> None:
    for arguments in (["seed=3"], ["method=ar"], ["seed=-1"], ["seed=first"], ["seed=1.5"]):
        request = prepare(arguments)
        assert request.single
        assert list(request.arguments) == arguments  # the run's own check names what is wrong with it
    assert prepare(["seed=4-4"]).arguments == ("seed=4",)
    assert prepare(["seed=4-4"]).single


def test_a_seed_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed is set twice: seed=0 seed=1"):
        prepare(["seed=0", "seed=1"])


def test_hydra_lists_multiply_with_the_last_fastest() -> None:
    found = points(["method=uniform,ar", "model=tiny", "a.b=1,2", "--config-dir=x,y"])
    assert [(p[0], p[2]) for p in found] == [
        ("method=uniform", "a.b=1"),
        ("method=uniform", "a.b=2"),
        ("method=ar", "a.b=1"),
        ("method=ar", "a.b=2"),
    ]
    assert {p[3] for p in found} == {"--config-dir=x,y"}
    assert points(["x=[1,2]"]) == [("x=[1,2]",)]  # a list is one value
    assert points(["x=range(0,3)"]) == [("x=0",), ("x=1",), ("x=2",)]


def test_patterns_and_broken_overrides_are_refused() -> None:
    with pytest.raises(ConfigError, match="a list of values"):
        points(["method=glob(*)"])
    with pytest.raises(ConfigError, match="Hydra cannot read it"):
        points(["method=[a"])
