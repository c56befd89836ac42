"""What is data: padding rows, masked tokens, token rewards, NaN; jagged equals padded."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from dataflex_rl.components import segments
from dataflex_rl.components.batch import Batch, SignalError
from dataflex_rl.config.methods import method_block
from dataflex_rl.policy import Policy

METHODS = ("uniform", "difffilter", "maxvar", "gfpo", "topk", "ar", "per", "softmax", "diffband")
SCORE = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
LENGTH = [3, 1, 2, 4, 2, 1]


def make(rows: list[int], padding: list[bool] | None = None, mask_padding: float = 0.0) -> Batch:
    """Six responses of two groups, rewards on their last tokens; `rows` chooses and repeats, `padding` marks rows."""
    padding = padding or [False] * len(rows)
    length = [LENGTH[row] for row in rows]
    generator = torch.Generator().manual_seed(0)
    adv = [torch.randn(n, generator=generator) for n in LENGTH]
    log = [-torch.rand(n, generator=generator) for n in LENGTH]
    mask = [torch.full((n,), mask_padding if pad else 1.0) for n, pad in zip(length, padding, strict=True)]
    return Batch(
        offset_B1=torch.tensor([0, *length]).cumsum(0),
        response_mask_N=torch.cat(mask),
        uid=["ab"[row // 3] for row in rows],
        prompt_key=["ab"[row // 3] for row in rows],
        rollout_index_B=torch.tensor([row % 3 for row in rows]),
        is_padding_B=torch.tensor(padding),
        rm_score_N=torch.cat([torch.tensor([0.0] * (LENGTH[row] - 1) + [SCORE[row]]) for row in rows]),
        advantage_N=torch.cat([adv[row] for row in rows]),
        old_log_prob_N=torch.cat([log[row] for row in rows]),
        acc_B=torch.tensor([SCORE[row] for row in rows]),
        domain=[("math", "logic")[row // 3] for row in rows],
    )  # fmt: skip


def policy(method: str, **more: Any) -> Policy:
    return Policy.from_config({**method_block(method), **more})


@pytest.mark.parametrize("mask_padding", [0.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_padding_rows_change_nothing(method: str, mask_padding: float) -> None:
    plain = policy(method).apply(make([0, 1, 2, 3, 4, 5]), step=1)
    # two appended rows, one inside the batch; a mask left at 1 there does not make them data
    rows, padding = [0, 1, 5, 2, 3, 4, 5, 0, 0], [False, False, True, False, False, False, False, True, True]
    padded = policy(method).apply(make(rows, padding, mask_padding), step=1)
    mine = [row for row, pad in enumerate(padding) if not pad]
    bounds = padded.batch.offset_B1.tolist()
    weight = [padded.weight_N[bounds[row] : bounds[row + 1]] for row in range(len(rows))]
    assert torch.allclose(torch.cat([weight[row] for row in mine]), plain.weight_N, atol=1e-6)
    assert all(not weight[row].any() for row in range(len(rows)) if padding[row])
    assert dict(padded.metrics) == pytest.approx(dict(plain.metrics), abs=1e-7)
    if plain.keep_B is not None:
        assert padded.keep_B is not None
        assert padded.keep_B[mine].tolist() == plain.keep_B.tolist()
        assert not padded.keep_B[torch.tensor(padding)].any()


@pytest.mark.parametrize("method", METHODS)
def test_masked_tokens_count_nowhere_and_may_hold_anything(method: str) -> None:
    # response 3 (four tokens) loses its last two, and NaN stands there, except for its reward, which was given
    batch = make([0, 1, 2, 3, 4, 5])
    mask = batch.response_mask_N.clone()
    mask[8:10] = 0
    short = dataclasses.replace(batch, response_mask_N=mask)
    dirty = {}
    for name in ("advantage_N", "old_log_prob_N"):
        value = getattr(batch, name).clone()
        value[8:10] = float("nan")
        dirty[name] = value
    clean, other = (
        policy(method).apply(short, step=1),
        policy(method).apply(dataclasses.replace(short, **dirty), step=1),
    )
    assert torch.equal(clean.weight_N, other.weight_N)
    assert clean.weight_N[8:10].tolist() == [0.0, 0.0]
    assert clean.metrics == other.metrics
    assert clean.metrics["dataflex/tokens_generated"] == 11.0
    assert clean.metrics["dataflex/reward_all"] == 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_response_without_a_token_is_graded_but_neither_kept_nor_weighted(method: str) -> None:
    batch = make([0, 1, 2, 3, 4, 5])
    mask = batch.response_mask_N.clone()
    mask[0:3] = 0  # all of response 0, as rejection sampling does
    decision = policy(method).apply(dataclasses.replace(batch, response_mask_N=mask), step=1)
    assert not decision.weight_N[0:3].any()
    assert decision.metrics["dataflex/reward_all"] == 0.5  # its reward of 1 counts: 3 of 6
    assert decision.metrics["dataflex/dropped/no_tokens"] == 1.0
    if method == "difffilter":
        # rates 1/3 and 2/3, the rejected response included: all that can be trained on stays
        assert decision.keep_B is not None
        assert decision.keep_B.tolist() == [False, True, True, True, True, True]
    if method in ("uniform", "per", "softmax", "diffband"):
        assert decision.metrics["dataflex/weight_mean"] == pytest.approx(1.0)


@pytest.mark.parametrize("method", METHODS)
def test_jagged_equals_padded(method: str) -> None:
    batch = make([0, 1, 2, 3, 4, 5])
    wide = max(LENGTH)

    def pad(value_N: torch.Tensor) -> torch.Tensor:
        rows = torch.split(value_N, LENGTH)
        return torch.stack([torch.cat([row, torch.zeros(wide - len(row))]) for row in rows]).flatten()

    padded = dataclasses.replace(
        batch,
        offset_B1=torch.arange(0, 7) * wide,
        **{
            name: pad(getattr(batch, name))
            for name in ("response_mask_N", "rm_score_N", "advantage_N", "old_log_prob_N")
        },
    )
    jagged_weight = policy(method).apply(batch, step=1).weight_N
    assert torch.allclose(pad(jagged_weight), policy(method).apply(padded, step=1).weight_N, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "field", "shown"),
    [
        ("uniform", "rm_score_N", "rm_scores"),
        ("difffilter", "rm_score_N", "rm_scores"),
        ("per", "advantage_N", "advantages"),
        ("ar", "old_log_prob_N", "old_log_probs"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_inf_name_field_step_and_prompt(method: str, field: str, shown: str, value: float) -> None:
    batch = make([0, 1, 2, 3, 4, 5])
    bad = getattr(batch, field).clone()
    bad[7] = value  # a token of response 3, group b
    with pytest.raises(SignalError, match=rf"^{shown} has a NaN or Inf at step 12, prompt 'b' \(response 3, uid 'b'\)"):
        policy(method).apply(dataclasses.replace(batch, **{field: bad}), step=12)


def test_nan_in_a_field_that_is_not_read_or_in_padding_is_no_error() -> None:
    batch = make([0, 1, 2, 3, 4, 5, 0], [False] * 6 + [True])
    batch = dataclasses.replace(
        batch,
        advantage_N=torch.full_like(batch.advantages, float("nan")),
        rm_score_N=torch.cat([batch.rm_score_N[:-3], torch.full((3,), float("nan"))]),  # type: ignore[index]
    )
    assert policy("maxvar").apply(batch, step=1).metrics["dataflex/kept_frac"] == pytest.approx(4 / 6)


def test_token_rewards_are_summed_in_float64() -> None:
    batch = make([0, 1])
    dense = dataclasses.replace(batch, rm_score_N=torch.tensor([0.25, 0.5, 0.125, -1.0]))
    assert dense.outcome_B.tolist() == [0.875, -1.0]


def test_a_field_of_another_length_is_refused() -> None:
    batch = make([0, 1])
    with pytest.raises(SignalError, match=r"advantage_N has shape \(3,\), but the offsets end at 4 tokens"):
        dataclasses.replace(batch, advantage_N=torch.zeros(3))
    with pytest.raises(SignalError, match="uid has 1 entries, but the batch has 2 responses"):
        dataclasses.replace(batch, uid=["a"])
    with pytest.raises(SignalError, match="either rm_score_N or reward_B"):
        dataclasses.replace(batch, reward_B=torch.zeros(2))
    with pytest.raises(SignalError, match="has no 'old_log_probs'"):
        policy("ar").apply(dataclasses.replace(batch, old_log_prob_N=None), step=1)


def test_ties_follow_prompt_key_then_rollout_index() -> None:
    # equal scores: the two smallest of (b, 0), (b, 1), (a, 1), (a, 0) are a's
    batch = dataclasses.replace(
        make([3, 4, 1, 0]), rm_score_N=None, reward_B=torch.zeros(4), advantage_N=torch.ones(4 + 2 + 1 + 3)
    )
    keep_B = policy("topk").apply(batch, step=1).keep_B
    assert keep_B is not None
    assert keep_B.tolist() == [False, False, True, True]


def test_chunks_cover_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    # chunks of 3 tokens cut the six responses at whole responses; results do not change
    whole = [policy(method).apply(make([0, 1, 2, 3, 4, 5]), step=1) for method in METHODS]
    offset_B1 = make([0, 1, 2, 3, 4, 5]).offset_B1
    rows = [(r.start, r.stop, t.start, t.stop) for r, t in segments.chunks(offset_B1, 3)]
    assert rows == [(0, 1, 0, 3), (1, 3, 3, 6), (3, 4, 6, 10), (4, 6, 10, 13)]
    monkeypatch.setattr(segments.chunks, "__defaults__", (3,))
    for method, before in zip(METHODS, whole, strict=True):
        after = policy(method).apply(make([0, 1, 2, 3, 4, 5]), step=1)
        assert torch.equal(after.weight_N, before.weight_N)
        assert dict(after.metrics) == pytest.approx(dict(before.metrics))


@pytest.mark.parametrize("method", METHODS)
def test_global_random_state_is_untouched(method: str) -> None:
    before = torch.random.get_rng_state()
    policy(method).apply(make([0, 1, 2, 3, 4, 5]), step=1)
    assert torch.equal(before, torch.random.get_rng_state())
