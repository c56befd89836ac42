"""A run's `dataflex` block taken apart: what acts after the advantages, and what decides before the rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.backfill import Backfill
from dataflex_rl.feed.budget_config import (
    BLOCKS,
    Budget,
    Knapsack,
    TwoPhase,
    parse_backfill,
    parse_budget,
    take_block,
)
from dataflex_rl.feed.config import MixerConfig, parse_mixer
from dataflex_rl.feed.prompt_config import PromptConfig, parse_prompts, take_prompts
from dataflex_rl.policy.split import split_block
from dataflex_rl.prompts.interface import PromptSelector

RAW_OUTCOME = "raw_outcome"  # not a field of verl's batch: its `acc`, and where the verifier gives none the reward


@dataclass(frozen=True, kw_only=True)
class FeedConfig:
    """What a run does before and while it generates, None where it does not; `domain_key`: column of the domains.

    With a budget or a backfill there is always a prompt selector, `none` if no other.
    """

    mixer: MixerConfig | None
    prompts: PromptConfig | None
    domain_key: str
    budget: Budget | None = None
    backfill: Backfill | None = None

    @property
    def acts(self) -> str | None:
        """What draws in place of verl's own order, for messages."""
        if self.prompts is not None and self.prompts.name != "none":
            return f"prompt selector {self.prompts.name!r}"
        if self.budget is not None:
            return f"budget {self.budget.name!r}"
        if self.backfill is not None:
            return "backfill"
        return None if self.mixer is None else f"mixer {self.mixer.name!r}"

    @property
    def _block(self) -> str:
        """The setting that switches off what `acts` names."""
        if self.prompts is not None and self.prompts.name != "none":
            return "prompts.name=none"
        if self.budget is not None:
            return "budget.name=none"
        return "mixer.name=none" if self.backfill is None else "backfill.enabled=false"

    @property
    def requires(self) -> frozenset[str]:
        """Fields of a batch that are read besides the policy's."""
        fields = frozenset() if self.mixer is None else self.mixer.requires
        return fields if self.prompts is None else fields | {"rm_scores", RAW_OUTCOME}

    @property
    def oversample(self) -> float:
        """Prompts generated per prompt consumed."""
        return 1.0 if self.mixer is None else self.mixer.oversample

    @property
    def gathers(self) -> bool:
        """Whether a step may generate more than once."""
        return self.backfill is not None or isinstance(self.budget, TwoPhase)

    def check_groups(self, *, n: int, batch: int, makes_groups: bool) -> None:
        """Refuse a budget or a backfill that does not fit the run.

        Args:
            n: responses of a prompt. batch: prompts of a step. makes_groups: responses of a prompt are compared.

        Raises:
            ConfigError: no groups, a budget that does not fit `n` and `batch`, or rates that nobody predicts.
        """
        if self.budget is None and self.backfill is None:
            return
        what = f"budget {self.budget.name!r}" if self.budget is not None else "backfill"
        if not makes_groups:
            raise ConfigError(f"{what} needs an advantage estimator that compares the responses of a prompt, as grpo")
        if self.budget is not None:
            self.budget.check(n, batch)
        if self.gathers and self.oversample > 1:
            raise ConfigError(
                f"dataflex.mixer.oversample={self.oversample:g} and {what} both generate beyond the batch; set "
                "dataflex.mixer.oversample=1"
            )
        predicts = self.prompts is not None and type(self.prompts.selector).rate_C is not PromptSelector.rate_C
        if isinstance(self.budget, Knapsack) and not predicts:
            name = "none" if self.prompts is None else self.prompts.name
            raise ConfigError(
                f"budget 'knapsack' needs predicted solve rates, but prompt selector {name!r} predicts none; use "
                "hierarchical, beta_thompson, or another that does"
            )

    def check_host(self, *, shadow: object, steps_of_batch: int) -> None:
        """Refuse what would undo the draws, or hand out outcomes in parts.

        Args:
            shadow: `dataflex.shadow`. steps_of_batch: verl's `parameter_sync_step`.

        Raises:
            ConfigError: a shadow run, or a batch that is cut in parts.
        """
        if self.acts and shadow:
            raise ConfigError(
                f"dataflex.shadow=true acts as uniform, but {self.acts} would act; switch it off as well "
                f"(dataflex.{self._block})"
            )
        if self.acts and steps_of_batch != 1:
            raise ConfigError(
                f"trainer.v1.sync.parameter_sync_step={steps_of_batch} cuts a batch in parts, which would break the "
                f"counts of {self.acts}; set it to 1"
            )


def take_feed(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a `dataflex` block into (policy block, {"mixer", "prompts", "budget", "backfill": ..., all complete}).

    Raises:
        ConfigError: as `take_prompts`, `take_block` and `split_block`.
    """
    rest, prompts = take_prompts(block)
    parts = {name: take_block(rest, name) for name in BLOCKS}
    policy, mixer = split_block({key: value for key, value in rest.items() if key not in BLOCKS})
    return policy, {"mixer": mixer, "prompts": prompts, **parts}


def parse_feed(blocks: Mapping[str, Any]) -> FeedConfig:
    """Check the blocks of `take_feed` and build their components.

    Raises:
        ConfigError: unknown name or parameter, wrong type, or a value out of range.
    """
    prompts, budget, backfill = (
        parse_prompts(blocks["prompts"]), parse_budget(blocks["budget"]), parse_backfill(blocks["backfill"])
    )  # fmt: skip
    return FeedConfig(
        mixer=parse_mixer(blocks["mixer"]),
        prompts=None if prompts.name == "none" and budget is None and backfill is None else prompts,
        budget=budget,
        backfill=backfill,
        domain_key=str(blocks["mixer"]["domain_key"]),
    )
