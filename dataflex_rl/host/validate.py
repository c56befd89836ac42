"""verl's own checks of a configuration, before Ray starts."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from dataflex_rl.config.mixing import PLAIN_MODE
from dataflex_rl.config.plain import plain
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig, parse_feed, take_feed
from dataflex_rl.policy import HostFacts, Policy
from dataflex_rl.quiet import heard


def validate(settings: Mapping[str, Any]) -> list[str]:
    """Run verl's `validate_config`, build its actor, critic and rollout dataclasses, and mount policy and feed.

    Nothing is printed and the settings (resolved) are left as they are.

    Returns:
        What verl prints and warns of meanwhile, one line each.

    Raises:
        ConfigError: whatever verl or the policy refuses, in one line.
    """
    with heard() as said:
        from dataflex_rl.host.feed_checks import check_feed
        from dataflex_rl.host.hook_check import check, works_with
        from dataflex_rl.host.hooks import HOOKS
        from dataflex_rl.host.policy_step import host_facts

        check(HOOKS, works=works_with(HOOKS))
        copy = DictConfig(dict(settings))
        try:
            _check_sampling(copy)
            policy_block, drawing = take_feed(plain(copy.dataflex))
            policy, feed = Policy.from_config(policy_block), parse_feed(drawing)
            _check_trainer(str(copy.trainer.v1.trainer_mode), policy, feed)
            _check_estimator(host_facts(copy))
            policy.check(host_facts(copy))
            check_feed(feed, copy, host_facts(copy))
            _ask_verl(copy)
        except ConfigError:
            raise
        except (
            AssertionError, ValueError, TypeError, NotImplementedError, OmegaConfBaseException, HydraException
        ) as error:  # fmt: skip
            cause = error.__cause__ if isinstance(error, HydraException) and error.__cause__ else error
            line = (str(cause).strip() or type(cause).__name__).splitlines()[0]
            raise ConfigError(f"verl refuses the configuration: {line}") from error
    return [f"verl: {line}" for line in said]


def _ask_verl(config: DictConfig) -> None:
    """Run verl's own checks of a configuration, which is changed."""
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config.critic.model = None  # verl would load it here, tokenizer and all
    try:
        validate_config(config, need_reference_policy(config), need_critic(config))
        omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    except AttributeError as error:  # verl looks into a block before it checks that there is one
        raise ConfigError(f"verl refuses the configuration: a block that it reads is none ({error})") from error


def _check_trainer(mode: str, policy: Policy, feed: FeedConfig) -> None:
    """Refuse a trainer that verl does not know, and one that would train as if there were no policy and no feed."""
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

    from dataflex_rl.host.trainer import DataflexSyncTrainer

    if mode not in TRAINER_REGISTRY:
        raise ConfigError(f"unknown trainer.v1.trainer_mode={mode}; known: {', '.join(sorted(TRAINER_REGISTRY))}")
    acts = f"the policy {policy.name!r}" if policy.config.links else feed.acts
    if acts and not issubclass(TRAINER_REGISTRY[mode], DataflexSyncTrainer):
        raise ConfigError(f"trainer.v1.trainer_mode={mode} would ignore {acts}; use {PLAIN_MODE}, or method=uniform")


def _check_estimator(facts: HostFacts) -> None:
    """Refuse an estimator that verl does not know, and groups of one where it compares the responses of a prompt."""
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, AdvantageEstimator

    known = {str(name) for name in ADV_ESTIMATOR_REGISTRY} | {str(name.value) for name in AdvantageEstimator}
    if facts.adv_estimator not in known:
        raise ConfigError(f"unknown algorithm.adv_estimator={facts.adv_estimator}; known: {', '.join(sorted(known))}")
    if facts.makes_groups and facts.rollout_n < 2:
        raise ConfigError(
            f"algorithm.adv_estimator={facts.adv_estimator} compares the responses of one prompt, but "
            f"actor_rollout_ref.rollout.n={facts.rollout_n}; expected at least 2"
        )


def _check_sampling(config: DictConfig) -> None:
    """Refuse what verl would drop silently with our sampler."""
    if config.algorithm.filter_groups.enable:
        raise ConfigError(
            "algorithm.filter_groups.enable=true would be dropped by verl with this trainer; use actuator=difffilter"
        )
    if config.data.train_max_samples not in (-1, None) and config.data.seed is None:
        raise ConfigError("data.train_max_samples without data.seed draws an unseeded subset; set seed")


def main() -> int:
    """Check the configuration on standard input (JSON); on standard output goes what verl says of it, one line each, or
    with exit code 2 why it is refused.
    """
    try:
        for line in validate(json.load(sys.stdin)):
            print(line)
    except ConfigError as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
