"""A data policy: links in order, warm-up, shadow mode, empty batches."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dataflex_rl.components.batch import Batch
from dataflex_rl.components.segments import masked_sum_B
from dataflex_rl.errors import ConfigError
from dataflex_rl.policy import metrics as m
from dataflex_rl.policy.checks import HostFacts, check_host, kept_unit
from dataflex_rl.policy.config import PolicyConfig, parse
from dataflex_rl.policy.decision import Decision
from dataflex_rl.policy.link import Link, Outcome, run_link
from dataflex_rl.policy.split import split_block
from dataflex_rl.policy.trace import trace_rows
from dataflex_rl.scorers import GroupSolve

logger = logging.getLogger("dataflex_rl")

ALWAYS = frozenset({"rm_scores", "response_mask", "uid"})  # the metrics of every run, uniform too, read these


@dataclass(kw_only=True)
class _Plan:
    """What the links want, before warm-up and shadow mode have their say.

    `emptied`: a link dropped everything that reached it; `empty`: and nothing was left (keep_all did not undo it).
    """

    weight_B: Tensor
    keep_B: Tensor | None = None
    factor_N: Tensor | None = None
    outcome: Outcome | None = None
    reasons: list[str] = field(default_factory=lambda: ["no_tokens"])
    reason_B: Tensor
    empty: bool = False
    emptied: bool = False
    skip: bool = False
    metrics: dict[str, float] = field(default_factory=dict)


class Policy:
    """The select and reweight part of a run. Not safe for use from several threads at once."""

    def __init__(self, config: PolicyConfig) -> None:
        self.config = config
        self.empty_steps = 0
        self._kept_unit = "token"
        self._noticed: set[int] = set()

    @classmethod
    def from_config(cls, block: Mapping[str, Any]) -> Policy:
        """Build from the `dataflex` block; its mixer part is checked for shape and left to the mixers.

        Raises:
            ConfigError: anything unknown, misspelt, of a wrong type, out of range or not fitting together.
        """
        return cls(parse(split_block(block)[0]))

    @property
    def kind(self) -> str:
        """uniform, select, reweight or chain."""
        if self.config.chained:
            return "chain"
        return self.config.links[0].actuator_spec.kind if self.config.links else "uniform"

    @property
    def name(self) -> str:
        """Names of the actuators, joined by +; uniform without any."""
        return "+".join(link.actuator_spec.name for link in self.config.links) or "uniform"

    @property
    def requires(self) -> frozenset[str]:
        """Fields of verl's batch that `apply` reads."""
        return ALWAYS.union(*(link.fields for link in self.config.links))

    def check(self, facts: HostFacts) -> None:
        """Check the host once, at mount time; also notes what the loss's denominator counts (`normalize: kept`).

        Raises:
            ConfigError: the policy could not be computed on this host, or would not act.
        """
        if facts.group_estimator is None and self.config.group_estimator is not None:
            facts = HostFacts(**{**vars(facts), "group_estimator": self.config.group_estimator})
        check_host(self.config.links, facts, acts=not self.config.shadow)
        self._kept_unit = kept_unit(facts.loss_agg_mode)

    def apply(self, batch: Batch, step: int, field_names: dict[str, str] | None = None) -> Decision:
        """Decide about one batch. `step` counts from 1; up to `warmup_step` the policy acts as uniform.

        Raises:
            SignalError: a required field is missing, or has a NaN or Inf (named through `field_names`).
        """
        with torch.no_grad():
            batch.check_finite(self.requires, step, field_names)
            plan = self._plan(batch)
            acts = not self.config.shadow and step > self.config.warmup_step
            done = plan if acts else _Plan(weight_B=batch.live_B.double(), reason_B=plan.reason_B)
            planned = m.summarize(batch, plan.weight_B, plan.factor_N, plan.keep_B)
            weights = planned if acts else m.summarize(batch, done.weight_B, None, None)
            self.empty_steps += int(acts and plan.emptied)
            return Decision(
                batch=batch,
                weight_B=done.weight_B,
                factor_N=done.factor_N,
                keep_B=done.keep_B,
                score_B=plan.outcome.score_B if plan.outcome else None,
                score_N=plan.outcome.score_N if plan.outcome else None,
                acts=acts,
                metrics=self._metrics(batch, plan, planned, weights, acts),
                trace=self._trace(batch, step, plan, planned, acts) if self.config.trace else (),
                skip_update=acts and plan.skip,
            )

    def state_dict(self) -> dict[str, Any]:
        """State to resume from. A component without state says so with null; every built-in one is without."""
        return {
            "policy": self.name,
            "empty_steps": self.empty_steps,
            "links": [
                {"scorer": _state(link.scorer, link.scorer_spec.stateful, link.scorer_spec.name),
                 "actuator": _state(link.actuator, link.actuator_spec.stateful, link.actuator_spec.name)}
                for link in self.config.links
            ],
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ConfigError: the state is of another policy, or lacks the state of a stateful component.
        """
        if state.get("policy") != self.name or len(state.get("links", ())) != len(self.config.links):
            raise ConfigError(f"the saved state is of policy {state.get('policy')!r}, but this run has {self.name!r}")
        for link, saved in zip(self.config.links, state["links"], strict=True):
            for role, part, spec in (
                ("scorer", link.scorer, link.scorer_spec),
                ("actuator", link.actuator, link.actuator_spec),
            ):
                if bool(saved[role]) != spec.stateful:
                    raise ConfigError(f"{role} {spec.name!r}: the saved state does not fit (stateful={spec.stateful})")
                if spec.stateful:
                    part.load_state_dict(saved[role])
        self.empty_steps = int(state["empty_steps"])

    def _plan(self, batch: Batch) -> _Plan:
        """Run the links in order; each acts on what the earlier ones kept."""
        pool_B = batch.live_B
        reason_B = torch.where(batch.real_B & ~pool_B, 0, -1)
        plan = _Plan(weight_B=pool_B.double(), reason_B=reason_B, empty=not bool(pool_B.any()))
        plan.emptied = plan.empty
        for index, link in enumerate(self.config.links):
            if plan.empty:
                break
            plan.outcome = run_link(link, batch, pool_B, self._kept_unit)
            self._merge(plan, plan.outcome, link)
            if self.config.chained:
                plan.metrics |= _link_metrics(batch, index, link, plan.outcome, pool_B)
            self._notice(index, link, plan.outcome, pool_B)
            pool_B = pool_B if plan.keep_B is None else plan.keep_B
        if plan.keep_B is None and any(link.selects for link in self.config.links):
            plan.keep_B = torch.zeros_like(batch.live_B)
        return plan

    def _merge(self, plan: _Plan, outcome: Outcome, link: Link) -> None:
        plan.weight_B = plan.weight_B * outcome.weight_B
        if outcome.factor_N is not None:
            plan.factor_N = outcome.factor_N if plan.factor_N is None else plan.factor_N * outcome.factor_N
        if outcome.keep_B is not None:
            plan.keep_B = outcome.keep_B
            shifted_B = outcome.reason_B + len(plan.reasons)
            plan.reason_B = torch.where(outcome.reason_B >= 0, shifted_B, plan.reason_B)
            plan.reasons += outcome.reasons
        plan.empty = outcome.empty and link.on_empty != "keep_all"
        plan.skip = outcome.empty and link.on_empty == "skip_update"
        plan.emptied |= outcome.empty

    def _notice(self, index: int, link: Link, outcome: Outcome, pool_B: Tensor) -> None:
        """Say once what a component wants said when its weights are all equal."""
        text = getattr(link.actuator, "notice", None)
        if text is None or index in self._noticed:
            return
        weight = outcome.weight_B[pool_B]
        if outcome.factor_N is None and bool((weight == weight[0]).all()):
            self._noticed.add(index)
            logger.warning("%s: %s", link.actuator_spec.name, text)

    def _metrics(
        self, batch: Batch, plan: _Plan, planned: m.Weights, weights: m.Weights, acts: bool
    ) -> dict[str, float]:
        """What was done; where the policy does not act, also what it would have done, under `dataflex/shadow/`."""
        out = {m.PREFIX + "acting": float(acts), m.PREFIX + "empty_steps": float(self.empty_steps)}
        out |= m.group_metrics(batch, *self._solved(batch))
        expected = {m.PREFIX + "empty_step": float(plan.emptied)} | plan.metrics
        expected |= m.step_metrics(batch, planned, plan.reasons, plan.reason_B)
        if acts:
            return out | expected
        out |= m.step_metrics(batch, weights, plan.reasons[:1], torch.where(plan.reason_B == 0, 0, -1))
        out[m.PREFIX + "empty_step"] = 0.0
        shadow = m.PREFIX + "shadow/"
        return out | {shadow + key.removeprefix(m.PREFIX): value for key, value in expected.items()}

    def _solved(self, batch: Batch) -> tuple[Tensor, float]:
        """Outcome and threshold by which a group counts as solved: those of the policy's scorer where it has them."""
        for link in self.config.links:
            if isinstance(link.scorer, GroupSolve):
                return batch.outcome(link.scorer.signal), link.scorer.success_threshold
        return batch.outcome_B, 0.5

    def _trace(self, batch: Batch, step: int, plan: _Plan, planned: m.Weights, acts: bool) -> list[dict[str, Any]]:
        score_B = plan.outcome.score_B if plan.outcome else None
        if plan.outcome is not None and plan.outcome.score_N is not None:
            score_B = masked_sum_B(plan.outcome.score_N, batch.mask_N, batch.offset_B1) / batch.length_B.clamp(min=1)
        reason = [plan.reasons[code] if code >= 0 else "" for code in plan.reason_B.tolist()]
        return trace_rows(batch, step, score_B, planned.mean_B, planned.kept_B, reason, acts)


def _link_metrics(batch: Batch, index: int, link: Link, outcome: Outcome, pool_B: Tensor) -> dict[str, float]:
    """Metrics of one link of a chain, over the responses that reached it."""
    prefix = f"{m.PREFIX}link{index}_{link.actuator_spec.name}/"
    weights = m.summarize(batch, outcome.weight_B, outcome.factor_N, outcome.keep_B)
    weight = weights.mean_B[pool_B]
    kept = weight.numel() if outcome.keep_B is None else int(outcome.keep_B.sum())
    return {
        prefix + "kept_frac": kept / weight.numel(),
        prefix + "weight_mean": float(weight.mean()),
        prefix + "weight_std": float(weight.std(correction=0)),
        prefix + "weight_min": float(weight.min()),
        prefix + "weight_max": float(weight.max()),
        **m.drop_metrics(outcome.reasons, outcome.reason_B, prefix),
    }


def _state(part: Any, stateful: bool, name: str) -> Any:
    if not stateful:
        return None
    state = part.state_dict()
    if not state:
        raise ConfigError(f"component {name!r} is declared stateful, but its state_dict() is empty")
    return state
