"""A run's `dataflex` block taken apart: what acts after the advantages, and what decides before the rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.config import MixerConfig, parse_mixer
from dataflex_rl.feed.prompt_config import PromptConfig, parse_prompts, take_prompts
from dataflex_rl.policy.split import split_block

RAW_OUTCOME = "raw_outcome"  # not a field of verl's batch: its `acc`, and where the verifier gives none the reward


@dataclass(frozen=True, kw_only=True)
class FeedConfig:
    """Mixer and prompt selector of a run, None where there is none; `domain_key`: column of the domains."""

    mixer: MixerConfig | None
    prompts: PromptConfig | None
    domain_key: str

    @property
    def acts(self) -> str | None:
        """What draws in place of verl's own order, for messages."""
        if self.prompts is not None:
            return f"prompt selector {self.prompts.name!r}"
        return None if self.mixer is None else f"mixer {self.mixer.name!r}"

    @property
    def requires(self) -> frozenset[str]:
        """Fields of a batch that are read besides the policy's."""
        fields = frozenset() if self.mixer is None else self.mixer.requires
        return fields if self.prompts is None else fields | {"rm_scores", RAW_OUTCOME}

    @property
    def oversample(self) -> float:
        """Prompts generated per prompt consumed."""
        return 1.0 if self.mixer is None else self.mixer.oversample

    def check_host(self, *, shadow: object, steps_of_batch: int) -> None:
        """Refuse what would undo the draws, or hand out outcomes in parts.

        Args:
            shadow: `dataflex.shadow`. steps_of_batch: verl's `parameter_sync_step`.

        Raises:
            ConfigError: a shadow run, or a batch that is cut in parts.
        """
        for part, rule in (("mixer", self.mixer), ("prompts", self.prompts)):
            if rule is not None and shadow:
                raise ConfigError(
                    f"dataflex.shadow=true acts as uniform, but {self.acts} would act; set dataflex.{part}.name to none"
                )
        if self.acts and steps_of_batch != 1:
            raise ConfigError(
                f"trainer.v1.sync.parameter_sync_step={steps_of_batch} cuts a batch in parts, which would break the "
                f"counts of {self.acts}; set it to 1"
            )


def take_feed(block: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a `dataflex` block into (policy block, {"mixer": ..., "prompts": ...}, both complete).

    Raises:
        ConfigError: as `take_prompts` and `split_block`.
    """
    rest, prompts = take_prompts(block)
    policy, mixer = split_block(rest)
    return policy, {"mixer": mixer, "prompts": prompts}


def parse_feed(blocks: Mapping[str, Any]) -> FeedConfig:
    """Check the blocks of `take_feed` and build their components.

    Raises:
        ConfigError: unknown name or parameter, wrong type, or a value out of range.
    """
    prompts = parse_prompts(blocks["prompts"])
    return FeedConfig(
        mixer=parse_mixer(blocks["mixer"]),
        prompts=None if prompts.name == "none" else prompts,
        domain_key=str(blocks["mixer"]["domain_key"]),
    )
