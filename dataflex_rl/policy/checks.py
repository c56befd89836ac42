"""What a host must provide, checked once at mount time, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dataflex_rl.components.registry import TIMINGS, Spec, lookup, names
from dataflex_rl.errors import ConfigError
from dataflex_rl.policy.link import Link, fields_of

# Estimators of verl 0.9.1 that compare the responses of one prompt; gae, remax and reinforce_plus_plus do not.
GROUP_ESTIMATORS = (
    "grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gdpo", "reinforce_plus_plus_baseline",
    "gpg",
)  # fmt: skip
MOUNT = "post_advantage"


@dataclass(frozen=True, kw_only=True)
class HostFacts:
    """What the host runs with. `group_estimator` overrides the built-in list for custom estimators.

    `fields` are the batch fields it can hand over, under verl's names.
    """

    adv_estimator: str
    rollout_n: int
    group_estimator: bool | None = None
    loss_mode: str = "vanilla"
    bypass_mode: bool = False
    fields: frozenset[str] = field(default_factory=frozenset)
    loss_agg_mode: str = "token-mean"

    @property
    def makes_groups(self) -> bool:
        """Whether the estimator compares the responses of one prompt."""
        if self.group_estimator is not None:
            return self.group_estimator
        return self.adv_estimator in GROUP_ESTIMATORS


def kept_unit(loss_agg_mode: str) -> str:
    """What `normalize: kept` counts: the unit of the loss's denominator (a token sum has none)."""
    if loss_agg_mode == "token-sum":
        return "none"
    return "response" if loss_agg_mode.startswith("seq-mean") else "token"


def check_pair(scorer: Spec, actuator: Spec) -> None:
    """Refuse a scorer whose granularity the actuator does not take, or whose timing is after the mount point."""
    if scorer.granularity[0] not in actuator.granularity:
        fits = [name for name in names("scorer") if lookup("scorer", name).granularity[0] in actuator.granularity]
        raise ConfigError(
            f"actuator {actuator.name!r} takes a score per {' or '.join(actuator.granularity)}, but scorer "
            f"{scorer.name!r} gives one per {scorer.granularity[0]}; use one of {', '.join(fits) or '(none)'}"
        )
    if TIMINGS.index(scorer.timing) > TIMINGS.index(MOUNT):
        raise ConfigError(
            f"scorer {scorer.name!r} is computed {scorer.timing}, but actuator {actuator.name!r} acts {MOUNT}; "
            f"use a scorer of timing {', '.join(TIMINGS[: TIMINGS.index(MOUNT) + 1])}"
        )


def check_host(links: Sequence[Link], facts: HostFacts, acts: bool) -> None:
    """Refuse a host in which a link could not be computed or would not act. `acts`: False in shadow mode.

    Raises:
        ConfigError: one line that names the component, what it wants and what the host has.
    """
    for link in links:
        _check_fields(link, facts)
        _check_groups(link, facts)
        if acts:
            _check_loss(link, facts)


def _check_fields(link: Link, facts: HostFacts) -> None:
    for role, component, spec in (
        ("scorer", link.scorer, link.scorer_spec),
        ("actuator", link.actuator, link.actuator_spec),
    ):
        missing = sorted(fields_of(component, spec) - facts.fields)
        if missing:
            raise ConfigError(
                f"{role} {spec.name!r} requires the batch field {missing[0]!r}, but the host provides "
                f"{', '.join(sorted(facts.fields)) or '(none)'}"
            )


def _check_groups(link: Link, facts: HostFacts) -> None:
    scorer, actuator = link.scorer_spec, link.actuator_spec
    if scorer.needs_groups and not facts.makes_groups:
        raise ConfigError(
            f"scorer {scorer.name!r} needs groups, but algorithm.adv_estimator={facts.adv_estimator!r} makes none; use "
            f"one of {', '.join(GROUP_ESTIMATORS)}, or set dataflex.group_estimator=true if yours compares a prompt's "
            "responses"
        )
    for role, spec in (("scorer", scorer), ("actuator", actuator)):
        if spec.needs_groups and facts.rollout_n < 2:
            raise ConfigError(
                f"{role} {spec.name!r} needs groups, but rollout.n={facts.rollout_n} makes groups of one; "
                "set actor_rollout_ref.rollout.n to 2 or more"
            )


def _check_loss(link: Link, facts: HostFacts) -> None:
    name = link.actuator_spec.name
    if facts.bypass_mode or facts.loss_mode == "bypass_mode":
        setting = "rollout_correction.bypass_mode=true" if facts.bypass_mode else "policy_loss.loss_mode='bypass_mode'"
        raise ConfigError(
            f"actuator {name!r} acts through rollout_is_weights, which {setting} ignores; use another policy loss "
            "(for example vanilla) or dataflex.shadow=true"
        )
    if link.per_token and facts.loss_mode == "geo_mean":
        raise ConfigError(
            f"actuator {name!r} weighs tokens, but policy_loss.loss_mode='geo_mean' folds token weights into a "
            "geometric mean, so that one weight of 0 crushes its response; use a response-granular actuator or another "
            "policy loss"
        )
