"""The schema of our settings: kind, range, default and what is expected of each, in one table.

Errors, `dataflex-rl list --settings` and `docs/configuration.md` are made from it. A parameter of a component is not
here: its dataclass is its schema. verl's keys are verl's; where `conf/` gives one a value, that value is its kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dataflex_rl.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting. `default`: where a configuration does not say; `help`: where no YAML file has a comment on it.

    A number lies in [least, most], in (above, ...) and in (..., below); `finite`: it is finite, too. `null`: the
    setting may be null.
    """

    key: str
    kind: type = object
    expected: str
    default: Any = None
    least: float = -math.inf
    above: float = -math.inf
    most: float = math.inf
    below: float | None = None
    choices: tuple[str, ...] = ()
    finite: bool = True
    null: bool = False
    help: str = ""

    def check(self, value: Any, *, where: str | None = None) -> Any:
        """Return the value, an integer for a number as a float.

        Args:
            value: as a YAML file or a command line gives it.
            where: what the error calls the setting, if not by its key.

        Raises:
            ConfigError: another kind, or out of range.
        """
        if value is None and self.null:
            return None
        if not self._fits(value):
            raise self.refusal(value, where=where)
        return float(value) if self.kind is float else value

    def refusal(self, value: Any, *, where: str | None = None) -> ConfigError:
        """Return the error for a value; the `dataflex` block is also given as plain data, so not as KEY=VALUE."""
        if where is not None or self.key.startswith("dataflex."):
            return ConfigError(f"{where or self.key} must be {self.expected}, got {value!r}")
        return ConfigError(f"{self.key}={value!r}: expected {self.expected}")

    def _fits(self, value: Any) -> bool:
        if self.choices:
            return isinstance(value, str) and value in self.choices
        if self.kind in (int, float):
            if isinstance(value, bool) or not isinstance(value, int if self.kind is int else (int, float)):
                return False
            if not self.least <= value <= self.most or (self.finite and not math.isfinite(value)):
                return False
            return self.above < value and (self.below is None or value < self.below)
        return isinstance(value, self.kind) and value != ""


def _table(*settings: Setting) -> dict[str, Setting]:
    return {setting.key: setting for setting in settings}


def _count(key: str, unit: str) -> Setting:
    return Setting(key=key, kind=int, least=1, expected=f"an integer >= 1 [{unit}]")


def _steps(key: str, least: int, default: int) -> Setting:
    return Setting(key=key, kind=int, least=least, default=default, expected=f"an integer >= {least} [steps]")


def _responses(name: str, least: int, default: int | None = None) -> Setting:
    return Setting(
        key=f"dataflex.budget.{name}", kind=int, least=least, default=default, null=default is None,
        expected=f"an integer >= {least} [responses]{', or null' if default is None else ''}",
    )  # fmt: skip


def _flag(key: str, *, null: bool = False) -> Setting:
    return Setting(key=key, kind=bool, default=None if null else False, null=null, expected="true or false")


def _amount(key: str, default: float | None, unit: str, text: str) -> Setting:
    return Setting(
        key=key, kind=float, least=0, default=default, null=default is None, expected=f"a number >= 0 {unit}".strip(),
        help=text,
    )  # fmt: skip


_DOMAINS = "null, a list of domain names, or a mapping {new name: [domain names]}"
_NORMALIZE = "none or kept for a selector, response or token for a reweighter; null: none, else what fits the score"
SETTINGS = _table(
    Setting(key="dataflex.warmup_step", kind=int, least=0, default=0, expected="a number of steps >= 0"),
    _flag("dataflex.shadow"),
    _flag("dataflex.trace"),
    _flag("dataflex.weight_kl"),
    _flag("dataflex.group_estimator", null=True),
    Setting(key="dataflex.chain", kind=list, null=True, expected="null or a list of {scorer, actuator} pairs"),
    Setting(key="dataflex.actuator.normalize", null=True, expected=_NORMALIZE),
    Setting(key="dataflex.actuator.cap", kind=float, least=1, finite=False, null=True,
            expected="null or a largest weight >= 1"),
    Setting(key="dataflex.actuator.on_empty", choices=("zero", "skip_update", "keep_all"), default="zero",
            expected="one of zero, skip_update, keep_all"),
    Setting(key="dataflex.mixer.name", kind=str, default="none", expected="the name of a mixer, or none"),
    Setting(key="dataflex.mixer.params", kind=dict, default={}, expected="a mapping of the mixer's parameters"),
    Setting(key="dataflex.mixer.scorer", kind=dict, null=True, expected="null or {name, params} of a scorer"),
    Setting(key="dataflex.mixer.domains", null=True, expected=_DOMAINS),
    Setting(key="dataflex.mixer.domain_key", kind=str, default="domain", expected="the name of a dataset column"),
    _steps("dataflex.mixer.window", 1, 50),
    _steps("dataflex.mixer.warmup_step", 0, 1),
    _steps("dataflex.mixer.update_step", 1, 1),
    Setting(key="dataflex.mixer.oversample", kind=float, least=1, default=1.0,
            expected="a number >= 1.0 (prompts generated per prompt consumed)"),
    Setting(key="dataflex.prompts.name", kind=str, default="none", expected="the name of a prompt selector, or none"),
    Setting(key="dataflex.prompts.params", kind=dict, default={}, expected="a mapping of the selector's parameters"),
    Setting(key="dataflex.prompts.buckets", kind=list, default=[], expected="a list of dataset columns"),
    Setting(key="dataflex.prompts.success_threshold", kind=float, default=0.5, expected="a number"),
    Setting(key="dataflex.budget.name", choices=("none", "knapsack", "two_phase"), default="none",
            expected="one of none, knapsack, two_phase"),
    _responses("n_min", 0, 2),
    _responses("n_max", 1),
    _responses("total", 1),
    _responses("n_init", 0, 2),
    _responses("n_continue", 0),
    _flag("dataflex.backfill.enabled"),
    Setting(key="dataflex.backfill.max_rounds", kind=int, least=0, default=3, expected="an integer >= 0"),
    Setting(key="dataflex.backfill.max_tokens_factor", kind=float, least=1, default=2.0,
            expected="a number >= 1 (plain batches)"),
    Setting(key="dataflex.backfill.on_short", choices=("train_short", "fill_constant", "skip_update"),
            default="train_short", expected="one of train_short, fill_constant, skip_update"),
    Setting(key="dataflex.backfill.carry", kind=bool, default=True, expected="true or false"),
    Setting(key="regime.data_fraction", kind=float, above=0, most=1, default=1.0,
            expected="a share above 0, at most 1"),
    Setting(key="regime.label_noise", kind=float, least=0, below=1, default=0.0, expected="a share from 0 to below 1"),
    Setting(key="wandb.mode", choices=("offline", "online", "disabled"), null=True,
            expected="one of offline, online, disabled, or null"),
    Setting(key="runs_dir", kind=str, default="runs", expected="the path of a folder"),
    Setting(key="stop_at.tokens", kind=int, least=1, null=True, expected="an integer >= 1 [tokens], or null"),
    _count("trainer.total_training_steps", "steps"),
    _count("data.train_batch_size", "prompts"),
    _count("actor_rollout_ref.rollout.n", "responses per prompt"),
    _count("data.max_prompt_length", "tokens"),
    _count("data.max_response_length", "tokens"),
    Setting(key="ray.address", kind=str, null=True, expected="the address of a Ray cluster, or null",
            help="an existing Ray cluster for a sweep; null: a local instance for this sweep alone"),
    Setting(key="launcher.max_concurrent", kind=int, least=1, null=True, expected="an integer >= 1",
            help="most runs at once; null: as many as the cluster holds"),
    _amount("launcher.cpus", None, "", "CPUs that a run asks Ray for; null: 2 without GPUs, 4 per GPU"),
    _amount("launcher.gpus", None, "", "GPUs that a run asks Ray for; null: what its host says"),
    Setting(key="launcher.timeout", kind=float, above=0, null=True,
            expected="a number above 0 [s], or null for no bound",
            help="a run that takes longer is ended and counts as failed [s]"),
    Setting(key="launcher.retries", kind=int, least=0, default=2, expected="an integer >= 0",
            help="further attempts at a run that failed"),
    Setting(key="launcher.lost_retries", kind=int, least=0, default=10, expected="an integer >= 0",
            help="further attempts at a run whose machine vanished, or whose record another process holds"),
    _amount("launcher.backoff", 10.0, "[s]", "wait before the first retry, doubled with each up to ten minutes [s]"),
    Setting(key="launcher.fail_fast", kind=bool, default=False, expected="true or false",
            help="end the sweep with the first run that has failed for good"),
    _amount("launcher.patience", 10.0, "[s]", "what a run gets to end in order before it is killed [s]"),
)  # fmt: skip


def block_defaults(prefix: str) -> dict[str, Any]:
    """Return {name: default} of the settings of one block, as `dataflex.mixer`."""
    return {
        key.removeprefix(f"{prefix}."): setting.default
        for key, setting in SETTINGS.items()
        if key.startswith(f"{prefix}.")
    }
