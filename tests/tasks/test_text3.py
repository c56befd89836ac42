"""The generated task: graded, disjoint from its benchmarks, and right by independent reckoning."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dataflex_rl.data.benchmarks import text12
from dataflex_rl.data.tasks import text_logic, text_math, text_science
from dataflex_rl.data.tasks.generated import Problem, distinct, entries, is_held_out
from dataflex_rl.data.tasks.items import Item, read_items
from dataflex_rl.data.tasks.overlap import Index
from dataflex_rl.data.tasks.shares import Tap, share_out
from dataflex_rl.data.tasks.text3 import Text3Options, domain_items, prepare
from dataflex_rl.errors import ConfigError
from dataflex_rl.rewards.dispatch import SOURCES, compute_score
from dataflex_rl.rewards.knights import parse_gold


@pytest.fixture(scope="module")
def bench() -> list[Item]:
    return text12.items()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, bench: list[Item]) -> Path:
    made = tmp_path_factory.mktemp("text3")
    prepare(made, Text3Options(train_size=150, val_size=30), bench)
    return made


def test_every_domain_has_a_third_and_every_level_a_fifth(folder: Path) -> None:
    train, val = (read_items(folder / f"{split}.parquet") for split in ("train", "val"))
    assert Counter(item.domain for item in train) == {"math": 50, "logic": 50, "science": 50}
    assert Counter(item.domain for item in val) == {"math": 10, "logic": 10, "science": 10}
    for domain in ("math", "logic", "science"):
        levels = Counter(item.difficulty for item in train if item.domain == domain)
        assert set(levels) == {1, 2, 3, 4, 5}
        assert all(count == 10 for count in levels.values())
    assert {item.domain for item in train[:20]} == {"math", "logic", "science"}


def test_training_shares_no_question_with_validation_or_benchmarks(folder: Path, bench: list[Item]) -> None:
    train = {item.question for item in read_items(folder / "train.parquet")}
    assert len(train) == 150
    assert not train & {item.question for item in read_items(folder / "val.parquet")}
    assert not train & {item.question for item in bench}
    card = json.loads((folder / "card.json").read_text())
    assert card["overlap"]["exact"] == 0
    assert set(card["against"]) == set(text12.BENCHMARKS)


def test_the_same_knobs_give_the_same_bytes_and_another_seed_others(
    folder: Path, tmp_path: Path, bench: list[Item]
) -> None:
    prepare(tmp_path / "a", Text3Options(train_size=150, val_size=30), bench)
    prepare(tmp_path / "b", Text3Options(train_size=150, val_size=30, seed=1), bench)
    same, other = ((tmp_path / name / "train.parquet").read_bytes() for name in "ab")
    assert same == (folder / "train.parquet").read_bytes() != other


def test_the_twelve_benchmarks_have_their_verifiers_domains_and_limits(bench: list[Item]) -> None:
    assert Counter(item.source for item in bench) == dict.fromkeys(text12.BENCHMARKS, text12.ITEMS)
    domains = Counter(domain for domain, _ in text12.BENCHMARKS.values())
    assert domains == {"math": 5, "logic": 4, "science": 3}
    assert all(item.source in SOURCES for item in bench)
    assert {item.max_new_tokens for item in bench if item.domain == "math"} == {512}
    assert {item.max_new_tokens for item in bench if item.domain != "math"} == {256}


def test_arithmetic_is_right() -> None:
    for level in text_math.LEVELS:
        for problem in itertools.islice(text_math.problems("arithmetic", level, seed=3), 20):
            terms = re.findall(r"([+-]?) ?(\d+)", problem.question)
            assert len(terms) == level + 1
            assert sum(-int(number) if sign == "-" else int(number) for sign, number in terms) == int(problem.gold)
    for problem in itertools.islice(text_math.problems("products", 3, seed=3), 20):
        first, second = re.findall(r"\d+", problem.question)
        assert int(first) * int(second) == int(problem.gold)


def test_equations_hold_for_their_answer() -> None:
    for problem in itertools.islice(text_math.problems("equations", 4, seed=3), 20):
        left, right = re.search(r": (.+) = (-?\d+)$", problem.question).groups()
        variable = re.search(r"[a-z]", left)[0]
        total = 0
        for sign, term in re.findall(r"(^-?|[+-]) ?([\da-z*]+)", left):
            factors = [int(problem.gold) if part == variable else int(part) for part in term.split("*")]
            value = factors[0] * (factors[1] if len(factors) > 1 else 1)
            total += -value if sign == "-" else value
        assert total == int(right), problem


OTHER_WORDS = r"saint|sinner|hero|villain|angel|devil|altruist|egoist|sage|fool|pioneer|laggard"


@pytest.mark.parametrize("people", [2, 4, 7])
def test_knights_name_all_people_in_the_graded_words(people: int) -> None:
    for problem in itertools.islice(text_logic.knights(people, seed=5), 8):
        roles = parse_gold(problem.gold)
        assert len(roles) == people
        assert all(name in problem.question for name in roles)
        assert "(Format" not in problem.question
        assert not re.search(
            r"saint|sinner|hero|villain|angel|devil|altruist|egoist|sage|fool|pioneer|laggard", problem.question
        )


def holds(statement: tuple, world: tuple[bool, ...]) -> bool:
    """Return whether a statement of the generator is true in a world, reckoned here."""
    kind, *parts = statement
    if kind in ("telling-truth", "lying"):
        return world[parts[0]] == (kind == "telling-truth")
    values = [holds(part, world) for part in parts]
    rules = {"not": not values[0], "and": all(values), "or": any(values), "<=>": values[0] == values[-1]}
    return (not values[0] or values[1]) if kind == "->" else rules[kind]


@pytest.mark.parametrize("people", [2, 3, 5])
def test_a_puzzle_has_the_stated_solution_and_no_other(people: int) -> None:
    raw = entries("knights_knaves", seed=6, n_people=people)
    for entry, problem in itertools.islice(zip(raw, text_logic.knights(people, seed=6), strict=True), 20):
        says = entry["metadata"]["statements"]
        worlds = itertools.product((True, False), repeat=people)
        fitting = [world for world in worlds if all(holds(says[i], world) == world[i] for i in range(people))]
        assert [tuple(role == "knight" for role in parse_gold(problem.gold).values())] == fitting


def test_facts_of_the_periodic_table_are_right() -> None:
    known = {
        "What is the chemical symbol of iron?": "Fe",
        "Which element has the symbol Na?": "sodium",
        "What is the atomic number of gold?": "79",
        "Which element has the atomic number 8?": "oxygen",
        "How many neutrons are in a nucleus of carbon-13?": "7",
    }
    found = {}
    for level in (1, 2, 3):
        for problem in itertools.islice(text_science.problems(level, seed=0), 2000):
            if problem.body in known:
                found[problem.body] = problem.question.splitlines()["ABCD".index(problem.gold) + 1][4:]
    assert found == known


def test_molar_masses_are_right() -> None:
    # standard atomic weights, as printed in the tables: H 1.008, C 12.011, N 14.007, O 15.999, Na 22.990, Cl 35.45
    weights = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999, "Na": 22.990, "Cl": 35.45}
    checked = 0
    for problem in itertools.islice(text_science.problems(4, seed=0), 2500):
        parts = re.findall(r"([A-Z][a-z]?)(\d*)", re.search(r"mass of (\w+),", problem.question)[1])
        if all(symbol in weights for symbol, _ in parts):
            mass = sum(weights[symbol] * int(count or 1) for symbol, count in parts)
            assert problem.question.splitlines()["ABCD".index(problem.gold) + 1][4:] == str(round(mass))
            checked += 1
    assert checked > 5


def test_order_puzzles_have_their_people_as_options() -> None:
    for problem in itertools.islice(text_logic.order(3, seed=1), 4):
        options = re.findall(r"^\([A-C]\) (\w+)$", problem.question, re.M)
        assert sorted(options) == sorted(re.search(r"unique name: (.+)", problem.question)[1].split(", "))
        assert compute_score("text_order", f"The answer is ({problem.gold})", problem.gold)["score"] == 1.0


def test_one_question_in_five_is_held_out() -> None:
    problems = [Problem(kind="k", level=1, question=f"What is {i} + {i}?", gold="0") for i in range(2000)]
    assert 300 < sum(is_held_out(problem) for problem in problems) < 500


def test_a_generator_that_repeats_itself_is_an_error() -> None:
    same = itertools.repeat(Problem(kind="k", level=1, question="What is 1 + 1?", gold="2"))
    held_out = is_held_out(next(same))
    with pytest.raises(ConfigError, match="k at level 1 has 1 different questions left, expected 2; ask for fewer"):
        distinct(same, 2, held_out=held_out, seen=set())


def tap(level: int, size: int) -> Tap:
    """Return a source of `size` items whose gold answers are their level."""
    items = iter([Item(source="s", domain="d", item_id="i", question="q", gold=str(level))] * size)
    return Tap(level=level, take=lambda expected: list(itertools.islice(items, expected)))


@pytest.mark.parametrize(
    ("count", "taps", "expected"),
    [
        (6, [(1, 9), (2, 9), (3, 9)], [2, 2, 2]),
        (7, [(1, 9), (2, 9), (3, 9)], [3, 2, 2]),
        (8, [(1, 1), (1, 9), (2, 9), (2, 9)], [4, 4]),  # 2 each; the one that lacks comes from its own level
        (9, [(1, 0), (2, 9), (3, 9)], [6, 3]),  # the next level
        (9, [(1, 9), (2, 9), (3, 1)], [5, 3, 1]),  # the last level has no next one: the lowest
        (9, [(1, 1), (2, 4), (3, 9)], [1, 4, 4]),  # 3 each, level 2 gives one of the two, level 3 the other
        (9, [(1, 1), (2, 1), (3, 1)], [1, 1, 1]),  # nothing is left
    ],
)
def test_what_runs_dry_is_made_up_for_by_the_next(count: int, taps: list[tuple[int, int]], expected: list[int]) -> None:
    found = Counter(item.gold for item in share_out(count, [tap(level, size) for level, size in taps]))
    assert [found[key] for key in sorted(found)] == expected


def test_easy_kinds_run_dry_and_their_level_keeps_its_share() -> None:
    # products of two digits 1 to 9 have fewer than 81 questions for training; 2,250 is 90 for each of 25 kinds
    found = domain_items("math", 2250, 1, held_out=False, index=Index.of(())).kept
    assert len({item.question for item in found}) == 2250
    assert Counter(item.difficulty for item in found) == dict.fromkeys(text_math.LEVELS, 450)
    easy = [item for item in found if re.fullmatch(r"What is \d \* \d\?", item.question)]
    assert len(easy) < 81


def test_the_card_counts_levels(folder: Path) -> None:
    levels = json.loads((folder / "card.json").read_text())["levels"]
    assert levels["train"] == {d: {str(i): 10 for i in range(1, 6)} for d in ("logic", "math", "science")}
    assert sum(levels["val"]["logic"].values()) == 10


def test_the_default_problems_are_those_of_their_version(bench: list[Item]) -> None:
    # Other answers here need another generated.VERSION: caches are keyed by it.
    first = domain_items("math", 25, 0, held_out=False, index=Index.of(bench)).kept
    assert [item.gold for item in first[:5]] == ["-3", "10", "5", "4", "1372"]
