"""One call that applies a data policy to plain Python data, for notebooks and other hosts. Imports torch only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import Policy, split_block
from dataflex_rl.policy.link import Link
from dataflex_rl.policy.signals import FIELD_NAMES, split_N, to_batch


@dataclass(frozen=True, kw_only=True)
class PolicyResult:
    """What a policy decided.

    `scores`: float64 [B], or a list of B per-token tensors for token-granular policies, or None for uniform; of a chain
    the last link's. `keep`: B bools, None unless the policy selects. `weights`: B float32 tensors, one weight per token
    (0 where response_mask is 0). `metrics`: as logged in a run. `trace`: one dict per response if `trace` is set.
    `skip_update`: nothing was kept and the policy wants no optimizer step.
    """

    scores: Tensor | list[Tensor] | None
    keep: list[bool] | None
    weights: list[Tensor]
    metrics: dict[str, float]
    trace: Sequence[Mapping[str, Any]] = ()
    skip_update: bool = False


def apply_policy(config: Mapping[str, Any], signals: Mapping[str, Any], *, step: int = 1) -> PolicyResult:
    """Apply the policy of a `dataflex` block to one batch of B responses.

    `config`: the block as a dict, or {"method": "maxvar"}, whose values the other keys override. `signals`: `uid` (B
    strings, the group of each response), `reward` (B numbers) and, where the policy needs them, `advantages` and
    `old_log_probs` (B sequences of one number per token), `response_mask` (the same shape, 0 or 1, default all 1),
    `acc` (B numbers, the raw outcome), `domain` (B strings), `response_id` (B strings or integers; ties go to the
    smaller, else to the earlier position). Without any per-token signal a response counts as one token.
    `step` counts from 1 and matters for `warmup_step` only.

    Raises:
        ConfigError: the configuration does not fit, or names a mixer (which acts on prompts, not on a batch).
        SignalError (a ConfigError): a signal is missing, ragged, of a wrong length or type, or has a NaN or Inf.
    """
    policy_block, mixer = split_block(_resolved(config))
    if mixer["name"] != "none":
        raise ConfigError(f"mixer {mixer['name']!r} draws prompts and does nothing to a batch; set the mixer to none")
    policy = Policy.from_config(policy_block)
    reads_length = any(_reads_length(link) for link in policy.config.links)
    batch = to_batch(signals, policy.requires, reads_length)
    decision = policy.apply(batch, step=step, field_names=FIELD_NAMES)
    scores: Tensor | list[Tensor] | None = decision.score_B
    if decision.score_N is not None:
        scores = split_N(decision.score_N, batch.offset_B1)
    return PolicyResult(
        scores=scores,
        keep=None if decision.keep_B is None else decision.keep_B.tolist(),
        weights=split_N(decision.weight_N.to(torch.float32), batch.offset_B1),
        metrics=dict(decision.metrics),
        trace=decision.trace,
        skip_update=decision.skip_update,
    )


def _resolved(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace `method` by the block it names, overridden by the other keys."""
    if not isinstance(config, Mapping) or "method" not in config:
        return config
    from dataflex_rl.config.methods import merged, method_block  # reads YAML, which a plain block does not need

    rest = {key: value for key, value in config.items() if key != "method"}
    return merged(method_block(config["method"]), rest)


def _reads_length(link: Link) -> bool:
    """Whether the length of a response matters: the actuator asks for the mask, or weights count per token."""
    return "response_mask" in link.actuator_spec.requires or (link.normalize == "token" and not link.per_token)
