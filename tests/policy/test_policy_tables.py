"""Hand-computed numbers of every scorer and method."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dataflex_rl import apply_policy


def weights(result: Any) -> list[float]:
    """First token's weight of each response."""
    return [round(float(row[0]), 6) for row in result.weights]


def signals(reward: list[float], groups: str, **more: Any) -> dict[str, Any]:
    return {"uid": list(groups), "reward": reward, **more}


@pytest.mark.parametrize(
    ("solved", "of", "kept"),
    [
        (0, 5, False),
        (1, 5, False),
        (2, 5, True),
        (3, 5, True),
        (4, 5, False),
        (5, 5, False),
        (1, 4, True),
        (2, 10, False),
    ],
)
def test_difffilter_keeps_rates_strictly_between(solved: int, of: int, kept: bool) -> None:
    reward = [1.0] * solved + [0.0] * (of - solved)
    result = apply_policy({"method": "difffilter"}, signals(reward, "a" * of))
    assert result.keep == [kept] * of
    assert result.scores.tolist() == [solved / of] * of
    assert weights(result) == [float(kept)] * of


@pytest.mark.parametrize(("solved", "kept"), [(0, False), (1, True), (7, True), (8, False)])
def test_dapo_band_drops_only_constant_groups(solved: int, kept: bool) -> None:
    reward = [1.0] * solved + [0.0] * (8 - solved)
    config = {"method": "difffilter", "actuator": {"params": {"low": 0.0, "high": 1.0}}}
    assert apply_policy(config, signals(reward, "a" * 8)).keep == [kept] * 8


@pytest.mark.parametrize("n", range(3, 31))
def test_difffilter_bound_equal_to_a_rate_is_outside(n: int) -> None:
    # low and high written as decimals of k / n: the group on the bound goes, whatever float noise says
    for k in range(n - 1):
        low, high = float(repr(k / n)), 1.0
        config = {
            "scorer": {"name": "group_solve"},
            "actuator": {"name": "difffilter", "params": {"low": low, "high": high}},
        }
        reward = [1.0] * k + [0.0] * (n - k) + [1.0] * (k + 1) + [0.0] * (n - k - 1)
        assert apply_policy(config, signals(reward, "a" * n + "b" * n)).keep == [False] * n + [k + 1 < n] * n


def test_difffilter_with_everything_kept_equals_uniform() -> None:
    # every group is mixed, so the band (0, 1) keeps all of them, each with weight exactly 1
    config = {"method": "difffilter", "actuator": {"params": {"low": 0.0, "high": 1.0}}}
    result = apply_policy(config, signals([0, 1, 1, 0, 1, 0, 0], "aabbbbb"))
    assert result.keep == [True] * 7
    assert weights(result) == [1.0] * 7


def test_group_solve_threshold_is_strict() -> None:
    # .5 is not above .5
    result = apply_policy(
        {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}, signals([0.5, 0.6, 0.4, 1.0], "aaaa")
    )
    assert result.scores.tolist() == [0.5] * 4


@pytest.mark.parametrize("value", [0.4, 0.1])
def test_a_constant_group_is_not_mixed_whatever_its_mean(value: float) -> None:
    result = apply_policy({"method": "difffilter"}, signals([value] * 4, "aaaa"))
    assert result.keep == [False] * 4
    assert result.metrics["dataflex/groups_constant"] == 1.0


def test_raw_outcome_decides_where_the_reward_is_shaped() -> None:
    # a length bonus makes the shaped reward look solved in 2 of 4, the raw outcome says none is
    data = signals([0.9, 0.9, 0.1, 0.1], "aaaa", acc=[0, 0, 0, 0])
    by_reward = {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}
    by_acc = {**by_reward, "scorer": {"name": "group_solve", "params": {"signal": "acc"}}}
    assert apply_policy(by_reward, data).keep == [True] * 4
    assert apply_policy(by_acc, data).keep == [False] * 4


@pytest.mark.parametrize(
    ("reward", "kept"),
    [
        # 2 of 5: one low and one high have variance .25, any other pair 0; ties to the first
        ([0, 0, 1, 1, 1], [0, 2]),
        ([1, 1, 1, 1, 1], [0, 1]),
        ([0, 0, 0, 0, 1], [0, 4]),
        # .1 and .9 are the extremes
        ([0.5, 0.9, 0.1, 0.4, 0.6], [1, 2]),
        # 4 of 8 (n = 4): lows 0 0, highs 1 1 -> variance .25
        ([0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 2, 3]),
        # 2 of 4: {0, 1}
        ([0.2, 0.0, 1.0, 0.9], [1, 2]),
        # one of one, and of two the first (a single response has no variance)
        ([3.0], [0]),
        ([0.0, 1.0], [0]),
    ],
)
def test_maxvar(reward: list[float], kept: list[int]) -> None:
    result = apply_policy({"method": "maxvar"}, signals(reward, "a" * len(reward)))
    assert [i for i, keep in enumerate(result.keep) if keep] == kept


def test_gfpo_by_efficiency_and_by_length() -> None:
    # reward / length: 1/4 = .25, 1/2 = .5, 0, 1/1 = 1, 1/5 = .2
    mask = [[1] * n for n in (4, 2, 1, 1, 5)]
    data = signals([1, 1, 0, 1, 1], "aaaaa", response_mask=mask)
    assert apply_policy({"method": "gfpo"}, data).keep == [True, True, False, True, False]
    short = {"method": "gfpo", "actuator": {"params": {"metric": "short", "k": 2}}}
    assert apply_policy(short, data).keep == [False, False, True, True, False]


def test_gfpo_keeps_a_group_smaller_than_k() -> None:
    data = signals([0, 1, 0], "aab", response_mask=[[1], [1], [1]])
    assert apply_policy({"method": "gfpo"}, data).keep == [True, True, True]


@pytest.mark.parametrize(("size", "kept"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 3), (7, 4), (9, 4)])
def test_topk_rounds_half_to_even(size: int, kept: int) -> None:
    # round(.5) = 0 but at least 1; round(1.5) = 2; round(2.5) = 2; round(3.5) = 4; round(4.5) = 4
    data = signals([0.0] * size, "a" * size, advantages=[[float(i)] for i in range(size)])
    assert apply_policy({"method": "topk"}, data).keep == [i >= size - kept for i in range(size)]


def test_topk_smallest_and_ties_to_the_first() -> None:
    data = signals([0.0] * 4, "aaaa", advantages=[[2.0], [-1.0], [1.0], [3.0]])
    config = {"method": "topk", "actuator": {"params": {"largest": False, "fraction": 0.25}}}
    assert apply_policy(config, data).keep == [False, True, False, False]


@pytest.mark.parametrize(("agg", "scores"), [("mean", [2.0, 1.5]), ("sum", [4.0, 4.5]), ("max", [3.0, 2.5])])
def test_advantage_magnitude(agg: str, scores: list[float]) -> None:
    # abs: [1, 3] and [2.5, .5, 1.5]; the masked 100 is not data
    data = signals([0, 1], "aa", advantages=[[1, -3], [-2.5, 0.5, 1.5, 100]], response_mask=[[1, 1], [1, 1, 1, 0]])
    config = {
        "scorer": {"name": "advantage_magnitude", "params": {"agg": agg}},
        "actuator": {"name": "topk"},
    }
    assert apply_policy(config, data).scores.tolist() == scores


def test_ar() -> None:
    # probabilities .5, .25 | 1: raw weights .5 p + .5 = .75, .625, 1; mean .791667; divided: .947368, .789474, 1.263158
    log = [[float(torch.tensor(p).log()) for p in row] for row in ([0.5, 0.25], [1.0])]
    result = apply_policy({"method": "ar"}, signals([0, 1], "aa", old_log_probs=log))
    assert torch.cat(result.weights).tolist() == pytest.approx([0.9473684, 0.7894737, 1.2631579], abs=1e-6)
    assert torch.cat(result.scores).tolist() == pytest.approx([0.5, 0.25, 1.0])
    assert result.keep is None


def test_ar_per_response_mean() -> None:
    # raw means per response .6875 and 1, their mean .84375: weights .75, .625, 1 over .84375
    log = [[float(torch.tensor(p).log()) for p in row] for row in ([0.5, 0.25], [1.0])]
    config = {"method": "ar", "actuator": {"normalize": "response"}}
    result = apply_policy(config, signals([0, 1], "aa", old_log_probs=log))
    assert torch.cat(result.weights).tolist() == pytest.approx([0.8888889, 0.7407407, 1.1851852], abs=1e-6)


def test_per() -> None:
    # sqrt of 4, 1, 0: 2, 1, 1e-4; mean 1.000033: 1.999933, .999967, .0001
    result = apply_policy({"method": "per"}, signals([0] * 3, "aaa", advantages=[[4.0], [-1.0], [0.0]]))
    assert weights(result) == pytest.approx([1.999933, 0.999967, 0.0001], abs=1e-6)


def test_softmax() -> None:
    # e^1, e^0, e^0 = 2.718282, 1, 1; mean 1.572761: 1.728351, .635825, .635825
    result = apply_policy({"method": "softmax"}, signals([0] * 3, "aaa", advantages=[[1.0], [0.0], [0.0]]))
    assert weights(result) == pytest.approx([1.728351, 0.635825, 0.635825], abs=1e-6)


def test_softmax_of_huge_scores_is_finite() -> None:
    # all but the first underflow: 4, 0, 0, 0
    data = signals([0] * 4, "aaaa", advantages=[[1e6], [0.0], [0.0], [0.0]])
    assert weights(apply_policy({"method": "softmax"}, data)) == [4.0, 0.0, 0.0, 0.0]


def test_diffband() -> None:
    # quantiles of 0, .2, .4, .6, 1: positions 1 and 3 -> .2 and .6; raw 1, 2, 2, 2, 1; mean 1.6: .625 and 1.25
    result = apply_policy({"method": "diffband"}, signals([1.0, 0.2, 0.4, 0.0, 0.6], "abcde"))
    assert weights(result) == [0.625, 1.25, 1.25, 0.625, 1.25]


def test_diffband_interpolates_linearly() -> None:
    # quantiles of 0, 1, 2, 10: positions .75 and 2.25 -> .75 and 2 + .25 * 8 = 4; inside: 1 and 2; mean 1.5
    result = apply_policy({"method": "diffband"}, signals([0, 1, 2, 10], "abcd"))
    assert weights(result) == [0.666667, 1.333333, 1.333333, 0.666667]


def test_diffband_equals_uniform_on_binary_rewards_of_middling_accuracy() -> None:
    assert weights(apply_policy({"method": "diffband"}, signals([0, 0, 1, 1], "abcd"))) == [1.0] * 4
    # accuracy 1 in 8: quantiles 0 and 0, the solved one is outside: 2 for seven, 1 for one; mean 15 / 8
    assert weights(apply_policy({"method": "diffband"}, signals([1] + [0] * 7, "abcdefgh"))) == pytest.approx(
        [8 / 15] + [16 / 15] * 7, abs=1e-6
    )


def test_uniform() -> None:
    result = apply_policy({"method": "uniform"}, signals([0, 1], "aa", response_mask=[[1, 0, 1], [1]]))
    assert [row.tolist() for row in result.weights] == [[1, 0, 1], [1]]
    assert (result.scores, result.keep) == (None, None)
    assert result.metrics["dataflex/kept_frac"] == 1.0
    assert result.metrics["dataflex/reward_all"] == result.metrics["dataflex/reward_effective"] == 0.5


@pytest.mark.parametrize("actuator", ["softmax", "per", "topk", "diffband"])
def test_a_prompt_score_can_feed_a_response_actuator(actuator: str) -> None:
    config = {"scorer": {"name": "group_solve"}, "actuator": {"name": actuator}}
    result = apply_policy(config, signals([1, 0, 0, 0], "aabb"))
    assert weights(result)[0] == weights(result)[1] >= weights(result)[2] == weights(result)[3]


def test_cap_keeps_the_mean() -> None:
    # raw 4, 1, 1 (mean 2): 2, .5, .5 without a cap. Under cap 1.5 the first is held, the rest share 3 - 1.5 = 1.5
    config = {
        "scorer": {"name": "advantage_magnitude"},
        "actuator": {"name": "per", "params": {"alpha": 1.0}, "cap": 1.5},
    }
    result = apply_policy(config, signals([0] * 3, "aaa", advantages=[[4.0], [1.0], [1.0]]))
    assert weights(result) == pytest.approx([1.5, 0.75, 0.75], abs=1e-6)


def test_cap_of_token_weights_keeps_the_mean() -> None:
    # p = 1, 1/9 x 3, alpha 1: raw 1, .111.. x 3, mean 1/3: 3, 1/3 x 3. Cap 2: 2 and (4 - 2) / 3 each
    log = [[0.0, *[float(torch.tensor(1 / 9).log())] * 3]]
    config = {
        "scorer": {"name": "token_prob"},
        "actuator": {"name": "ar", "params": {"alpha": 1.0}, "cap": 2.0},
    }
    result = apply_policy(config, signals([1], "a", old_log_probs=log))
    assert result.weights[0].tolist() == pytest.approx([2.0, 2 / 3, 2 / 3, 2 / 3], abs=1e-5)


def test_kept_normalisation_counts_tokens() -> None:
    # lengths 2, 2 | 1, 1: group a (rate .5) stays with 4 of 6 tokens, so its weight is 6 / 4
    config = {"method": "difffilter", "actuator": {"normalize": "kept"}}
    data = signals([1, 0, 0, 0], "aabb", response_mask=[[1, 1], [1, 1], [1], [1]])
    assert weights(apply_policy(config, data)) == [1.5, 1.5, 0.0, 0.0]
