"""From a command line to the frozen plan of a run: composed once, checked, complete; everything after takes the plan.

verl's own checks need verl, and so are the host's (`dataflex_rl.host.validate`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.components.settings import SETTINGS
from dataflex_rl.config.compose import changed, composed
from dataflex_rl.config.local_model import place_template
from dataflex_rl.config.memory import memory_warnings
from dataflex_rl.config.mixing import resolve_feed
from dataflex_rl.config.naming import GROUPS, check_name, method_name, selection
from dataflex_rl.config.places import check_places
from dataflex_rl.config.plain import plain
from dataflex_rl.config.regime import regime_name
from dataflex_rl.config.rows import count_rows
from dataflex_rl.config.sources import check_batches, check_files, check_model, missing, to_build
from dataflex_rl.config.wandb_copy import plan_copy
from dataflex_rl.errors import ConfigError
from dataflex_rl.feed.blocks import FeedConfig, parse_feed, take_feed
from dataflex_rl.policy import Policy
from dataflex_rl.record import check_writable, record_path, write_json
from dataflex_rl.record.files import read_object
from dataflex_rl.seeding import parse_seed


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would do. Tokens are an upper bound: every prompt and response at its longest.

    `settings` is its whole configuration, resolved; model and data that are known by name stand there by name.
    """

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
    settings: Mapping[str, Any] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, without the settings."""
        return {key: value for key, value in asdict(self).items() if key != "settings"}

    def write(self, path: Path) -> None:
        """Write the plan to a file, from which another process reads it; RecordError where the disk refuses."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Return the plan in a file.

        Raises:
            ConfigError: no such file, or none that `write` wrote; RecordError: it cannot be read.
        """
        found = read_object(path)
        if found is None or set(found) != {item.name for item in fields(cls)}:
            raise ConfigError(f"plan={path}: {'no such file' if found is None else 'not the plan of a run'}")
        return cls(**found)


def plan_runs(arguments: Sequence[str], seeds: Sequence[int] = (), *, dry: bool = False) -> tuple[Plan, ...]:
    """Compose the arguments once, check them without verl, and return the plan of the run at each seed.

    Args:
        seeds: none: the one that the arguments set.
        dry: what has to be prepared may be missing, and nothing is created; so it is with `dry_run=` as well.

    Returns:
        No plan where the arguments only asked for help.

    Raises:
        ConfigError: anything that would make a run wrong or impossible.
    """
    at_first = [f"seed={seed}" for seed in seeds[:1]]
    config = composed([*arguments, *at_first])
    if config is None:
        return ()
    plan = resolve(config, arguments, dry=dry or bool(config.dry_run))
    return tuple(_at_seed(config, plan, seed) for seed in seeds) or (plan,)


def _at_seed(config: DictConfig, plan: Plan, seed: int) -> Plan:
    """Return the plan at another seed; what follows from the seed follows in the settings."""
    config.seed, config.run_dir = seed, str(Path(plan.run_dir).with_name(f"seed_{seed}"))
    return replace(plan, seed=seed, run_dir=config.run_dir, settings=plain(config))


def resolve(config: DictConfig, arguments: Sequence[str] = (), *, dry: bool = False) -> Plan:
    """Check a composed configuration without verl, fill in names and the record's folder, and return the plan.

    The arguments are those the configuration was composed from; the plan shows which settings they change.

    Raises:
        ConfigError: anything that would make the run wrong or impossible.
    """
    block, feed = _name_run(config)
    copy = plan_copy(config, os.environ)
    check_model(config)
    template = place_template(config)
    check_files(config, dry=dry)
    check_places(config)
    resolve_feed(config, feed)
    check_writable(config.runs_dir, create=not dry)
    plan = _make_plan(config, block, changed(arguments), wandb=copy[0], chat_template=template[0])
    warned = check_batches(config)
    rows = count_rows(config)
    lines = [entry.line(key) for key, entry in rows.items()]
    warned += [entry.line(key) for key, entry in rows.items() if entry.needs_a_look]
    return replace(plan, rows=lines, warnings=[*plan.warnings, *template[1], *copy[1], *warned])


def _name_run(config: DictConfig) -> tuple[dict[str, Any], FeedConfig]:
    """Put seed, names and the record's folder into the configuration; return the `dataflex` block, and the feed."""
    SETTINGS["runs_dir"].check(config.runs_dir)
    SETTINGS["stop_at.tokens"].check(OmegaConf.select(config, "stop_at.tokens"))
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
    return block, feed


def _make_plan(
    config: DictConfig, block: dict[str, Any], changes: Sequence[str] = (), *, wandb: str, chat_template: str
) -> Plan:
    """Return the plan of a resolved configuration, its rows not counted; changes: the settings that the user gave."""
    steps = _count(config, "trainer.total_training_steps")
    if config.get("steps", steps) != steps:
        raise ConfigError(f"steps={config.steps}: it repeats trainer.total_training_steps={steps}; set that one")
    per_step = _count(config, "data.train_batch_size")
    group = _count(config, "actor_rollout_ref.rollout.n")
    longest = sum(_count(config, f"data.max_{part}_length") for part in ("prompt", "response"))
    names = {part: str((block.get(part) or {}).get("name") or "none") for part in GROUPS}
    del names["prompts"]
    if block.get("chain"):
        names["scorer"] = " > ".join(str((link.get("scorer") or {}).get("name")) for link in block["chain"])
        names["actuator"] = " > ".join(str(link["actuator"]["name"]) for link in block["chain"])
    return Plan(
        method=config.method_name,
        **names,
        prompt_selector="+".join(selection(block)) or "none",
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
        tokens_at_most=math.ceil(steps * per_step * group * longest * generated_at_most(block)),
        run_dir=config.run_dir,
        model_path=str(config.actor_rollout_ref.model.path),
        chat_template=chat_template,
        train_files=str(config.data.train_files),
        rows=[],
        wandb=wandb,
        to_prepare=missing(to_build(config)),
        changed=list(changes),
        warnings=memory_warnings(config),
        settings=plain(config),
    )


def generated_at_most(block: Mapping[str, Any]) -> float:
    """Return the responses of a step at most, in plain batches."""
    backfill = block.get("backfill") or {}
    return float(backfill["max_tokens_factor"]) if backfill.get("enabled") else 1.0


def _count(config: DictConfig, key: str) -> int:
    """Return a setting that counts something."""
    return int(SETTINGS[key].check(OmegaConf.select(config, key)))
