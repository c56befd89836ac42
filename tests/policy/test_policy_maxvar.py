"""maxvar against all subsets."""

from __future__ import annotations

from itertools import combinations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.actuators import maxvar_B
from dataflex_rl.components.ordering import rounded_share

GRID = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 1.0, -1.0])
ANY = st.floats(-4, 4, width=32)


def variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def brute(values: list[float], rank: list[int], n: int) -> list[bool]:
    """Largest variance of all subsets; of equals the one with the smallest sorted ranks."""
    subsets = list(combinations(range(len(values)), n))
    best = max(variance([values[i] for i in subset]) for subset in subsets)
    equal = [s for s in subsets if variance([values[i] for i in s]) > best - 1e-9]
    winner = min(equal, key=lambda subset: sorted(rank[i] for i in subset))
    return [i in winner for i in range(len(values))]


def run(values: list[float], rank: list[int], fraction: float) -> list[bool]:
    group_B = torch.zeros(len(values), dtype=torch.int64)
    return maxvar_B(torch.tensor(values, dtype=torch.float64), group_B, torch.tensor(rank), 1, fraction).tolist()


@st.composite
def group(draw: st.DrawFn, values: st.SearchStrategy[float]) -> tuple[list[float], list[int], int]:
    rewards = draw(st.lists(values, min_size=1, max_size=8))
    rank = draw(st.permutations(range(len(rewards))))
    return rewards, list(rank), draw(st.integers(1, len(rewards)))


@settings(deadline=None, max_examples=400)
@given(group(GRID))
def test_equals_brute_force_with_ties(case: tuple[list[float], list[int], int]) -> None:
    values, rank, n = case
    assert run(values, rank, n / len(values)) == brute(values, rank, n)


@settings(deadline=None, max_examples=200)
@given(group(ANY))
def test_has_the_largest_variance_of_all_subsets(case: tuple[list[float], list[int], int]) -> None:
    values, rank, n = case
    keep = run(values, rank, n / len(values))
    assert sum(keep) == n
    best = max(variance([values[i] for i in s]) for s in combinations(range(len(values)), n))
    # rewards within 1e-7 are one reward, so the variance may miss the best by that times the spread
    assert variance([v for v, k in zip(values, keep, strict=True) if k]) >= best - 1e-5


@settings(deadline=None, max_examples=100)
@given(st.lists(group(GRID), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_interleaved_groups_are_independent(cases: list[tuple[list[float], list[int], int]], random: object) -> None:
    # all groups at one fraction, rows shuffled over the batch
    rows = [
        (g, v, r * len(cases) + g)
        for g, (values, rank, _) in enumerate(cases)
        for v, r in zip(values, rank, strict=True)
    ]
    random.shuffle(rows)  # type: ignore[attr-defined]
    keep = maxvar_B(
        torch.tensor([v for _, v, _ in rows], dtype=torch.float64),
        torch.tensor([g for g, _, _ in rows]),
        torch.tensor([r for _, _, r in rows]),
        len(cases),
        0.5,
    ).tolist()
    for g in range(len(cases)):
        mine = [(v, r, k) for (owner, v, r), k in zip(rows, keep, strict=True) if owner == g]
        n = int(rounded_share(0.5, torch.tensor(len(mine))))
        assert [k for *_, k in mine] == brute([v for v, *_ in mine], [r for _, r, _ in mine], n)


def test_float_noise_is_no_variance() -> None:
    # eight equal rewards but for 1e-9: the ranks decide, as with exact equals
    values = [0.1 + 1e-9 * ((-1) ** i) for i in range(8)]
    assert run(values, list(range(7, -1, -1)), 0.5) == [False] * 4 + [True] * 4


def test_rounded_share_is_half_to_even_in_decimal() -> None:
    # .575 * 100 is 57.49999999999999 in binary; 57.5 rounds to the even 58
    sizes = torch.tensor([1, 2, 3, 5, 100, 7])
    assert rounded_share(0.5, sizes).tolist() == [1, 1, 2, 2, 50, 4]
    assert rounded_share(0.575, torch.tensor([100])).tolist() == [58]
    assert rounded_share(0.5, torch.tensor([0])).tolist() == [0]
