"""Each rule against numbers worked out by hand from its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dataflex_rl.prompts import (
    BetaThompson,
    Curriculum,
    GresoSkip,
    Learnability,
    NoResample,
    PromptStats,
    Uniform,
)
from dataflex_rl.prompts.beta_thompson import band_order
from dataflex_rl.prompts.curriculum import level_share_L, next_target, scaled_C
from dataflex_rl.prompts.greso_skip import adjusted, keep_chance_C
from dataflex_rl.prompts.interface import nearest_order, passed
from dataflex_rl.prompts.learnability import learnability_C
from dataflex_rl.prompts.statistics import Groups
from tests.prompts.pools import COLUMN, candidates, seen, table

RNG = np.random.default_rng


# ---------------------------------------------------------------- beta_thompson (MoPPS)


def test_posterior_of_mopps() -> None:
    # alpha: 1 -> .5 x 1 + .5 x 1 + 3 = 4 -> .5 x 4 + .5 + 1 = 3.5; beta: 1 -> 2 -> 1 + .5 + 3 = 4.5; mean 3.5 / 8
    rule = BetaThompson()
    stats, state = seen(table(2), [(0, 3, 4), (0, 1, 4)], rule)
    assert rule.rate_C(candidates(stats, [0, 1], state)).tolist() == [0.4375, 0.5]


def test_nearest_to_the_target() -> None:
    # distances to .5: .3, .05, .02, .4, .05; the two equal ones by their tie
    rate_C, tie_C = np.array([0.2, 0.55, 0.48, 0.9, 0.45]), np.array([0, 1.0, 0, 0, 0.5])
    assert nearest_order(rate_C, 0.5, tie_C).tolist() == [2, 4, 1, 0, 3]


def test_band_first_then_the_nearest_outside() -> None:
    # .4 to .6 holds places 1, 2, 4, in the order of their ties; outside: .2 is .2 off, .9 is .3 off
    rate_C, tie_C = np.array([0.2, 0.55, 0.48, 0.9, 0.6]), np.array([0, 0.9, 0.1, 0, 0.5])
    assert band_order(rate_C, 0.4, 0.6, tie_C).tolist() == [2, 4, 1, 0, 3]


def test_thompson_takes_a_well_known_prompt_of_the_target_rate() -> None:
    # 5,000 responses each: posteriors are within .02 of .1, .5 and .9
    rule = BetaThompson(decay=1.0)
    stats, state = seen(table(3), [(0, 500, 5000), (1, 2500, 5000), (2, 4500, 5000)], rule)
    choice = rule.choose(candidates(stats, [2, 0, 1], state), 1, RNG(0))
    assert (choice.take.tolist(), choice.used, choice.skipped) == ([2], 3, {"far_from_target": 2})
    high = BetaThompson(decay=1.0, target=0.9)
    assert high.choose(candidates(stats, [2, 0, 1], state), 1, RNG(0)).take.tolist() == [0]
    band = BetaThompson(decay=1.0, low=0.05, high=0.2)
    choice = band.choose(candidates(stats, [2, 0, 1], state), 2, RNG(0))
    assert (choice.take.tolist(), choice.skipped) == ([1, 2], {"outside_band": 1})  # .1 is inside, then .5
    assert rule.window(16) == 128


# ---------------------------------------------------------------- greso_skip


def test_chance_to_keep() -> None:
    # easy .5: .5^1, .5^3; hard .05: .05^1, .05^2 = .0025 -> .01; no streak: 1
    chance_C = keep_chance_C(np.array([1, 3, -1, -2, 0]), 0.5, 0.05, 0.01)
    assert chance_C.tolist() == pytest.approx([0.5, 0.125, 0.05, 0.01, 1.0])


@pytest.mark.parametrize(
    ("chance", "share", "after"),
    [(0.5, 0.0833, 0.51), (0.5, 1 / 12, 0.49), (0.5, 0.2, 0.49), (0.05, 0.2, 0.05), (0.95, 0.0, 0.95)],
)
def test_base_chance_moves_by_a_hundredth(chance: float, share: float, after: float) -> None:
    assert adjusted(chance, share, 0.25 / 3, 0.01, 0.05, 0.95) == pytest.approx(after)


def test_base_chances_after_a_step() -> None:
    # 12 groups, 1 easy (1/12: at its target .0833, down), 2 hard (1/6: at its target, down); then 1 hard (below, up)
    rule, pool = GresoSkip(), table(12)
    stats = PromptStats(pool, rule.memory)
    for hard, expected in ((2, {"easy": 0.49, "hard": 0.49}), (1, {"easy": 0.49, "hard": 0.51})):
        reward_G = np.array([1.0] + [0.0] * hard + [0.5] * (11 - hard))
        tries_G = np.full(12, 10)
        groups = Groups(
            step=1,
            prompt_G=np.arange(12),
            tries_G=tries_G,
            solved_G=np.rint(reward_G * 10).astype(int),
            reward_G=reward_G,
        )
        assert rule.observe(rule.start(pool), stats, groups) == pytest.approx(expected)


def test_nothing_is_skipped_in_the_first_pass_and_later_by_class() -> None:
    rule = GresoSkip()
    stats, state = seen(table(4), [(0, 5, 5), (1, 0, 5)], rule)
    fresh = rule.choose(candidates(stats, [2, 3], state), 2, RNG(0))
    assert (fresh.take.tolist(), fresh.skipped) == ([0, 1], {})
    kept = [rule.choose(candidates(stats, [0, 1], state), 2, RNG(seed)) for seed in range(2000)]
    # chances .5 moved by observe: step 1 easy is 1 of 1 (down), hard 0 of 1 (up); step 2 the other way: .5 again
    assert state == pytest.approx({"easy": 0.5, "hard": 0.5})
    for place, reason in ((0, "easy_before"), (1, "hard_before")):
        assert sum(place in choice.take for choice in kept) == pytest.approx(1000, abs=90)  # 4 sd of 22
        assert sum(choice.skipped.get(reason, 0) for choice in kept) == pytest.approx(1000, abs=90)


def test_what_comes_after_the_last_one_taken_stays_in_the_stream() -> None:
    keep_C, reason_C = np.array([True, False, True, False, True]), np.array(["a", "b", "a", "c", "a"])
    choice = passed(keep_C, 2, reason_C)
    assert (choice.take.tolist(), choice.used, choice.skipped) == ([0, 2], 3, {"b": 1})
    choice = passed(keep_C, 4, reason_C)
    assert (choice.take.tolist(), choice.used, choice.skipped) == ([0, 2, 4], 5, {"b": 1, "c": 1})


# ---------------------------------------------------------------- learnability


@pytest.mark.parametrize(
    ("tau", "explore", "expected"),
    [
        (1.0, 0.0, [4 / 7, 3 / 7, 0.0]),  # .25 : .1875 : 0
        (0.5, 0.0, [0.64, 0.36, 0.0]),  # squares: .0625 : .03515625
        (1.0, 0.1, [0.9 * 4 / 7 + 0.1 / 3, 0.9 * 3 / 7 + 0.1 / 3, 0.1 / 3]),
    ],
)
def test_learnability(tau: float, explore: float, expected: list[float]) -> None:
    assert learnability_C(np.array([0.5, 0.25, 1.0]), tau, explore).tolist() == pytest.approx(expected)


def test_learnability_is_equal_where_nothing_can_be_learned() -> None:
    assert learnability_C(np.array([0.0, 1.0]), 1.0, 0.0).tolist() == [0.5, 0.5]


def test_learnability_draws_in_proportion() -> None:
    # posterior means: (1 + 2) / 6 = .5 and (1 + 8) / 10 = .9; weights .25 : .09, explore .1: .9 x .25 / .34 + .05
    rule = Learnability()
    stats, state = seen(table(2), [(0, 2, 4), (1, 8, 8)], rule)
    chosen = [int(rule.choose(candidates(stats, [0, 1], state), 1, RNG(seed)).take[0]) for seed in range(4000)]
    expected = 0.9 * 0.25 / 0.34 + 0.05
    assert chosen.count(0) / 4000 == pytest.approx(expected, abs=0.029)  # 4 standard deviations of .0072


# ---------------------------------------------------------------- no_resample


def test_solved_prompts_leave_and_come_back() -> None:
    # last visits: 9 of 10 (out), 8 of 9 (in), 1 of 1 then 1 of 2 (in), never (in)
    rule = NoResample(reserve=1.0)
    stats, state = seen(table(4), [(0, 9, 10), (1, 8, 9), (2, 1, 1), (2, 1, 2)], rule)
    choice = rule.choose(candidates(stats, [0, 1, 2, 3], state, batch=3), 4, RNG(0))
    assert (choice.take.tolist(), choice.skipped) == ([1, 2, 3], {"solved": 1})
    back = rule.choose(candidates(stats, [0, 1, 2, 3], state, batch=4), 4, RNG(0))  # 3 left are fewer than a batch of 4
    assert (back.take.tolist(), back.skipped) == ([0, 1, 2, 3], {})


def test_a_pool_comes_back_on_its_own() -> None:
    """Solved are 0 of pool 0, 1 and 2 of pool 2, 3, 4; each gives 2 to a batch."""
    rule = NoResample(reserve=1.0)
    stats, state = seen(table(5), [(0, 5, 5), (2, 5, 5)], rule)
    for rows, taken in (([0, 1], [0, 1]), ([2, 3, 4], [1, 2])):  # 1 left, fewer than 2: back; 2 left
        pool = stats.table.prompt_R[rows]
        choice = rule.choose(candidates(stats, rows, state, pool=pool, batch=2), 5, RNG(0))
        assert choice.take.tolist() == taken


# ---------------------------------------------------------------- curriculum (AdaRFT, E2H)


@pytest.mark.parametrize(
    ("target", "reward", "after"),
    [
        (40.0, 0.75, 40 + 50 * 0.46211715726),  # tanh(2 x .25) = .46211715726
        (40.0, 0.5, 40.0),
        (90.0, 1.0, 100.0),  # 90 + 50 tanh(1) = 128.08, cut
        (10.0, 0.0, 0.0),  # 10 - 38.08, cut
    ],
)
def test_target_follows_the_reward(target: float, reward: float, after: float) -> None:
    assert next_target(target, reward, eta=50, alpha=2, beta=0.5) == pytest.approx(after)


def test_shares_of_levels() -> None:
    # 3 levels at a quarter of the run: centre .25^.5 x 2 = 1; exp(-1 / (2 x .5625)) = .41111229; sum 1.82222458
    share_L = level_share_L(3, 0.25, exponent=0.5, width=0.75, floor=0.06)
    bell = 0.41111229 / 1.82222458
    assert share_L.tolist() == pytest.approx([0.94 * bell + 0.02, 0.94 / 1.82222458 + 0.02, 0.94 * bell + 0.02])
    assert level_share_L(3, 0.0, exponent=0.5, width=0.75, floor=0.05).argmax() == 0
    assert level_share_L(3, 1.0, exponent=0.5, width=0.75, floor=0.05).argmax() == 2


def test_nearest_difficulties_to_the_target() -> None:
    # difficulties 1..5 are 0, 25, 50, 75, 100; mean reward of the step (3 + 4) / 9 weighs responses, not groups
    assert scaled_C(np.array([1.0, 2.0, 5.0]), 1.0, 5.0).tolist() == [0.0, 25.0, 100.0]
    assert scaled_C(np.array([3.0]), 3.0, 3.0).tolist() == [0.0]
    rule = Curriculum(start_at=30.0)
    pool = table(5, difficulty=[1, 2, 3, 4, 5])
    stats, state = PromptStats(pool, rule.memory), rule.start(pool)
    choice = rule.choose(candidates(stats, [4, 3, 2, 1, 0], state), 2, RNG(0))
    assert choice.take.tolist() == [3, 2]  # 25, then 50
    groups = Groups(
        step=1,
        prompt_G=np.array([0, 1]),
        tries_G=np.array([4, 5]),
        solved_G=np.array([3, 4]),
        reward_G=np.array([0.75, 0.8]),
    )
    assert rule.observe(state, stats, groups)["target"] == pytest.approx(30 + 50 * math.tanh(2 * (7 / 9 - 0.5)))


def test_the_schedule_moves_from_the_first_level_to_the_last() -> None:
    rule = Curriculum(schedule="gaussian", width=0.1, floor=1e-6)
    pool = table(8, difficulty=[1, 1, 1, 1, 9, 9, 9, 9])
    stats = PromptStats(pool, rule.memory)
    for step, expected in ((1, {0, 1, 2, 3}), (11, {4, 5, 6, 7})):
        chosen = rule.choose(candidates(stats, range(8), rule.start(pool), step=step, steps=11), 4, RNG(0))
        assert set(chosen.take.tolist()) == expected


# ---------------------------------------------------------------- none


def test_uniform_takes_what_comes() -> None:
    stats, state = seen(table(3), [], Uniform())
    choice = Uniform().choose(candidates(stats, [2, 0, 1], state), 2, RNG(0))
    assert (choice.take.tolist(), choice.used, choice.skipped) == ([0, 1], 2, {})
    assert COLUMN in stats.table.columns
