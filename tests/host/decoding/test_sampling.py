"""Sampling against numbers worked out by hand, and laws on random logits."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor

from dataflex_rl.host.cpu.decoding.sampling import SamplingOptions, ban, sample, uniforms

CPU = torch.device("cpu")
# Probabilities .5 .25 .125 .125 of tokens 2 0 1 3.
LOGITS_V = torch.tensor([0.25, 0.125, 0.5, 0.125]).log()


def draw(
    uniform: float | list[float],
    temperature: float = 1.0,
    top_k: int = -1,
    top_p: float = 1.0,
    banned: Tensor | None = None,
) -> tuple[list[int], list[float]]:
    uniform_S = torch.tensor(uniform if isinstance(uniform, list) else [uniform], dtype=torch.float64)
    rows = len(uniform_S)
    options = SamplingOptions.of([temperature] * rows, [top_k] * rows, [top_p] * rows, vocabulary=4, device=CPU)
    token_S, log_prob_S = sample(LOGITS_V.expand(rows, 4), uniform_S, options, banned)
    return token_S.tolist(), log_prob_S.tolist()


@pytest.mark.parametrize(
    ("uniform", "token"),
    # Cumulative in order of ids: .25, .375, .875, 1. A token's interval holds its lower end.
    [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.3749, 1), (0.3751, 2), (0.8749, 2), (0.8751, 3), (1 - 2**-53, 3)],
)
def test_uniform_picks_by_cumulative_probability(uniform: float, token: int) -> None:
    tokens, log_probs = draw(uniform)
    assert tokens == [token]
    assert log_probs[0] == pytest.approx(LOGITS_V[token].item(), abs=1e-6)


def test_temperature_sharpens_draw_and_log_prob() -> None:
    # T = 0.5 squares: 1/16, 1/64, 1/4, 1/64 over 22/64: 4/22, 1/22, 16/22, 1/22. Cumulative .182, .227, .955, 1.
    tokens, log_probs = draw([0.18, 0.2, 0.24, 0.96], temperature=0.5)
    assert tokens == [0, 1, 2, 3]
    expected = [math.log(share / 22) for share in (4, 1, 16, 1)]
    assert log_probs == pytest.approx(expected, abs=1e-6)


def test_zero_temperature_is_argmax_with_raw_log_prob() -> None:
    tokens, log_probs = draw([0.0, 0.99], temperature=0.0)
    assert tokens == [2, 2]
    assert log_probs == pytest.approx([math.log(0.5)] * 2, abs=1e-6)


def test_greedy_tie_goes_to_lowest_id() -> None:
    options = SamplingOptions.of([0.0], [-1], [1.0], vocabulary=5, device=CPU)
    token_S, _ = sample(torch.tensor([[0.0, 2.0, 1.0, 2.0, 2.0]]), torch.zeros(1, dtype=torch.float64), options)
    assert token_S.tolist() == [1]


def test_top_k_keeps_k_and_ties_go_to_lowest_id() -> None:
    # k = 3 keeps tokens 2 (.5), 0 (.25) and of the equals 1 and 3 (.125) the first: of .875, .286, .429, 1.
    tokens, log_probs = draw([0.28, 0.29, 0.42, 0.43, 0.9999], top_k=3)
    assert tokens == [0, 1, 1, 2, 2]
    assert log_probs[1] == pytest.approx(math.log(0.125), abs=1e-6)  # of the whole vocabulary, not of the three
    assert draw([0.0, 0.5, 0.9999], top_k=1)[0] == [2, 2, 2]


def test_top_p_keeps_smallest_set_that_reaches_it() -> None:
    # .5 < .6 <= .75: tokens 2 and 0; of .75 token 0 has a third.
    assert draw([0.33, 0.34, 0.9999], top_p=0.6)[0] == [0, 2, 2]
    # A tiny top_p keeps the most probable token.
    assert draw([0.0, 0.9999], top_p=1e-9)[0] == [2, 2]


def test_top_p_counts_within_what_top_k_kept() -> None:
    # k = 2 keeps .5 and .25, that is 2/3 and 1/3: top_p .6 is reached by the first, where alone it would keep both.
    assert draw([0.0, 0.33, 0.9999], top_k=2, top_p=0.6)[0] == [2, 2, 2]


def test_banned_token_is_not_drawn_and_log_prob_stays() -> None:
    banned_SV = ban([frozenset({2})] * 2, 4, CPU)
    # Left: .25 .125 .125 of .5: cumulative .5, .75, (2 out), 1.
    tokens, log_probs = draw([0.49, 0.76], banned=banned_SV)
    assert tokens == [0, 3]
    assert log_probs == pytest.approx([math.log(0.25), math.log(0.125)], abs=1e-6)
    assert draw([0.0], temperature=0.0, banned=ban([frozenset({2})], 4, CPU))[0] == [0]


def test_no_ban_makes_no_mask() -> None:
    assert ban([frozenset(), frozenset()], 4, CPU) is None


def test_frequencies_follow_softmax() -> None:
    logits_V = torch.randn(20, generator=torch.Generator().manual_seed(1))
    rows = 20_000
    uniform_S = torch.tensor(uniforms(5, rows), dtype=torch.float64)
    options = SamplingOptions.of([0.8] * rows, [-1] * rows, [1.0] * rows, vocabulary=20, device=CPU)
    token_S, _ = sample(logits_V.expand(rows, 20), uniform_S, options)
    expected_V = torch.softmax(logits_V.double() / 0.8, dim=0) * rows
    assert chisquare(token_S.bincount(minlength=20).numpy(), expected_V.numpy()).pvalue > 0.01


def test_streams_use_every_bit_of_the_seed_and_extend() -> None:
    assert uniforms(5, 40)[:8] == uniforms(5, 8)
    assert uniforms(5, 4) != uniforms(5 + 2**32, 4)
    assert uniforms(2**63 - 1, 4) != uniforms(2**31 - 1, 4)


def test_rows_without_finite_logits_say_so() -> None:
    options = SamplingOptions.of([1.0, 1.0], [-1, 2], [1.0, 1.0], vocabulary=4, device=CPU)
    logits_SV = torch.full((2, 4), torch.nan)
    token_S, log_prob_S = sample(logits_SV, torch.full((2,), 0.5, dtype=torch.float64), options)
    assert all(0 <= token < 4 for token in token_S.tolist())
    assert log_prob_S.isnan().all()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    top_k=st.lists(st.integers(-1, 40), min_size=6, max_size=6),
    top_p=st.lists(st.floats(0.01, 1.0), min_size=6, max_size=6),
    temperature=st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0]), min_size=6, max_size=6),
)
def test_rows_do_not_feel_each_other(seed: int, top_k: list[int], top_p: list[float], temperature: list[float]) -> None:
    draws = torch.Generator().manual_seed(seed)
    logits_SV = 3 * torch.randn(6, 33, generator=draws)
    uniform_S = torch.rand(6, generator=draws, dtype=torch.float64)
    options = SamplingOptions.of(temperature, top_k, top_p, vocabulary=33, device=CPU)
    token_S, log_prob_S = sample(logits_SV, uniform_S, options)
    for row in range(6):
        alone = SamplingOptions.of([temperature[row]], [top_k[row]], [top_p[row]], vocabulary=33, device=CPU)
        token, log_prob = sample(logits_SV[row : row + 1], uniform_S[row : row + 1], alone)
        assert token[0] == token_S[row]
        assert log_prob[0] == log_prob_S[row]
        if top_k[row] >= 1:
            assert token[0] in logits_SV[row].topk(min(top_k[row], 33)).indices
