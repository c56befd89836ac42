"""Metrics of one hand-made batch, over all and per domain."""

from __future__ import annotations

import pytest

from dataflex_rl import apply_policy

# groups: a (math, 1 of 2 solved), b (math, 0 of 2), c (logic, 2 of 2), d (logic, 1 of 1)
DATA = {
    "uid": list("aabbccd"),
    "reward": [1.0, 0.0, 0.2, 0.2, 1.0, 0.8, 1.0],
    "domain": ["math"] * 4 + ["logic"] * 3,
    # tokens that are data: 2 1 | 1 1 | 3 1 | 1 = 10; one masked token in the first and the last
    "response_mask": [[1, 1, 0], [1], [1], [1], [1, 1, 1], [1], [1, 0]],
}
DIFF = {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}}


def metrics(config: dict[str, object]) -> dict[str, float]:
    return {key.removeprefix("dataflex/"): value for key, value in apply_policy(config, DATA).metrics.items()}


# difffilter keeps a alone: 2 of 7 responses, 1 of 4 groups, 3 of 10 tokens
OVER_ALL = {
    "kept_frac": 2 / 7,
    "kept_group_frac": 1 / 4,
    "kept_token_frac": 3 / 10,
    "dropped/no_tokens": 0.0,
    "dropped/too_hard": 2.0,
    "dropped/too_easy": 3.0,
    "weight_mean": 2 / 7,
    # variance of 0/1 with mean 2/7: 2/7 * 5/7
    "weight_std": (10 / 49) ** 0.5,
    "weight_min": 0.0,
    "weight_max": 1.0,
    "weight_token_std": (0.3 * 0.7) ** 0.5,
    # (sum w)^2 / (B sum w^2) = 4 / (7 * 2)
    "ess": 2 / 7,
    "grad_scale": 3 / 10,
    "groups": 4.0,
    "groups_all_solved": 2 / 4,
    "groups_all_failed": 1 / 4,
    "groups_mixed": 1 / 4,
    # b's two .2 and d's one response
    "groups_constant": 2 / 4,
    "reward_all": 4.2 / 7,
    "reward_effective": 0.5,
    "tokens_generated": 10.0,
    "tokens_trained": 3.0,
    "tokens_dropped": 7.0,
}
# a and b: 2 of 4 responses, 3 of 5 tokens
MATH = {
    "kept_frac": 2 / 4,
    "kept_group_frac": 1 / 2,
    "kept_token_frac": 3 / 5,
    "dropped/no_tokens": 0.0,
    "dropped/too_hard": 2.0,
    "dropped/too_easy": 0.0,
    "weight_mean": 0.5,
    "weight_std": 0.5,
    "weight_min": 0.0,
    "weight_max": 1.0,
    "weight_token_std": (0.6 * 0.4) ** 0.5,
    "ess": 4 / (4 * 2),
    "grad_scale": 3 / 5,
    "groups": 2.0,
    "groups_all_solved": 0.0,
    "groups_all_failed": 1 / 2,
    "groups_mixed": 1 / 2,
    "groups_constant": 1 / 2,
    "reward_all": 1.4 / 4,
    "reward_effective": 0.5,
    "tokens_generated": 5.0,
    "tokens_trained": 3.0,
    "tokens_dropped": 2.0,
}
# c and d: nothing kept, so there is no reward_effective
LOGIC = {
    **dict.fromkeys(MATH, 0.0),
    "dropped/too_easy": 3.0,
    "groups": 2.0,
    "groups_all_solved": 1.0,
    "groups_constant": 1 / 2,
    "reward_all": 2.8 / 3,
    "tokens_generated": 5.0,
    "tokens_dropped": 5.0,
}
del LOGIC["reward_effective"]


def test_difffilter() -> None:
    found = metrics(DIFF)
    flags = {key: found.pop(key) for key in ("acting", "empty_step", "empty_steps")}
    assert flags == {"acting": 1.0, "empty_step": 0.0, "empty_steps": 0.0}
    expected = OVER_ALL | {f"{key}/math": value for key, value in MATH.items()}
    assert found == pytest.approx(expected | {f"{key}/logic": value for key, value in LOGIC.items()})


def test_reweighting_keeps_everything() -> None:
    # softmax at a temperature that gives e^1 for 1, so w is proportional to exp(R)
    found = metrics({"scorer": {"name": "reward"}, "actuator": {"name": "softmax"}})
    assert found["kept_frac"] == found["kept_token_frac"] == found["kept_group_frac"] == 1.0
    assert found["tokens_dropped"] == 0.0
    assert found["weight_mean"] == pytest.approx(1.0)
    assert found["reward_all"] == pytest.approx(0.6)
    # sum w R / sum w: e + e + e for the ones, e^0 for 0, 2 e^.2 for .2, e^.8 for .8
    e, low, high = 2.718281828459045, 1.2214027581601699, 2.225540928492468
    assert found["reward_effective"] == pytest.approx((3 * e + 0.4 * low + 0.8 * high) / (3 * e + 1 + 2 * low + high))
    assert "dropped/too_hard" not in found


def test_dropping_the_first_group_leaves_other_domains_alone() -> None:
    # joined by row, not zipped against filtered rows: a (1 of 2) and b (0 of 2) go, c with 2 of 3 stays
    data = {
        "uid": list("aabbccc"),
        "reward": [1.0, 0.0, 0.2, 0.2, 1.0, 0.8, 0.1],
        "domain": ["math"] * 4 + ["logic"] * 3,
    }
    config = {**DIFF, "actuator": {"name": "difffilter", "params": {"low": 0.6, "high": 0.7}}}
    found = apply_policy(config, data).metrics
    assert (found["dataflex/kept_frac/math"], found["dataflex/kept_frac/logic"]) == (0.0, 1.0)
    assert found["dataflex/reward_effective/logic"] == found["dataflex/reward_all/logic"] == pytest.approx(1.9 / 3)
    assert "dataflex/reward_effective/math" not in found


def test_threshold_and_signal_of_the_scorer_define_solved() -> None:
    config = {
        "scorer": {"name": "group_solve", "params": {"success_threshold": 0.1}},
        "actuator": {"name": "difffilter"},
    }
    # at .1 b is solved by both
    assert (metrics(config)["groups_all_solved"], metrics(config)["groups_all_failed"]) == (3 / 4, 0.0)


def test_token_weights() -> None:
    data = {
        "uid": ["a", "a"],
        "reward": [1.0, 0.0],
        # probabilities 1, e^-1 | e^-1: raw 1, .68394, .68394 (alpha .5)
        "old_log_probs": [[0.0, -1.0], [-1.0]],
    }
    raw = (1 + 2.718281828459045**-1) / 2
    mean = (1 + 2 * raw) / 3
    found = apply_policy({"method": "ar"}, data).metrics
    first, second = (1 + raw) / 2 / mean, raw / mean
    assert found["dataflex/weight_max"] == pytest.approx(1 / mean, abs=1e-6)
    assert found["dataflex/weight_min"] == pytest.approx(raw / mean, abs=1e-6)
    assert found["dataflex/grad_scale"] == pytest.approx(1.0, abs=1e-6)
    assert found["dataflex/weight_mean"] == pytest.approx((first + second) / 2, abs=1e-6)
    assert found["dataflex/reward_effective"] == pytest.approx(first / (first + second), abs=1e-6)
    square = (1 / mean**2 + 2 * (raw / mean) ** 2) / 3
    assert found["dataflex/weight_token_std"] == pytest.approx((square - 1) ** 0.5, abs=1e-5)
    assert found["dataflex/tokens_trained"] == 3.0


def test_float_noise_makes_no_group_mixed() -> None:
    data = {"uid": ["a"] * 8, "reward": [0.1 + 1e-9 * (-1) ** i for i in range(8)]}
    assert apply_policy({"method": "uniform"}, data).metrics["dataflex/groups_constant"] == 1.0
