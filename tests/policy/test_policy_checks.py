"""One test per refusal at mount time, message checked; and what must be let through."""

from __future__ import annotations

from typing import Any

import pytest

from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import GROUP_ESTIMATORS, HostFacts, Policy

FIELDS = frozenset({"rm_scores", "response_mask", "uid", "advantages", "old_log_probs"})
PAIRS = {
    "difffilter": "group_solve",
    "maxvar": "reward",
    "gfpo": "reward",
    "topk": "advantage_magnitude",
    "ar": "token_prob",
    "per": "advantage_magnitude",
    "softmax": "advantage_magnitude",
    "diffband": "reward",
}


def policy(actuator: str, **more: Any) -> Policy:
    return Policy.from_config({"scorer": {"name": PAIRS[actuator]}, "actuator": {"name": actuator}, **more})


def facts(**more: Any) -> HostFacts:
    return HostFacts(**{"adv_estimator": "grpo", "rollout_n": 5, "fields": FIELDS, **more})


def refused(mounted: Policy, host: HostFacts) -> str:
    with pytest.raises(ConfigError) as caught:
        mounted.check(host)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("actuator", PAIRS)
@pytest.mark.parametrize("estimator", GROUP_ESTIMATORS)
def test_every_method_mounts_on_every_group_estimator(actuator: str, estimator: str) -> None:
    policy(actuator).check(facts(adv_estimator=estimator))


@pytest.mark.parametrize("estimator", ["gae", "remax", "reinforce_plus_plus", "mine"])
def test_group_scorer_needs_a_group_estimator(estimator: str) -> None:
    assert refused(policy("difffilter"), facts(adv_estimator=estimator)) == (
        f"scorer 'group_solve' needs groups, but algorithm.adv_estimator='{estimator}' makes none; use one of grpo, "
        "grpo_vectorized, grpo_passk, rloo, rloo_vectorized, opo, gdpo, reinforce_plus_plus_baseline, gpg, or set "
        "dataflex.group_estimator=true if yours compares a prompt's responses"
    )


def test_custom_estimator_by_declared_override() -> None:
    policy("difffilter").check(facts(adv_estimator="mine", group_estimator=True))
    policy("difffilter", group_estimator=True).check(facts(adv_estimator="mine"))
    assert "needs groups" in refused(policy("difffilter", group_estimator=False), facts())


@pytest.mark.parametrize("actuator", ["softmax", "per", "topk", "ar", "diffband", "maxvar", "gfpo"])
def test_reward_and_advantage_scorers_mount_on_any_estimator(actuator: str) -> None:
    policy(actuator).check(facts(adv_estimator="gae"))


@pytest.mark.parametrize("actuator", ["difffilter", "maxvar", "gfpo"])
def test_groups_of_one_are_refused(actuator: str) -> None:
    assert "needs groups, but rollout.n=1 makes groups of one; set actor_rollout_ref.rollout.n to 2 or more" in refused(
        policy(actuator), facts(rollout_n=1)
    )


@pytest.mark.parametrize("actuator", ["softmax", "per", "topk", "ar", "diffband"])
def test_one_response_per_prompt_is_enough_for_batch_methods(actuator: str) -> None:
    policy(actuator).check(facts(rollout_n=1, adv_estimator="gae"))


@pytest.mark.parametrize(
    ("more", "setting"),
    [
        ({"bypass_mode": True}, "rollout_correction.bypass_mode=true"),
        ({"loss_mode": "bypass_mode"}, "policy_loss.loss_mode='bypass_mode'"),
    ],
)
def test_a_loss_that_ignores_the_weights_is_refused(more: dict[str, Any], setting: str) -> None:
    assert refused(policy("difffilter"), facts(**more)).startswith(
        f"actuator 'difffilter' acts through rollout_is_weights, which {setting} ignores; use another policy loss"
    )


def test_token_weights_are_refused_under_a_geometric_mean() -> None:
    assert "actuator 'ar' weighs tokens, but policy_loss.loss_mode='geo_mean' folds token weights" in refused(
        policy("ar"), facts(loss_mode="geo_mean")
    )
    policy("per").check(facts(loss_mode="geo_mean"))


@pytest.mark.parametrize("more", [{"bypass_mode": True}, {"loss_mode": "geo_mean"}])
def test_uniform_and_shadow_do_not_act_so_any_loss_will_do(more: dict[str, Any]) -> None:
    Policy.from_config({}).check(facts(**more))
    policy("ar", shadow=True).check(facts(**more))


def test_missing_field() -> None:
    assert refused(policy("ar"), facts(fields=frozenset({"rm_scores", "response_mask", "uid"}))) == (
        "scorer 'token_prob' requires the batch field 'old_log_probs', but the host provides response_mask, "
        "rm_scores, uid"
    )
    acc = Policy.from_config(
        {"scorer": {"name": "reward", "params": {"signal": "acc"}}, "actuator": {"name": "maxvar"}}
    )
    assert "scorer 'reward' requires the batch field 'acc'" in refused(acc, facts())


def test_every_link_of_a_chain_is_checked() -> None:
    chain = [
        {"scorer": {"name": "reward"}, "actuator": {"name": "per"}},
        {"scorer": {"name": "group_solve"}, "actuator": {"name": "difffilter"}},
    ]
    assert "scorer 'group_solve' needs groups" in refused(
        Policy.from_config({"chain": chain}), facts(adv_estimator="gae")
    )
