"""The law of the cap: mean 1, nothing above it, order kept."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl.policy.scaling import scale_N_, scaled_B

RAW = st.lists(st.floats(0, 100, width=32), min_size=1, max_size=20)
CAP = st.floats(1.0, 5.0)


def expected_mean(raw: list[float], measure: list[float], cap: float) -> float:
    """1, or what the weights above 0 can reach when all of them are at the cap."""
    positive = sum(m for r, m in zip(raw, measure, strict=True) if r > 0)
    return 1.0 if positive == 0 else min(1.0, cap * positive / sum(measure))


@settings(deadline=None, max_examples=200)
@given(RAW, CAP, st.data())
def test_capped_responses(raw: list[float], cap: float, draw: st.DataObject) -> None:
    measure = draw.draw(st.lists(st.integers(1, 9), min_size=len(raw), max_size=len(raw)))
    raw_B, measure_B = torch.tensor(raw, dtype=torch.float64), torch.tensor(measure, dtype=torch.float64)
    weight_B = scaled_B(raw_B, measure_B, cap)
    mean = float((weight_B * measure_B).sum() / measure_B.sum())
    assert float(weight_B.max()) <= cap
    assert mean == pytest.approx(expected_mean(raw, measure, cap), abs=1e-6)
    order = torch.argsort(raw_B, stable=True)
    assert bool((weight_B[order].diff() >= -1e-12).all())


@settings(deadline=None, max_examples=60)
@given(RAW, CAP, st.data())
def test_capped_tokens_equal_capped_responses_of_one_token(raw: list[float], cap: float, draw: st.DataObject) -> None:
    # tokens laid out in responses of length 1 and 2; one mask 0, whose value does not matter
    length = draw.draw(st.lists(st.integers(1, 2), min_size=len(raw), max_size=len(raw)))
    offset_B1 = torch.tensor([0, *length, 1]).cumsum(0)
    value_N = torch.tensor([r for r, n in zip(raw, length, strict=True) for _ in range(n)] + [float("nan")])
    mask_N = torch.ones_like(value_N)
    mask_N[-1] = 0
    measure_B = torch.ones(len(raw) + 1, dtype=torch.float64)
    weight_N = scale_N_(value_N.clone(), mask_N, measure_B, offset_B1, cap)
    expected = scaled_B(torch.tensor(raw).double(), torch.tensor(length).double(), cap)
    assert weight_N[-1] == 0
    assert torch.allclose(weight_N[:-1], torch.repeat_interleave(expected, torch.tensor(length)).float(), atol=1e-4)


def test_all_zero_says_nothing() -> None:
    zero_B = torch.zeros(3, dtype=torch.float64)
    assert scaled_B(zero_B, torch.ones_like(zero_B), None).tolist() == [1.0, 1.0, 1.0]
    weight_N = scale_N_(torch.zeros(3), torch.tensor([1, 1, 0]), torch.ones(1).double(), torch.tensor([0, 3]), 2.0)
    assert weight_N.tolist() == [1.0, 1.0, 0.0]


def test_too_few_above_zero_are_held_at_the_cap() -> None:
    # one of four above 0: mean 1 would need a weight of 4
    raw_B = torch.tensor([5.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert scaled_B(raw_B, torch.ones_like(raw_B), 3.0).tolist() == [3.0, 0.0, 0.0, 0.0]


def test_the_faintest_weights_are_scaled_without_overflow() -> None:
    # 2^-149, the smallest float32, must be raised to 1 under a cap of 1; a masked token stays 0
    raw_N = torch.tensor([1.0, 2.0**-149, 0.0])
    weight_N = scale_N_(raw_N, torch.tensor([1, 1, 0]), torch.ones(3).double(), torch.tensor([0, 1, 2, 3]), 1.0)
    assert weight_N.tolist() == pytest.approx([1.0, 1.0, 0.0], abs=1e-4)
