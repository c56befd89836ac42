"""Brier score and calibration by hand; and that buckets make the first pass predictable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dataflex_rl.data.tiny.toy3 import DOMAINS, LEVELS, success_probability
from dataflex_rl.prompts import PromptTable, brier, calibration
from dataflex_rl.prompts.predictions import Scores
from tests.prompts.pools import COLUMN, feed, outcomes


def test_brier_score_by_hand() -> None:
    # .8 for 3 of 4 solved: 3 x .04 + 1 x .64 = .76; .1 for 0 of 2: 2 x .01 = .02; .78 over 6 responses
    rate_G, tries_G, solved_G = np.array([0.8, 0.1]), np.array([4, 2]), np.array([3, 0])
    assert brier(rate_G, tries_G, solved_G) == pytest.approx(0.13)
    assert brier(np.array([1.0, 0.0]), np.array([3, 5]), np.array([3, 0])) == 0
    assert math.isnan(brier(rate_G[:0], tries_G[:0], solved_G[:0]))


def test_calibration_by_hand() -> None:
    # bin .8 to 1: .8 x 4 and 1.0 x 2, so 5.2 of 6 predicted, 5 observed; bin 0 to .2: .1 x 10, 2 observed
    table = calibration(np.array([0.8, 1.0, 0.1]), np.array([4, 2, 10]), np.array([3, 2, 2]), bins=5)
    assert table == [
        {"low": 0.0, "high": 0.2, "responses": 10.0, "predicted": pytest.approx(0.1), "observed": 0.2},
        {
            "low": 0.8,
            "high": 1.0,
            "responses": 6.0,
            "predicted": pytest.approx(5.2 / 6),
            "observed": pytest.approx(5 / 6),
        },
    ]


def test_running_scores_are_the_scores_of_all() -> None:
    rng = np.random.default_rng(0)
    rate_G, domain_G = rng.random(60), rng.random(60)
    tries_G = rng.integers(0, 6, 60)
    solved_G, first_G = rng.binomial(tries_G, 0.4), rng.random(60) < 0.5
    scores = Scores.empty()
    for part in (slice(0, 20), slice(20, 60)):
        scores.add(rate_G[part], domain_G[part], first_G[part], tries_G[part], solved_G[part])
    again = Scores.empty()
    again.load_state_dict(scores.state_dict())
    for found in (scores, again):
        assert found.brier() == pytest.approx((brier(rate_G, tries_G, solved_G), brier(domain_G, tries_G, solved_G)))
        for part, of_G in (("first", first_G), ("later", ~first_G)):
            expected = (brier(rate[of_G], tries_G[of_G], solved_G[of_G]) for rate in (rate_G, domain_G))
            assert found.brier(part) == pytest.approx(tuple(expected))
            table = calibration(rate_G[of_G], tries_G[of_G], solved_G[of_G])
            assert found.table(part) == [pytest.approx(row) for row in table]
            assert found.summary()[part]["calibration"] == found.table(part)
            assert found.summary()[part]["responses"] == tries_G[of_G].sum()
        assert found.table() == [pytest.approx(row) for row in calibration(rate_G, tries_G, solved_G)]
        assert found.responses == tries_G.sum()


def test_a_summary_leaves_out_what_was_never_predicted() -> None:
    scores = Scores.empty()
    assert scores.summary() == {}
    one = np.array([1])
    scores.add(np.array([0.25]), np.array([0.5]), np.array([True]), one * 4, one)  # 1 of 4: .0625 x 3 + .5625
    assert scores.summary() == {
        "first": {
            "responses": 4, "brier": pytest.approx(0.1875), "brier_domain": 0.25,
            "calibration": [{"low": 0.2, "high": 0.3, "responses": 4.0, "predicted": 0.25, "observed": 0.25}],
        }
    }  # fmt: skip


# ---------------------------------------------------------------- the first pass of data shaped like toy3

RULES = ("beta_thompson", "greso_skip", "learnability", "no_resample")


def first_pass(name: str, seed: int, *, own: bool) -> tuple[float, float]:
    """Brier scores (rule, domain mean) over first visits: 3 domains x 8 levels x 100 prompts, 60 steps of 16 x 5.

    A prompt's rate is its level's, moved by .4 (standard deviation) in log odds; all log odds grow by .03 per step.
    The prompts are those that the rule draws itself (`own`), or those of uniform order, the same for every rule.
    """
    rng = np.random.default_rng(seed)
    cells = [(domain, level) for domain in DOMAINS for level in LEVELS for _ in range(100)]
    level_R = np.array([success_probability(domain, level) for domain, level in cells])
    odds_R = np.log(level_R / (1 - level_R)) + rng.normal(0, 0.4, len(cells))
    pool = PromptTable.of(
        [f"{row:016x}" for row in range(len(cells))],
        [domain for domain, _ in cells],
        {COLUMN: [level for _, level in cells]},
        [COLUMN],
    )
    made, plain = (feed(which, pool, 16, seed=seed, steps=60, buckets=[COLUMN]) for which in (name, "none"))
    for step in range(1, 61):
        rows = (made if own else plain).draw(16).rows
        if not own:
            made.expect(rows)
        for each in (made, plain):
            each.observe(
                outcomes(step, rows, 1 / (1 + np.exp(-odds_R - 0.03 * step)), np.random.default_rng([seed, step]))
            )
    return made.predicted.scores.brier("first")


def test_hierarchical_predicts_the_first_pass_best() -> None:
    score = {
        name: np.array([first_pass(name, seed, own=False) for seed in range(6)]) for name in (*RULES, "hierarchical")
    }
    ours_S, domain_S = score["hierarchical"].T
    assert (ours_S < domain_S - 0.02).all()
    for name in RULES:
        assert (score[name][:, 1] == domain_S).all(), "the same prompts and outcomes for all"
        assert (ours_S < score[name][:, 0] - 0.02).all(), name


def test_it_predicts_best_what_each_rule_draws_itself() -> None:
    # rules draw different prompts, so each is measured by what it gains on the domain mean on its own
    gain = {}
    for name in (*RULES, "hierarchical"):
        score_S2 = np.array([first_pass(name, seed, own=True) for seed in range(3)])
        gain[name] = score_S2[:, 1] - score_S2[:, 0]
    assert gain["hierarchical"].min() > 0
    for name in RULES:
        assert (gain["hierarchical"] > gain[name]).all(), name


def test_without_buckets_it_knows_what_the_domain_mean_knows() -> None:
    rng = np.random.default_rng(2)
    rate_R = np.repeat([0.2, 0.7], 200)
    pool = PromptTable.of([f"{row:016x}" for row in range(400)], ["a"] * 200 + ["b"] * 200)
    made = feed("hierarchical", pool, 16, seed=2)
    for step in range(1, 21):
        made.observe(outcomes(step, made.draw(16).rows, rate_R, rng))
    rule, domain = made.predicted.scores.brier("first")
    assert rule == pytest.approx(domain, abs=0.01)
