"""Figures the study printed, for a "paper" column where model, steps, regime and evaluation match. Points.

They come from 12 seeds; a source with other seeds is expected to differ from them by seed noise.
"""

from __future__ import annotations

import re

from analysis.blocks import Block
from analysis.load import unconstrained

# One base model has several names: the study's, the hub's, a configuration's.
_NAMES = {"qwen2.5-7b": "qwen2.5-7b-base", "llama-3.1-8b": "llama-3.1-8b-base", "llama3.1-8b": "llama-3.1-8b-base"}

# model (lower case) -> untrained score, score after plain training; domain-balanced average.
_GAIN = {"qwen2.5-7b-base": (42.01, 49.77), "llama-3.1-8b-base": (10.87, 21.12)}
# (model, method) -> delta against the fixed equal mixture.
_MIXERS = {
    ("qwen2.5-7b-base", "reward_gap"): 0.45,
    ("qwen2.5-7b-base", "dump_ucb"): 0.61,
    ("qwen2.5-7b-base", "tscl"): 0.16,
}
# model, number of methods -> Spearman correlation of the six-benchmark and the domain-balanced ranking.
_RANKS = {("qwen2.5-7b-instruct", 9): -0.33}
_STEPS, _BENCHMARKS = 300, 12


def _model(block: Block) -> str:
    name = re.sub(r"(\d)_(\d)", r"\1.\2", block.key[0].lower().rsplit("/", 1)[-1], count=1).replace("_", "-")
    return _NAMES.get(name, name)


def matches(block: Block) -> bool:
    """Say whether a block is the study's setting: 300 steps, no regime, twelve benchmarks."""
    return block.key[3] == _STEPS and unconstrained(block.key[2]) and len(block.benchmarks) == _BENCHMARKS


def gain(block: Block) -> tuple[float, float] | None:
    """Give the study's untrained and trained score of the block's model."""
    return _GAIN.get(_model(block)) if matches(block) else None


def mixer_delta(block: Block, method: str) -> float | None:
    """Give the study's delta of a mixer against the fixed equal mixture."""
    return _MIXERS.get((_model(block), method)) if matches(block) else None


def rank_correlation(block: Block, methods: int) -> float | None:
    """Give the study's Spearman correlation of the six-benchmark and the domain-balanced ranking."""
    return _RANKS.get((_model(block), methods)) if matches(block) else None
