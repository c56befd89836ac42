"""A feed resumes exactly, in a step as well as between steps; what outcomes are; predictions that help nobody."""

from __future__ import annotations

import io
import itertools
import logging
from typing import Any

import numpy as np
import pytest
import torch

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.interface import Outcomes, grouped
from dataflex_rl.prompts import PromptTable
from tests.prompts.pools import OURS, feed, mixing, outcomes, table, tally

RNG = np.random.default_rng


def saved(state: dict[str, Any]) -> dict[str, Any]:
    """A state after its trip through a checkpoint file, as the trainer writes and reads it."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    loaded: dict[str, Any] = torch.load(buffer, weights_only=True)
    return loaded


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, torch.Tensor):
        return np.array_equal(one.numpy(), other.numpy(), equal_nan=one.is_floating_point())
    return bool(one == other)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", OURS)
def test_resume_at_every_step_equals_the_undisturbed_run(name: str, mixed: bool) -> None:
    pool = table(50, domains=["a", "b"] * 25, difficulty=[1, 2, 3, 4, 5] * 10)
    rate_R = np.linspace(0, 1, 50)

    def fresh() -> Any:
        more = mixing(name="tscl", window=3) if mixed else {}
        return feed(name, pool, 7, buckets=["extra_info.difficulty"], **more)

    def advance(made: Any, step: int, rows: list[int]) -> dict[str, float]:
        plain = outcomes(step, rows, rate_R, RNG(step))
        mean_D = [
            float(plain.reward_G[plain.row_G % 2 == d].mean()) if (plain.row_G % 2 == d).any() else 0 for d in (0, 1)
        ]
        metrics: dict[str, float] = made.observe(Outcomes(**{**vars(plain), "tally": tally(mean_D)}))
        metrics.pop("dataflex/prompts/cpu_ms")
        return metrics

    whole = fresh()
    history = []
    for step in range(1, 10):
        states = [saved(whole.state_dict())]
        rows = whole.draw(7).rows
        states.append(saved(whole.state_dict()))  # in the middle of a step: drawn, not observed
        more = whole.draw(2).rows
        history.append((states, rows, more, advance(whole, step, rows + more), saved(whole.state_dict())))
    for step, (states, rows, more, metrics, after) in enumerate(history, start=1):
        for drawn_before, state in enumerate(states):
            resumed = fresh()
            resumed.load_state_dict(state)
            if not drawn_before:
                assert resumed.draw(7).rows == rows
            assert resumed.draw(2).rows == more
            assert advance(resumed, step, rows + more) == metrics
            assert equal(saved(resumed.state_dict()), after)
    resumed = fresh()
    resumed.load_state_dict(history[2][0][0])
    for step, (_, rows, more, metrics, _) in itertools.islice(enumerate(history, start=1), 2, None):
        assert (resumed.draw(7).rows, resumed.draw(2).rows) == (rows, more)
        assert advance(resumed, step, rows + more) == metrics


def test_a_state_of_something_else_is_refused() -> None:
    state = feed("learnability", table(10), 2).state_dict()
    with pytest.raises(ConfigError, match="is of selector 'learnability', but this run has 'none'"):
        feed("none", table(10), 2).load_state_dict(state)
    with pytest.raises(ConfigError, match="statistics are of other prompts or buckets"):
        feed("learnability", table(11), 2).load_state_dict(state)
    with pytest.raises(ConfigError, match="statistics are of other prompts or buckets"):
        feed("learnability", table(10, difficulty=range(10)), 2, buckets=[]).load_state_dict(
            feed("learnability", bucketed(), 2).state_dict()
        )
    pool = table(10, domains=["a", "b"] * 5)
    mixed = feed("none", pool, 2, **mixing(name="static"))
    with pytest.raises(ConfigError, match="this run has a mixer, but the saved prompt feed had none"):
        mixed.load_state_dict(feed("none", pool, 2).state_dict())


def bucketed() -> PromptTable:
    keys = [f"{row:016x}" for row in range(10)]
    return PromptTable.of(keys, ["all"] * 10, {"level": [1, 2] * 5}, ["level"])


# ---------------------------------------------------------------- outcomes


def test_outcomes_of_single_responses() -> None:
    # row 4: raw 1, 0 and a padding row; row 2: aborted, nothing counts
    made = grouped(3, [4, 4, 4, 2], [1.5, -0.5, 9.0, 7.0], [1.0, 0.0, 1.0, 1.0], counts_B=[True, True, False, False])
    assert made.row_G.tolist() == [2, 4]
    assert (made.tries_G.tolist(), made.solved_G.tolist()) == ([0, 2], [0, 1])
    assert made.reward_G.tolist() == [0.0, 0.5]
    assert grouped(1, [0, 0], [0.5, 0.6]).solved_G.tolist() == [1]  # .5 is not above the threshold


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tries_G": [1]}, "outcomes of step 1: tries_G has 1 entries for 2 groups"),
        ({"solved_G": [3, 0]}, "outcomes of step 1: expected 0 <= solved <= tries in every group"),
        ({"reward_G": [np.nan, 0.0]}, "outcomes of step 1: the mean reward of a group is a NaN or Inf"),
    ],
)
def test_outcomes_that_cannot_be(change: dict[str, list[float]], message: str) -> None:
    columns = {"row_G": [0, 1], "tries_G": [2, 2], "solved_G": [1, 1], "reward_G": [0.5, 0.5], **change}
    with pytest.raises(ConfigError, match=message):
        Outcomes(step=1, **{name: np.array(column) for name, column in columns.items()})  # type: ignore[arg-type]


def test_a_step_is_observed_once() -> None:
    made = feed("none", table(4), 2)
    made.observe(outcomes(1, [0], np.ones(4), RNG(0)))
    with pytest.raises(ConfigError, match="outcomes of step 1 after those of step 1"):
        made.observe(outcomes(1, [1], np.ones(4), RNG(0)))


# ---------------------------------------------------------------- predictions


def test_a_selector_that_knows_no_more_than_the_domain_mean_says_so(caplog: pytest.LogCaptureFixture) -> None:
    # every prompt of rate .9, seen once at most: beta_thompson says .5, the domain .9
    made, rng = feed("beta_thompson", table(900), 20), RNG(0)
    with caplog.at_level(logging.WARNING, "dataflex_rl"):
        for step in range(1, 15):
            metrics = made.observe(outcomes(step, made.draw(20).rows, np.full(900, 0.9), rng))
    assert caplog.text.count("predicts solve rates no better than the mean of a prompt's domain") == 1
    assert metrics["dataflex/prompts/brier/first"] == pytest.approx(0.25)  # (.5)^2 whatever happens
    assert metrics["dataflex/prompts/brier_domain/first"] == pytest.approx(0.106, abs=0.04)  # .25 once, then .9 x .1
    table_ = made.predicted.scores.table()
    assert [(row["low"], row["predicted"]) for row in table_ if row["responses"] > 500] == [
        (0.5, pytest.approx(0.5, abs=0.01))
    ]
