"""Figures the study printed, for a "paper" column where model, steps, regime and evaluation match. Points.

They come from 12 seeds; a source with other seeds is expected to differ from them by seed noise.
"""

from __future__ import annotations

from analysis.blocks import Block

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


def matches(block: Block) -> bool:
    """Say whether a block is the study's setting: 300 steps, no regime, twelve benchmarks."""
    return block.key[3] == _STEPS and block.key[2] is None and len(block.benchmarks) == _BENCHMARKS


def gain(block: Block) -> tuple[float, float] | None:
    """Give the study's untrained and trained score of the block's model."""
    return _GAIN.get(block.key[0].lower()) if matches(block) else None


def mixer_delta(block: Block, method: str) -> float | None:
    """Give the study's delta of a mixer against the fixed equal mixture."""
    return _MIXERS.get((block.key[0].lower(), method)) if matches(block) else None


def rank_correlation(block: Block, methods: int) -> float | None:
    """Give the study's Spearman correlation of the six-benchmark and the domain-balanced ranking."""
    return _RANKS.get((block.key[0].lower(), methods)) if matches(block) else None
