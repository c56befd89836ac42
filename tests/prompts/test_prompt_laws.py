"""What holds for every registered selector of ours: uniform where nothing is known, equivariant, never starving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from dataflex_rl.components.registry import build
from dataflex_rl.feed.streams import shuffled
from dataflex_rl.prompts import BetaThompson, Hierarchical, PromptStats, PromptTable
from dataflex_rl.prompts.statistics import Groups
from tests.prompts.pools import ACT, COLUMN, OURS, candidates, feed, outcomes, seen, table

RNG = np.random.default_rng


def selector(name: str) -> Any:
    return build("prompt selector", name)


def test_names_of_ours() -> None:
    names = (
        "beta_thompson",
        "curriculum",
        "greso_skip",
        "hierarchical",
        "learnability",
        "no_resample",
        "none",
        "order",
    )
    assert names == OURS


@pytest.mark.parametrize("solved", [None, 2, 4])
@pytest.mark.parametrize("name", OURS)
def test_uniform_where_all_prompts_are_equal(name: str, solved: int | None) -> None:
    # 24 prompts, 6 of them drawn, 600 times, after no visit or after one of `solved` of 4: 150 expected each
    rule, pool = selector(name), table(24)
    stats, state = PromptStats(pool, rule.memory), rule.start(pool)
    if solved is not None:
        solved_G = np.full(24, solved)
        groups = Groups(
            step=1, prompt_G=np.arange(24), tries_G=np.full(24, 4), solved_G=solved_G, reward_G=solved_G / 4
        )
        state = rule.observe(state, stats, groups)
        stats.add(groups)
    count_P = np.zeros(24)
    rng = RNG(7)
    for _ in range(600):
        order = rule.arrange(rng.permutation(24), pool)
        chosen = rule.choose(candidates(stats, order, state, step=2, steps=9, batch=6), 6, rng)
        count_P[order[chosen.take]] += 1
    # drawing without replacement spreads less than independent draws, which the test assumes
    assert chisquare(count_P).pvalue > 0.001


@pytest.mark.parametrize("name", ["beta_thompson", "learnability", "hierarchical", "greso_skip"])
def test_rates_of_half_are_drawn_ever_more(name: str) -> None:
    # 40 prompts each of rate 0, .5 and 1, batches of 12: shares of the first 10 steps, the next 30, the last 60
    rate_R = np.repeat([0.0, 0.5, 1.0], 40)
    made, rng = feed(name, table(120), 12), RNG(3)
    count_SL = np.zeros((100, 3))
    for step in range(100):
        rows = made.draw(12).rows
        count_SL[step] = np.bincount(np.array(rows) // 40, minlength=3)
        made.observe(outcomes(step + 1, rows, rate_R, rng))
    first_L, then_L, last_L = (count_SL[part].mean(0) / 12 for part in (slice(0, 10), slice(10, 40), slice(40, 100)))
    assert first_L[1] < then_L[1] <= last_L[1] + 0.02
    for constant in (0, 2):
        assert first_L[constant] > then_L[constant]
        assert last_L[constant] < 0.3
    assert last_L[1] > 0.45


def test_solved_prompts_are_drawn_ever_less() -> None:
    rate_R = np.repeat([0.0, 0.5, 1.0], 40)
    made, rng = feed("no_resample", table(120), 12, params={"reserve": 1}), RNG(3)
    late = np.zeros(3)
    for step in range(40):
        rows = made.draw(12).rows
        late += np.bincount(np.array(rows) // 40, minlength=3) * (step >= 10)
        made.observe(outcomes(step + 1, rows, rate_R, rng))
    assert late[2] == 0
    assert late[0] > 0


@pytest.mark.parametrize("name", OURS)
@given(seed=st.integers(0, 1000), data=st.data())
@settings(max_examples=20, deadline=None)
def test_permuting_the_data_permutes_the_choice(name: str, seed: int, data: st.DataObject) -> None:
    size = 30
    permuted = data.draw(st.permutations(range(size)))  # row i of the one is row permuted[i] of the other
    rng = RNG(seed)
    keys = [f"prompt {row}" for row in range(size)]
    domains = rng.choice(["a", "b"], size).tolist()
    level_R = rng.integers(1, 4, size)
    rate_R = rng.random(size)
    order = shuffled(seed, size)

    def made(back: list[int]) -> Any:
        """A feed over rows in another order; back[i]: the original row that is row i of it."""
        to = np.argsort(back)
        pool = PromptTable.of([keys[i] for i in back], [domains[i] for i in back], {COLUMN: level_R[back].tolist()})
        return feed(name, pool, 6, seed=seed, order=lambda number: to[order(number)])

    one, other = made(list(range(size))), made(list(permuted))
    back_R = np.array(permuted)
    one_rng, other_rng = RNG(seed), RNG(seed)
    for step in range(1, 8):
        rows, theirs = one.draw(6).rows, other.draw(6).rows
        assert rows == back_R[theirs].tolist()
        one.observe(outcomes(step, rows, rate_R, one_rng))
        other.observe(outcomes(step, theirs, rate_R[back_R], other_rng))


@pytest.mark.parametrize("name", ["beta_thompson", "learnability", "hierarchical"])
def test_candidates_in_another_order_give_the_same_choice(name: str) -> None:
    rule = selector(name)
    stats, state = seen(table(12), [(row, row % 5, 5) for row in range(8)], rule)
    for seed in range(20):
        order = RNG(seed).permutation(12)
        chosen = rule.choose(candidates(stats, range(12), state), 4, RNG(seed)).take
        assert order[rule.choose(candidates(stats, order, state), 4, RNG(seed)).take].tolist() == chosen.tolist()


@pytest.mark.parametrize("rule", [BetaThompson(), Hierarchical()])
def test_a_solved_prompt_keeps_a_chance(rule: Any) -> None:
    # one prompt solved by all of 30 responses against one solved by half
    stats, state = seen(table(2), [(0, 5, 5), (1, 3, 5)] * 6, rule)
    chosen = [int(rule.choose(candidates(stats, [0, 1], state), 1, RNG(seed)).take[0]) for seed in range(3000)]
    assert 0 < chosen.count(0) < 600


@pytest.mark.parametrize("name", ["beta_thompson", "greso_skip", "learnability", "hierarchical"])
def test_nobody_starves(name: str) -> None:
    # 16 prompts, half of them constant; every one is drawn again in the last half of 600 steps
    rate_R = np.array([0.0, 1.0] * 4 + [0.5] * 8)
    made, rng = feed(name, table(16), 4, params={} if name == "greso_skip" else {"candidates": 2}), RNG(5)
    late = np.zeros(16)
    for step in range(1, 601):
        rows = made.draw(4).rows
        late[rows] += step > 300
        made.observe(outcomes(step, rows, rate_R, rng))
    assert late.min() > 0
    assert late[8:].mean() > 1.3 * late[:8].mean()


@pytest.mark.parametrize("name", ACT)
def test_a_rule_changes_neither_its_statistics_nor_its_state(name: str) -> None:
    rule = selector(name)
    stats, state = seen(table(10), [(row, row % 4, 4) for row in range(10)], rule)
    before, kept = stats.state_dict(), dict(state)
    for seed in range(3):
        rule.choose(candidates(stats, range(10), state, step=11, steps=20, batch=3), 3, RNG(seed))
        rule.rate_C(candidates(stats, range(10), state))
        groups = Groups(
            step=11, prompt_G=np.array([0]), tries_G=np.array([4]), solved_G=np.array([4]), reward_G=np.array([1.0])
        )
        rule.observe(state, stats, groups)
    assert state == kept
    for name_, value in stats.state_dict().items():
        assert np.array_equal(np.asarray(value), np.asarray(before[name_]), equal_nan=name_ in ("rate_P", "reward_P"))
