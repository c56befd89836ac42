"""The laws of data policies on random batches: permutation, mean weight, identities, ties, jagged = padded."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflex_rl import apply_policy
from dataflex_rl.policy import Policy
from dataflex_rl.policy.signals import to_batch

SELECT = ("difffilter", "maxvar", "gfpo", "topk")
REWEIGHT = ("ar", "per", "softmax", "diffband")
ALL = (*SELECT, *REWEIGHT)
fast = settings(deadline=None, max_examples=15)


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """Interleaved groups of unequal size, many ties, one-token responses, some masked tokens."""
    size = draw(st.integers(1, 12))
    length = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
    number = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 1.5])
    mask = [[1, *draw(st.lists(st.integers(0, 1), min_size=n - 1, max_size=n - 1))] for n in length]
    return {
        "uid": draw(st.lists(st.sampled_from("abcd"), min_size=size, max_size=size)),
        "reward": draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), min_size=size, max_size=size)),
        "domain": draw(st.lists(st.sampled_from(["math", "logic"]), min_size=size, max_size=size)),
        "response_id": draw(st.permutations(range(size))),
        "response_mask": mask,
        "advantages": [draw(st.lists(number, min_size=n, max_size=n)) for n in length],
        "old_log_probs": [draw(st.lists(st.floats(-9, 0, width=32), min_size=n, max_size=n)) for n in length],
    }


def close(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return torch.allclose(torch.cat(left), torch.cat(right), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("method", [*ALL, "uniform"])
def test_permuting_responses_permutes_the_decision(method: str) -> None:
    @fast
    @given(batches(), st.randoms(use_true_random=False))
    def law(data: dict[str, Any], random: Any) -> None:
        order = list(range(len(data["uid"])))
        random.shuffle(order)
        plain = apply_policy({"method": method}, data)
        mixed = apply_policy({"method": method}, {key: [column[i] for i in order] for key, column in data.items()})
        assert close([plain.weights[i] for i in order], mixed.weights)
        if plain.keep is not None:
            assert [plain.keep[i] for i in order] == mixed.keep
        assert plain.metrics == pytest.approx(mixed.metrics, abs=1e-6)

    law()


@pytest.mark.parametrize("unit", ["response", "token"])
@pytest.mark.parametrize("method", REWEIGHT)
def test_mean_weight_is_one(method: str, unit: str) -> None:
    @fast
    @given(batches())
    def law(data: dict[str, Any]) -> None:
        result = apply_policy({"method": method, "actuator": {"normalize": unit}}, data)
        mask = [torch.tensor(row).float() for row in data["response_mask"]]
        if unit == "token":
            mean = torch.cat(result.weights).sum() / torch.cat(mask).sum()
        else:
            mean = torch.stack([w.sum() / m.sum() for w, m in zip(result.weights, mask, strict=True)]).mean()
        assert float(mean) == pytest.approx(1.0, abs=1e-5)
        assert all(bool((w[m == 0] == 0).all()) for w, m in zip(result.weights, mask, strict=True))

    law()


@pytest.mark.parametrize("method", REWEIGHT)
def test_one_response_alone_has_weight_one(method: str) -> None:
    data = {"uid": ["a"], "reward": [0.3], "advantages": [[2.0]], "old_log_probs": [[-3.0]]}
    assert apply_policy({"method": method}, data).weights[0].tolist() == [1.0]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("softmax", {"temperature": float("inf")}),
        ("per", {"alpha": 0.0}),
        ("ar", {"alpha": 0.0}),
        ("maxvar", {"keep_fraction": 1.0}),
        ("gfpo", {"k": 12}),
        ("topk", {"fraction": 1.0}),
        ("diffband", {"focus_weight": 1.0}),
    ],
)
@pytest.mark.parametrize("other_unit", [False, True])
def test_limits_equal_uniform_exactly(method: str, params: dict[str, float], other_unit: bool) -> None:
    default, other = ("none", "kept") if method in SELECT else ("response", "token")
    normalize = other if other_unit else default

    @fast
    @given(batches())
    def law(data: dict[str, Any]) -> None:
        config = {"method": method, "actuator": {"params": params, "normalize": normalize}}
        ours, uniform = apply_policy(config, data), apply_policy({"method": "uniform"}, data)
        assert [row.tolist() for row in ours.weights] == [row.tolist() for row in uniform.weights]

    law()


@pytest.mark.parametrize("method", SELECT)
def test_kept_normalisation_restores_the_token_mean(method: str) -> None:
    @fast
    @given(batches())
    def law(data: dict[str, Any]) -> None:
        plain = apply_policy({"method": method}, data)
        kept = apply_policy({"method": method, "actuator": {"normalize": "kept"}}, data)
        share = plain.metrics["dataflex/kept_token_frac"]
        if share > 0:
            assert close([w / share for w in plain.weights], kept.weights)
            assert kept.metrics["dataflex/grad_scale"] == pytest.approx(1.0, abs=1e-9)
        assert plain.metrics["dataflex/grad_scale"] == pytest.approx(share, abs=1e-9)

    law()


@fast
@given(batches())
def test_logged_statistics_are_their_definitions(data: dict[str, Any]) -> None:
    result = apply_policy({"method": "per"}, data)
    mask = [torch.tensor(row).double() for row in data["response_mask"]]
    w = torch.stack([r.double().sum() / m.sum() for r, m in zip(result.weights, mask, strict=True)])
    reward = torch.tensor(data["reward"], dtype=torch.float64)
    metrics = result.metrics
    assert metrics["dataflex/ess"] == pytest.approx(float(w.sum() ** 2 / (len(w) * (w**2).sum())), abs=1e-5)
    assert metrics["dataflex/reward_all"] == pytest.approx(float(reward.mean()))
    assert metrics["dataflex/reward_effective"] == pytest.approx(float((w * reward).sum() / w.sum()), abs=1e-5)
    assert metrics["dataflex/weight_std"] == pytest.approx(float(w.std(correction=0)), abs=1e-5)
    tokens = torch.cat(mask)
    assert metrics["dataflex/grad_scale"] == pytest.approx(
        float(torch.cat(result.weights).sum() / tokens.sum()), abs=1e-5
    )


@pytest.mark.parametrize(("method", "count"), [("maxvar", 2), ("topk", 5), ("gfpo", 3)])
def test_ties_keep_exactly_n_with_the_smallest_ids(method: str, count: int) -> None:
    @fast
    @given(st.permutations(range(10)))
    def law(ids: list[int]) -> None:
        data = {"uid": ["a"] * 5 + ["b"] * 5, "reward": [0.7] * 10, "response_id": ids, "advantages": [[1.0]] * 10}
        keep = apply_policy({"method": method}, data).keep
        assert keep is not None
        pools = [range(10)] if method == "topk" else [range(5), range(5, 10)]
        for pool in pools:
            smallest = sorted(pool, key=lambda row: ids[row])[:count]
            assert [row for row in pool if keep[row]] == sorted(smallest)

    law()


@fast
@given(batches(), st.data())
def test_existing_importance_weights_are_multiplied(data: dict[str, Any], draw: st.DataObject) -> None:
    batch = to_batch(data, frozenset(), False)
    size = int(batch.offset_B1[-1])
    existing_N = torch.tensor(draw.draw(st.lists(st.floats(0, 2, width=32), min_size=size, max_size=size)))
    existing_N.requires_grad_()
    policy = Policy.from_config({"scorer": {"name": "token_prob"}, "actuator": {"name": "ar"}})
    alone = policy.apply(batch, step=1)
    both = policy.apply(dataclasses.replace(batch, rollout_is_weight_N=existing_N), step=1)
    assert torch.equal(both.policy_weight_N, alone.weight_N)
    assert torch.allclose(both.weight_N, alone.weight_N * existing_N.detach())
    assert not both.weight_N.requires_grad
    assert both.metrics == alone.metrics


@pytest.mark.parametrize("method", ALL)
def test_policy_weights_carry_no_gradient(method: str) -> None:
    data = {"uid": ["a", "a", "a"], "reward": [0.0, 1.0, 0.0], "advantages": [[1.0]] * 3, "old_log_probs": [[-1.0]] * 3}
    batch = to_batch(data, frozenset(), False)
    batch = dataclasses.replace(
        batch,
        advantage_N=batch.advantages.clone().requires_grad_(),
        old_log_prob_N=batch.old_log_probs.clone().requires_grad_(),
        reward_B=None,
        rm_score_N=torch.tensor([0.0, 1.0, 0.0], requires_grad=True),
    )
    from dataflex_rl.config.methods import method_block

    decision = Policy.from_config(method_block(method)).apply(batch, step=1)
    assert not decision.weight_N.requires_grad
    assert decision.weight_N.dtype == torch.float32


@pytest.mark.parametrize("method", ["difffilter", "maxvar", "gfpo", "per", "softmax", "ar", "diffband", "topk"])
def test_groups_of_one_have_a_value(method: str) -> None:
    data = {
        "uid": ["a", "b", "c"], "reward": [0.0, 1.0, 1.0], "advantages": [[1.0]] * 3, "old_log_probs": [[-1.0]] * 3,
    }  # fmt: skip
    result = apply_policy({"method": method}, data)
    # difffilter: rates 0 and 1 are outside; maxvar and gfpo keep a group of one; topk: round(1.5) = 2 of equals
    expected = {"difffilter": [False] * 3, "maxvar": [True] * 3, "gfpo": [True] * 3, "topk": [True, True, False]}
    assert result.keep == expected.get(method)
    assert all(bool(torch.isfinite(row).all()) for row in result.weights)
