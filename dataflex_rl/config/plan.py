"""From a composed configuration to one that is checked and complete: names, paths, seed, policy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.components.settings import SETTINGS
from dataflex_rl.config.compose import changed
from dataflex_rl.config.local_model import place_template
from dataflex_rl.config.memory import memory_warnings
from dataflex_rl.config.mixing import settle_feed
from dataflex_rl.config.naming import GROUPS, check_name, method_name
from dataflex_rl.config.places import check_places
from dataflex_rl.config.regime import regime_name
from dataflex_rl.config.rows import count_rows
from dataflex_rl.config.sources import check_batches, check_files, check_model, missing, to_build
from dataflex_rl.config.wandb_copy import plan_copy
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import parse_feed, take_feed
from dataflex_rl.policy import Policy
from dataflex_rl.record import check_writable, record_path
from dataflex_rl.seeding import parse_seed


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would do. Tokens are an upper bound: every prompt and response at its longest."""

    method: str
    scorer: str
    actuator: str
    mixer: str
    prompt_selector: str
    model: str
    task: str
    regime: str
    benchmark: str
    host: str
    gpus: int
    seed: int
    steps: int
    prompts_per_step: int
    responses_per_prompt: int
    prompts: int
    responses: int
    tokens_at_most: int
    run_dir: str
    model_path: str
    chat_template: str
    train_files: str
    rows: list[str]
    wandb: str
    to_prepare: list[str]
    changed: list[str]
    warnings: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return asdict(self)


def settle(config: DictConfig, arguments: Sequence[str] = ()) -> Plan:
    """Check the configuration without verl, fill in names and the record's folder, and return the plan.

    The arguments are those the configuration was composed from; the plan shows which settings they change.

    Raises:
        ConfigError: anything that would make the run wrong or impossible.
    """
    SETTINGS["runs_dir"].check(config.runs_dir)
    with open_dict(config):
        config.seed, regime = parse_seed(config.seed), regime_name(config)
        given = OmegaConf.to_container(config.dataflex, resolve=True)
        assert isinstance(given, dict)
        policy_block, drawing = take_feed({str(key): value for key, value in given.items()})
        Policy.from_config(policy_block)
        feed = parse_feed(drawing)
        block = {**policy_block, **drawing}  # a mixer that stood in the actuator is named as a mixer
        config.method_name = check_name("method_name", config.get("method_name") or method_name(block))
        if config.run_dir is None:
            config.run_dir = str(
                record_path(
                    config.runs_dir,
                    sweep=check_name("sweep", config.sweep),
                    model=check_name("model_name", config.model_name),
                    task=check_name("task_name", config.task_name) + ("" if regime == "full" else f"+{regime}"),
                    method=config.method_name,
                    seed=config.seed,
                )
            )
    copy = plan_copy(config, os.environ)
    check_model(config)
    template = place_template(config)
    check_files(config)
    check_places(config)
    settle_feed(config, feed)
    check_writable(config.runs_dir, create=not config.dry_run)
    plan = make_plan(config, block, changed(arguments), wandb=copy[0], chat_template=template[0])
    warned = check_batches(config)
    rows = count_rows(config)
    lines = [entry.line(key) for key, entry in rows.items()]
    warned += [entry.line(key) for key, entry in rows.items() if entry.needs_a_look]
    return replace(plan, rows=lines, warnings=[*plan.warnings, *template[1], *copy[1], *warned])


def make_plan(
    config: DictConfig, block: dict[str, Any], changes: Sequence[str] = (), *, wandb: str, chat_template: str
) -> Plan:
    """Return the plan of a settled configuration, its rows not counted; changes: the settings that the user gave."""
    steps = _count(config, "trainer.total_training_steps")
    if config.get("steps", steps) != steps:
        raise ConfigError(f"steps={config.steps}: it repeats trainer.total_training_steps={steps}; set that one")
    per_step = _count(config, "data.train_batch_size")
    group = _count(config, "actor_rollout_ref.rollout.n")
    longest = sum(_count(config, f"data.max_{part}_length") for part in ("prompt", "response"))
    names = {part: str((block.get(part) or {}).get("name") or "none") for part in GROUPS}
    selector = names.pop("prompts")
    if block.get("chain"):
        names["scorer"] = " > ".join(str((link.get("scorer") or {}).get("name")) for link in block["chain"])
        names["actuator"] = " > ".join(str(link["actuator"]["name"]) for link in block["chain"])
    return Plan(
        method=config.method_name,
        **names,
        prompt_selector=selector,
        model=config.model_name,
        task=config.task_name,
        regime=regime_name(config),
        benchmark=config.benchmark_name,
        host=config.host.name,
        gpus=int(config.host.get("gpus") or 0),
        seed=config.seed,
        steps=steps,
        prompts_per_step=per_step,
        responses_per_prompt=group,
        prompts=steps * per_step,
        responses=steps * per_step * group,
        tokens_at_most=steps * per_step * group * longest,
        run_dir=config.run_dir,
        model_path=str(config.actor_rollout_ref.model.path),
        chat_template=chat_template,
        train_files=str(config.data.train_files),
        rows=[],
        wandb=wandb,
        to_prepare=missing(to_build(config)),
        changed=list(changes),
        warnings=memory_warnings(config),
    )


def _count(config: DictConfig, key: str) -> int:
    """Return a setting that counts something."""
    return int(SETTINGS[key].check(OmegaConf.select(config, key)))
