"""A mixed run up to the point where Ray would start: composed, checked, its trainer built on the embedded data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from dataflex_rl.components.batch import Batch
from dataflex_rl.config.paths import shipped
from dataflex_rl.config.plan import resolve
from dataflex_rl.config.sources import build_sources, place_sources, to_build


def resolved(runs_dir: Path, *overrides: str) -> DictConfig:
    """Compose `conf/run.yaml` and resolve it; nothing is built."""
    with initialize_config_dir(str(shipped("conf")), version_base="1.3"):
        config = compose("run", overrides=[f"runs_dir={runs_dir}", *overrides])
    resolve(config)
    return config


def trainer(runs_dir: Path, *overrides: str) -> Any:
    """Return the trainer that the configuration names, with its tokenizer, datasets and feed; no process is started."""
    config = resolved(runs_dir, *overrides)
    builds = to_build(config)
    place_sources(config)
    build_sources(builds, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from verl.trainer.ppo.v1.trainer_base import get_trainer_cls

        import dataflex_rl.plugin  # noqa: F401

        made = get_trainer_cls(config.trainer.v1.trainer_mode)(config)
        made._init_tokenizer()
        made._init_dataloader()
    made.global_steps = 1
    return made


def drawn(made: Any) -> tuple[list[str], list[str]]:
    """Draw the next batch as verl would: (uids, domains)."""
    batch = made._next_train_batch()
    return [str(uid) for uid in batch["uid"]], [str(name) for name in batch["domain"]]


def answered(uids: Sequence[str], domains: Sequence[str], reward: dict[str, float], n: int = 2) -> Batch:
    """Return a batch of n one-token responses per prompt: half of them earn the domain's reward, half miss it by 1."""
    uid = [name for name in uids for _ in range(n)]
    sign = torch.tensor([1.0, -1.0]).repeat(len(uid) // 2)
    return Batch(
        offset_B1=torch.arange(len(uid) + 1),
        response_mask_N=torch.ones(len(uid)),
        uid=uid,
        prompt_key=uid,
        rollout_index_B=torch.arange(len(uid)),
        is_padding_B=torch.zeros(len(uid), dtype=torch.bool),
        reward_B=torch.tensor([reward[name] for name in domains for _ in range(n)]),
        advantage_N=sign * torch.tensor([reward[name] for name in domains for _ in range(n)]),
        domain=[name for name in domains for _ in range(n)],
    )


def stepped(made: Any, reward: dict[str, float]) -> tuple[list[str], list[str], dict[str, float]]:
    """One step of feed and mixer, every response earning its domain's reward: (uids, domains, metrics)."""
    uids, domains = drawn(made)
    batch = answered(uids, domains, reward)
    metrics = made.feed.observe(made.global_steps, made.policy.apply(batch, step=made.global_steps))
    made.global_steps += 1
    return uids, domains, metrics
