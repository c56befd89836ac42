"""How many seeds an effect needs, from a pilot's residual sd; and what a given number of seeds can see."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from analysis.compare import Comparison, identity
from analysis.errors import AnalysisError
from analysis.options import Options
from analysis.stats.layout import Layout, layout, pooled_difference_sd, sd_interval
from analysis.stats.power import detectable, expected_tost_power, holm_power, seeds_needed, verdict_power
from analysis.stats.suspects import suspect_runs
from analysis.summaries import DOMAIN_BALANCED

Row = dict[str, Any]

SEEDS = (3, 5, 12, 24)


def plan_rows(
    comparison: Comparison,
    family: str,
    options: Options,
    effect: float,
    power: float = 0.8,
    arms: int | None = None,
) -> list[Row]:
    """Plan one block and family: one row per number of seeds in SEEDS, each with the family's sd and seeds needed.

    Power is that of the verdict which will be printed: Holm over `arms` methods (None: as many as the pilot compares).
    The sd of a paired difference is sqrt(2) times the residual sd of the method + seed layout (methods of the family
    and their control); the pilot's df are carried through, `seeds_if_known` is what a known sd would need. Raises
    AnalysisError unless effect > 0, arms >= 1 and power lies between alpha and 1. Without two methods and two complete
    seeds the numbers are NaN.
    """
    if not effect > 0 or not math.isfinite(effect):
        raise AnalysisError(f"effect={effect!r}; expected points > 0")
    if not options.alpha < power < 1:
        raise AnalysisError(f"power={power!r}; expected a number between alpha ({options.alpha:g}) and 1")
    if arms is not None and arms < 1:
        raise AnalysisError(f"arms={arms!r}; expected a number of methods >= 1")
    block = comparison.block
    match = next(m for m in comparison.matches if m.family == family)
    at = [block.row(m) for m in (*match.methods, *([match.control] if match.control else []))]
    fit = layout(block.endpoints[DOMAIN_BALANCED][at])
    clean = layout(block.endpoints_without(suspect_runs(comparison.flags))[DOMAIN_BALANCED][at])
    arms = len(match.methods) if arms is None else arms
    sd, low, high = _sds(fit)
    needed = partial(seeds_needed, effect, alpha=options.alpha, power=power, arms=arms)
    common = identity(block) | {
        "family": family,
        "control": match.control,
        "summary": DOMAIN_BALANCED,
        "arms": arms,
        "pilot_methods": fit.methods,
        "pilot_seeds": fit.seeds,
        "pilot_df": fit.df,
        "residual_sd": fit.residual_sd,
        "sd_difference": sd,
        "sd_difference_low": low,
        "sd_difference_high": high,
        "icc": fit.icc,
        "effect": effect,
        "target_power": power,
        "seeds_needed": needed(sd, df=fit.df or None),
        "seeds_if_known": needed(sd),
        "seeds_needed_clean": needed(_sds(clean)[0], df=clean.df or None),
        "sd_difference_clean": _sds(clean)[0],
        "reason": ""
        if sd > 0
        else "needs two methods and two seeds at which all methods have a score, with some spread",
    }
    rng = options.generator()
    return [common | _at(n, fit, arms, effect, options, rng) for n in SEEDS]


def _sds(fit: Layout) -> tuple[float, float, float]:
    sd = pooled_difference_sd(fit)
    return (sd, *sd_interval(sd, fit.df))


def _at(n: int, fit: Layout, arms: int, effect: float, options: Options, rng: np.random.Generator) -> Row:
    """Give what n seeds see; NaN where the pilot has no sd."""
    sd, low, high = _sds(fit)
    alpha, level = options.alpha, options.alpha / arms
    known = fit.df > 0
    return {
        "seeds": n,
        "power": verdict_power(effect, sd, n, alpha=alpha, arms=arms, df=fit.df) if known else math.nan,
        "power_all": holm_power(effect, sd, n, rng, arms=arms, df=fit.df, alpha=alpha) if known else math.nan,
        "mde80": detectable(sd, n, level),
        "mde80_low": detectable(low, n, level),
        "mde80_high": detectable(high, n, level),
        "margin": options.margin,
        "tost_power": expected_tost_power(options.margin, sd, n, fit.df, alpha=alpha, arms=arms) if known else math.nan,
    }


def power_curve(row: Row, options: Options, most: int = 40) -> list[tuple[int, float, float]]:
    """Give (n, power of the verdict, power of TOST at a true difference of 0) for n = 3..most, from a planned row."""
    sd, df, arms, alpha = row["sd_difference"], row["pilot_df"], row["arms"], options.alpha
    return [
        (
            n,
            verdict_power(row["effect"], sd, n, alpha=alpha, arms=arms, df=df),
            expected_tost_power(options.margin, sd, n, df, alpha=alpha, arms=arms),
        )
        for n in range(3, most + 1)
    ]
