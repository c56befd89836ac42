import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflex_rl.data.tiny import toy3

SEEDS = st.integers(0, 2**32 - 1)
SPLITS = st.booleans()

# Written down from a periodic table: atomic numbers, electrons of the outer shell, usual bonds.
ATOMIC_NUMBER = dict(zip("HBCNOF", "156789", strict=True))
VALENCE = dict(zip("HBCNOF", "134567", strict=True))
BONDS = dict(zip("HBCNOF", "134321", strict=True))
SCIENCE = {"b": BONDS, "z": ATOMIC_NUMBER, "v": VALENCE}
# Rows of the truth tables in the order FF, FT, TF, TT.
TRUTH = {"&": "FFFT", "|": "FTTT", ">": "TTFT", "<": "TFTT"}


def operands(body: str, operations: str) -> tuple[str, str, str]:
    operation = next(c for c in body if c in operations)
    left, right = body.split(operation)
    return left, operation, right


@given(SEEDS, SPLITS)
def test_math_answers_are_the_sum_the_difference_the_larger_and_the_smaller_digits(seed, held_out):
    problem = toy3.draw(random.Random(seed), "math", held_out=held_out)
    a, operation, b = operands(problem.body, "+-^_")
    expected = {
        "+": str(int(a) + int(b)),
        "-": str(int(a) - int(b)).zfill(len(a)),
        "^": "".join(max(pair) for pair in zip(a, b, strict=True)),
        "_": "".join(min(pair) for pair in zip(a, b, strict=True)),
    }
    other = {"+": "-", "-": "+", "^": "_", "_": "^"}[operation]
    assert (problem.right, problem.wrong) == (expected[operation], expected[other])


@given(SEEDS, SPLITS)
def test_logic_answers_follow_the_truth_tables(seed, held_out):
    problem = toy3.draw(random.Random(seed), "logic", held_out=held_out)
    a, operation, b = operands(problem.body, "&|<>")
    rows = [2 * (x == "T") + (y == "T") for x, y in zip(a, b, strict=True)]
    other = {"&": "|", "|": "&", ">": "<", "<": ">"}[operation]
    assert problem.right == "".join(TRUTH[operation][row] for row in rows)
    assert problem.wrong == "".join(TRUTH[other][row] for row in rows)


@given(SEEDS, SPLITS)
def test_science_answers_are_the_facts_of_each_atom(seed, held_out):
    problem = toy3.draw(random.Random(seed), "science", held_out=held_out)
    operation, atoms = problem.body.split(".")
    other = {"b": "z", "z": "v", "v": "b"}[operation]
    assert problem.right == "".join(SCIENCE[operation][atom] for atom in atoms)
    assert problem.wrong == "".join(SCIENCE[other][atom] for atom in atoms)


@given(SEEDS, SPLITS, st.sampled_from(toy3.DOMAINS))
def test_every_problem_is_short_and_its_first_character_tells_right_from_wrong(seed, held_out, domain):
    problem = toy3.draw(random.Random(seed), domain, held_out=held_out)
    assert problem.right[0] != problem.wrong[0]
    assert 1 <= len(problem.right) == len(problem.wrong) <= toy3.MAX_ANSWER == 5
    assert len(problem.prompt) + 2 <= 20  # with <s> and "="
    assert toy3.is_held_out(problem.body) == held_out
    assert problem.prompt == f"{domain[0]}{problem.level}:{problem.body}"


def test_all_levels_operations_and_lengths_occur():
    rng = random.Random(0)
    for domain, operations in {"math": "+-^_", "logic": "&|<>", "science": "bzv"}.items():
        drawn = [toy3.draw(rng, domain, held_out=False) for _ in range(600)]
        assert {p.level for p in drawn} == {1, 2, 3, 4, 5, 6, 7, 8}
        assert {len(p.right) for p in drawn} == {1, 2, 3, 4, 5}
        assert {c for p in drawn for c in p.body if c in operations} == set(operations)


@pytest.mark.parametrize("domain", toy3.DOMAINS)
def test_success_falls_linearly_with_the_level(domain):
    values = [toy3.success_probability(domain, level) for level in toy3.LEVELS]
    steps = [a - b for a, b in itertools.pairwise(values)]
    assert all(step == pytest.approx((values[0] - values[-1]) / 7) and step > 0 for step in steps)
    assert all(0.05 < value < 1 for value in values)


@pytest.mark.parametrize(("domain", "level"), [("math", 1), ("logic", 5), ("science", 8)])
def test_answers_are_right_as_often_as_the_level_says(domain, level):
    problem = toy3.Problem(domain=domain, level=level, body="x", right="1", wrong="0")
    rng = random.Random(1)
    share = sum(toy3.draw_answer(rng, problem) == "1" for _ in range(4000)) / 4000
    # four standard errors of a share of 4000 draws are at most 4 * 0.5 / sqrt(4000) = 0.032
    assert share == pytest.approx(toy3.success_probability(domain, level), abs=0.032)
