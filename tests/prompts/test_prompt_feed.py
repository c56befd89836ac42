"""The feed: quotas, then the selector, then the order; no prompt twice, and a fallback that is counted."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.interface import Feed, Outcomes
from dataflex_rl.feed.streams import shuffled
from dataflex_rl.mixers.statistics import Tally
from dataflex_rl.prompts import PromptTable
from tests.prompts.pools import OURS, feed, mixing, outcomes, table, tally

RNG = np.random.default_rng


# ---------------------------------------------------------------- order and determinism


def test_none_is_the_shuffled_order_pass_by_pass() -> None:
    made, order = feed("none", table(10), 4, seed=3), shuffled(3, 10)
    expected = [*order(0), *order(1), *order(2)]
    rows = []
    for step in range(1, 3):
        drawn = made.draw(4).rows
        made.observe(outcomes(step, drawn, np.full(10, 0.5), RNG(0)))
        rows += drawn
    assert rows == [int(row) for row in expected[:8]]
    assert sorted(int(row) for row in expected[:10]) == list(range(10))
    assert isinstance(made, Feed)


@pytest.mark.parametrize("name", OURS)
def test_a_feed_repeats_exactly_and_another_seed_does_not(name: str) -> None:
    def drawn(seed: int) -> list[list[int]]:
        made, rng = feed(name, table(60), 6, seed=seed), RNG(0)
        rows = []
        for step in range(1, 9):
            rows.append(made.draw(6).rows)
            made.observe(outcomes(step, rows[-1], np.linspace(0, 1, 60), rng))
        return rows

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_selectors_meet_the_same_candidates() -> None:
    # beta_thompson and learnability look at 8 x 3 rows of the same stream
    met: dict[str, list[int]] = {}
    for name in ("beta_thompson", "learnability", "hierarchical"):
        made = feed(name, table(100), 3)
        choose, met[name] = type(made.selector).choose, []

        def spy(self: Any, seen: Any, n: int, rng: Any, name: str = name, choose: Any = choose) -> Any:
            met[name] += seen.prompt_C.tolist()
            return choose(self, seen, n, rng)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(made.selector), "choose", spy)
            made.draw(3)
    assert len(met["beta_thompson"]) == 24
    assert met["beta_thompson"] == met["learnability"] == met["hierarchical"]


def test_order_sorts_each_pass() -> None:
    pool = table(12, domains=["b", "a"] * 6, difficulty=[3, 1, 2] * 4)
    by_column = feed("order", pool, 12, params={"column": "extra_info.difficulty"})
    rows = by_column.draw(12).rows
    assert [[3, 1, 2][row % 3] for row in rows] == [1] * 4 + [2] * 4 + [3] * 4
    assert rows[:4] != sorted(rows[:4])  # shuffled where equal
    by_column.observe(outcomes(1, rows, np.full(12, 0.5), RNG(0)))
    again = by_column.draw(12).rows
    assert [row % 3 for row in again] == [row % 3 for row in rows]
    assert again != rows
    down = feed("order", pool, 12, params={"column": "extra_info.difficulty", "descending": True}).draw(12).rows
    assert [[3, 1, 2][row % 3] for row in down] == [3] * 4 + [2] * 4 + [1] * 4
    assert [row % 2 for row in feed("order", pool, 12).draw(12).rows] == [1] * 6 + [0] * 6  # domain a, then b


# ---------------------------------------------------------------- no prompt twice


@pytest.mark.parametrize("name", OURS)
def test_no_prompt_twice_in_a_batch_and_none_while_it_is_generated(name: str) -> None:
    made, rng = feed(name, table(40), 8), RNG(1)
    for step in range(1, 12):
        first, more = made.draw(8).rows, made.draw(5).rows  # a batch, and replacements in the same step
        assert len(set(first) | set(more)) == 13
        made.release(more[:2])
        made.observe(outcomes(step, first + more[2:], np.linspace(0, 1, 40), rng))


def test_duplicate_rows_are_one_prompt() -> None:
    # 6 prompts in 12 rows; each pass has both rows of each
    keys = [f"{row % 6:016x}" for row in range(12)]
    pool = PromptTable.of(keys, ["all"] * 12)
    made = feed("none", pool, 6)
    assert pool.size == 6
    drawn = made.draw(6)
    assert {row % 6 for row in drawn.rows} == set(range(6))
    assert drawn.skipped == {
        "repeated": made._streams.state_dict()["all"][1] + made._streams.state_dict()["all"][0] * 12 - 6
    }
    made.observe(outcomes(1, drawn.rows, np.full(12, 1.0), RNG(0)))
    assert made.stats.tries_P.tolist() == [5] * 6


# ---------------------------------------------------------------- fallback and scarcity


@pytest.mark.parametrize("name", OURS)
def test_a_pool_of_exactly_one_batch(name: str) -> None:
    made, rng = feed(name, table(8), 8, params={"reserve": 0} if name == "no_resample" else {}), RNG(0)
    for step in range(1, 6):
        drawn = made.draw(8)
        assert sorted(drawn.rows) == list(range(8))
        assert drawn.short == 0
        short = made.draw(3)  # all are being generated
        assert (short.rows, short.short) == ([], 3)
        made.observe(outcomes(step, drawn.rows, np.full(8, 1.0), rng))  # all-constant: everything is solved


def test_the_fallback_takes_what_was_skipped_in_its_order_and_counts() -> None:
    # 10 prompts, all solved and never to come back: 4 asked, 4 taken against the rule
    made = feed("no_resample", table(10), 4, params={"reserve": 0})
    made.observe(outcomes(1, range(10), np.full(10, 1.0), RNG(0)))
    drawn = made.draw(4)
    assert drawn.rows == [int(row) for row in shuffled(0, 10)(0)[:4]]
    assert (drawn.fallback, drawn.short) == (4, 0)
    assert drawn.skipped["solved"] + drawn.skipped["repeated"] == 20  # two passes were looked through
    metrics = made.observe(outcomes(2, drawn.rows, np.full(10, 1.0), RNG(0)))
    assert metrics["dataflex/prompts/fallback"] == 4
    assert metrics["dataflex/prompts/skipped/solved"] == drawn.skipped["solved"]
    assert metrics["dataflex/prompts/again"] == 4
    assert metrics["dataflex/prompts/cpu_ms"] > 0
    assert made.observe(outcomes(3, [], np.full(10, 1.0), RNG(0))).get("dataflex/prompts/fallback") is None


# ---------------------------------------------------------------- quotas


def test_quotas_first_then_the_selector() -> None:
    # shares .75 and .25 of batches of 6: 4.5 and 1.5, so 5 + 1 or 4 + 2, and 18 + 6 of 24
    pool = table(80, domains=["a", "b"] * 40)
    made = feed("beta_thompson", pool, 6, **mixing(name="static", params={"proportions": [0.75, 0.25]}))
    rng, count_D = RNG(0), np.zeros(2)
    for step in range(1, 5):
        drawn = made.draw(6)
        in_batch = np.bincount([row % 2 for row in drawn.rows], minlength=2)
        assert in_batch.tolist() == drawn.quota_D
        assert [drawn.domain_of.count(d) for d in (0, 1)] == drawn.quota_D
        assert abs(in_batch - [4.5, 1.5]).max() < 1
        count_D += in_batch
        made.observe(outcomes_with(step, drawn.rows, rng, tally([1.0, 0.0])))
    assert count_D.tolist() == [18, 6]


def outcomes_with(step: int, rows: list[int], rng: np.random.Generator, mixed: Tally) -> Outcomes:
    plain = outcomes(step, rows, np.full(200, 0.5), rng)
    return Outcomes(**{**vars(plain), "tally": mixed})


def test_the_mixer_sees_the_steps_and_moves_the_quotas() -> None:
    pool = table(80, domains=["a", "b"] * 40)
    made = feed("none", pool, 10, **mixing(name="reward_gap", params={"temperature": 0.1, "floor": 0.1}))
    first = made.draw(10)
    assert first.quota_D == [5, 5]
    metrics = made.observe(outcomes_with(1, first.rows, RNG(0), tally([1.0, 0.0])))
    assert [metrics[f"dataflex/{key}/a"] for key in ("share_target", "mixer_statistic")] == [0.5, 1.0]
    assert made.quotas.share_D == pytest.approx([0.1, 0.9])
    assert made.draw(10).quota_D == [1, 9]
    with pytest.raises(ConfigError, match="outcomes of step 2 have no tally, which mixer 'reward_gap' reads"):
        made.observe(outcomes(2, [], np.zeros(80), RNG(0)))


def test_what_a_dry_domain_lacks_the_other_gives() -> None:
    # 2 prompts of a, both being generated: 5 more at equal shares come from b alone
    pool = table(30, domains=["a"] * 2 + ["b"] * 28)
    made = feed("none", pool, 4, **mixing(name="static"))
    assert made.draw(4).quota_D == [2, 2]
    drawn = made.draw(5)
    assert drawn.quota_D[0] >= 2
    assert (drawn.domain_of, drawn.short) == ([1] * 5, 0)


def test_replacements_can_be_asked_per_domain() -> None:
    pool = table(30, domains=["a", "b"] * 15)
    made = feed("none", pool, 4, **mixing(name="static"))
    made.draw(4)
    before = made.quotas.state_dict()
    assert made.draw(3, quota_D=[0, 3]).domain_of == [1, 1, 1]
    assert made.quotas.state_dict() == before  # no remainder is carried from them


def test_without_a_mixer_a_domain_that_is_solved_stays_out() -> None:
    """96 prompts in batches of 16: two of three domains are always solved, and 32 prompts, two batches, are left."""
    made = feed("no_resample", table(96, domains=[*["a"] * 32, *["b"] * 32, *["c"] * 32]), 16, params={"reserve": 1})
    rate_R, rng = np.repeat([1.0, 1.0, 0.0], 32), RNG(0)
    drawn: list[int] = []
    for step in range(1, 11):
        rows = made.draw(16).rows
        drawn += rows
        made.observe(outcomes(step, rows, rate_R, rng))
    assert sorted(drawn[:96]) == list(range(96))
    assert min(drawn[96:]) >= 64
    rate_R[:] = 1.0  # now c is solved, too: at 16 left (a batch) it goes on, below all come back
    for step in range(11, 13):
        rows = made.draw(16).rows
        made.observe(outcomes(step, rows, rate_R, rng))
        assert min(rows) >= 64
    assert min(made.draw(16).rows) < 64


def test_under_a_mixer_each_domain_has_its_own_reserve() -> None:
    """a gives 6 of a batch of 8 and b 2: a's 8 are solved and come back, b's 16 are more than 2 and stay out."""
    shares = mixing(name="static", params={"proportions": {"a": 0.75, "b": 0.25}})
    pool, rng = table(24, domains=["a"] * 8 + ["b"] * 16), RNG(0)
    made = feed("no_resample", pool, 8, params={"reserve": 1}, **shares)
    solved_b: set[int] = set()
    for step in range(1, 9):
        rows = made.draw(8).rows
        assert sum(row < 8 for row in rows) == 6
        assert not solved_b & set(rows)
        rate_R = np.where(np.arange(24) < 8, 1.0, (np.arange(24) % 3 == 0).astype(float))
        found = outcomes(step, rows, rate_R, rng)
        solved_b |= {row for row in rows if row >= 8 and rate_R[row] == 1}
        made.observe(dataclasses.replace(found, tally=tally([0.0, 0.0])))
    assert len(solved_b) == 5  # 9, 12, 15, 18, 21
