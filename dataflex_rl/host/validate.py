"""verl's own checks of a configuration, before Ray starts."""

from __future__ import annotations

import contextlib
import io
import warnings

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from dataflex_rl.errors import ConfigError
from dataflex_rl.plain import plain


def validate(config: DictConfig) -> None:
    """Run verl's `validate_config`, build its actor, critic and rollout dataclasses, and mount policy and mixer.

    Nothing is printed and the configuration is left as it is.

    Raises:
        ConfigError: whatever verl or the policy refuses, in one line.
    """
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from verl.trainer.ppo.utils import need_critic, need_reference_policy
        from verl.utils.config import omega_conf_to_dataclass, validate_config

        from dataflex_rl.host.mix_feed import check_mixer
        from dataflex_rl.host.policy_step import host_facts
        from dataflex_rl.mixers.config import parse_mixer
        from dataflex_rl.policy import Policy, split_block

        copy = DictConfig(plain(config))
        try:
            _check_sampling(copy)
            policy_block, mixer_block = split_block(plain(copy.dataflex))
            Policy.from_config(policy_block).check(host_facts(copy))
            mixing = parse_mixer(mixer_block)
            if mixing is not None:
                check_mixer(mixing, host_facts(copy))
            validate_config(copy, need_reference_policy(copy), need_critic(copy))
            omega_conf_to_dataclass(copy.actor_rollout_ref.rollout)
        except ConfigError:
            raise
        except (AssertionError, ValueError, TypeError, NotImplementedError, OmegaConfBaseException) as error:
            line = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ConfigError(f"verl refuses the configuration: {line}") from error


def _check_sampling(config: DictConfig) -> None:
    """Refuse what verl would drop silently with our sampler."""
    if config.algorithm.filter_groups.enable:
        raise ConfigError(
            "algorithm.filter_groups.enable=true would be dropped by verl with this trainer; use actuator=difffilter"
        )
    if config.data.train_max_samples not in (-1, None) and config.data.seed is None:
        raise ConfigError("data.train_max_samples without data.seed draws an unseeded subset; set seed")
