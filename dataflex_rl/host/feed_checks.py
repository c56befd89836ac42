"""Has a run what its mixer, prompt selector, budget and backfill need?"""

from __future__ import annotations

from omegaconf import DictConfig, OmegaConf

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig
from dataflex_rl.feed.config import MixerConfig
from dataflex_rl.host.agent_loop import MANAGER
from dataflex_rl.policy import GROUP_ESTIMATORS, HostFacts


def check_feed(config: FeedConfig, run: DictConfig, facts: HostFacts) -> None:
    """Check once that a run has what mixer and prompt selector need.

    Raises:
        ConfigError: it has not.
    """
    sync = run.trainer.v1.get("sync") or {}
    config.check_host(
        shadow=run.get("dataflex", {}).get("shadow", False), steps_of_batch=sync.get("parameter_sync_step", 1)
    )
    if config.prompts is not None and run.data.get("seed") is None:
        raise ConfigError(f"{config.acts} needs data.seed: without it verl shuffles unseeded, and no run could resume")
    config.check_groups(
        n=facts.rollout_n, batch=int(run.data.train_batch_size), makes_groups=facts.makes_groups and facts.rollout_n > 1
    )
    if config.gathers:
        check_rounds(config, run)
    if config.mixer is not None:
        check_mixer(config.mixer, facts)


def check_rounds(config: FeedConfig, run: DictConfig) -> None:
    """Refuse what would not generate in rounds: a replay buffer or agent loop workers that are not ours, rewards that
    are not known when a round ends, and recorded rollouts.

    Raises:
        ConfigError: the run has one.
    """
    sampler = (run.trainer.v1.sampler.get("custom_sampler") or {}).get("path")
    manager = run.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class")
    what = "backfill" if config.backfill is not None else "budget 'two_phase'"
    if sampler:
        raise ConfigError(
            f"{what} needs our replay buffer, but trainer.v1.sampler.custom_sampler.path={sampler}; unset it"
        )
    reward = run.reward.reward_model
    if reward.enable and not reward.enable_resource_pool:
        raise ConfigError(
            f"{what} needs the rewards when a round ends, but a colocated reward model gives them after the last; set "
            "reward.reward_model.enable_resource_pool=true"
        )
    if OmegaConf.select(run, "skip.rollout_tq.enable"):
        raise ConfigError(
            f"{what} generates in rounds, which skip.rollout_tq.enable=true would leave out; set it to false"
        )
    if manager not in (None, MANAGER):
        raise ConfigError(
            f"{what} needs actor_rollout_ref.rollout.agent.agent_loop_manager_class={MANAGER}, got {manager}"
        )


def check_mixer(config: MixerConfig, facts: HostFacts) -> None:
    """Check once that the run has what the mixer's statistic needs.

    Raises:
        ConfigError: a batch field is missing, or a scorer of groups meets an estimator that makes none.
    """
    if missing := sorted(config.requires - facts.fields):
        raise ConfigError(
            f"mixer {config.name!r} averages {config.statistic!r}, which requires the batch field {missing[0]!r}, but "
            f"the host provides {', '.join(sorted(facts.fields))}"
        )
    scorer = config.scorer_spec
    if scorer is not None and scorer.needs_groups and not (facts.makes_groups and facts.rollout_n > 1):
        raise ConfigError(
            f"dataflex.mixer.scorer {scorer.name!r} needs groups, but algorithm.adv_estimator={facts.adv_estimator!r} "
            f"with rollout.n={facts.rollout_n} makes none; use one of {', '.join(GROUP_ESTIMATORS)} and n above 1"
        )
