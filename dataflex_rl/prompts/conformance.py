"""Does a prompt selector select? A rule whose chances hardly differ is uniform under another name."""

from __future__ import annotations

import numpy as np

from dataflex_rl.errors import ConfigError
from dataflex_rl.prompts.interface import Candidates, PromptSelector
from dataflex_rl.prompts.statistics import Groups, PromptStats
from dataflex_rl.prompts.table import FloatArray, PromptTable

LEAST_RATIO = 1.5  # of the largest to the smallest chance; sampling alone makes about 1.2 of equal chances
_RATES, _EACH, _VISITS, _TRIES, _DRAWS = 11, 20, 3, 10, 200


def chance_L(selector: PromptSelector, rng: np.random.Generator) -> FloatArray:
    """float64 [L], of mean 1: how often prompts of solve rate 0, .1, ..., 1 are chosen, relative to uniform.

    220 prompts, 20 of each rate, were each visited three times with exactly that rate over ten responses; 20 are chosen
    of all, 200 times. Every column that the selector reads is 10 minus ten times the rate.
    """
    level_P = np.repeat(np.arange(_RATES), _EACH)
    columns = {name: (_RATES - 1 - level_P).tolist() for name in selector.columns}
    keys = [f"{level:02d}-{number}" for number, level in enumerate(level_P.tolist())]
    table = PromptTable.of(keys, ["all"] * len(keys), columns)
    selector.check(table, _VISITS + 1)
    stats, state = PromptStats(table, selector.memory), selector.start(table)
    rate_G = np.empty(table.size)
    rate_G[table.prompt_R] = level_P / (_RATES - 1)
    for step in range(1, _VISITS + 1):
        groups = Groups(
            step=step,
            prompt_G=np.arange(table.size),
            tries_G=np.full(table.size, _TRIES),
            solved_G=np.rint(rate_G * _TRIES).astype(np.int64),
            reward_G=rate_G,
        )
        state = selector.observe(state, stats, groups)
        stats.add(groups)
    chosen_P = np.zeros(table.size)
    for _ in range(_DRAWS):
        order_C = selector.arrange(rng.permutation(table.size), table)
        candidates = Candidates(
            prompt_C=table.prompt_R[order_C], stats=stats, state=state, step=_VISITS + 1, steps=_VISITS + 1, batch=_EACH
        )
        chosen_P[candidates.prompt_C[selector.choose(candidates, _EACH, rng).take]] += 1
    of_rate_L = np.bincount(np.rint(rate_G * (_RATES - 1)).astype(np.int64), weights=chosen_P, minlength=_RATES)
    share_L: FloatArray = of_rate_L / of_rate_L.mean()
    return share_L


def check_selects(name: str, selector: PromptSelector, seed: int = 0) -> float:
    """Return the ratio of the largest to the smallest chance over prompts of all solve rates; infinity where one is 0.

    Raises:
        ConfigError: below 1.5: the rule does not differ from uniform.
    """
    share_L = chance_L(selector, np.random.default_rng(seed))
    ratio = float(share_L.max() / share_L.min()) if share_L.min() > 0 else float("inf")
    if ratio < LEAST_RATIO:
        raise ConfigError(
            f"prompt selector {name!r} does not select: from solve rate 0 to 1 its chances differ by a factor of "
            f"{ratio:.2f}, expected at least {LEAST_RATIO:g}; it is uniform"
        )
    return ratio
