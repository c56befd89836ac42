"""How many seeds an effect needs, from a pilot's residual sd; and what a given number of seeds can see."""

from __future__ import annotations

import math
from typing import Any

from scipy import stats

from analysis.compare import Comparison, identity
from analysis.errors import AnalysisError
from analysis.options import Options
from analysis.stats.layout import layout, pooled_difference_sd
from analysis.stats.power import detectable, paired_power, seeds_needed, tost_power
from analysis.stats.suspects import suspect_runs
from analysis.summaries import DOMAIN_BALANCED

Row = dict[str, Any]

SEEDS = (3, 5, 12, 24)
_CAUTION = 0.8  # one-sided confidence of the cautious sd


def plan_rows(comparison: Comparison, family: str, options: Options, effect: float, power: float = 0.8) -> list[Row]:
    """Plan one block and family: one row per number of seeds in SEEDS, each with the family's sd and seeds needed.

    The sd of a paired difference is sqrt(2) times the residual sd of the method + seed layout (methods of the family
    and their control). A pilot knows it badly: `cautious` numbers use its upper 80% limit (chi-square). Raises
    AnalysisError unless effect > 0 and power lies between 0 and 1. Without two methods and two complete seeds the
    numbers are NaN.
    """
    if not effect > 0 or not math.isfinite(effect):
        raise AnalysisError(f"effect={effect!r}; wanted points > 0")
    if not options.alpha < power < 1:
        raise AnalysisError(f"power={power!r}; wanted a number between alpha ({options.alpha:g}) and 1")
    block = comparison.block
    match = next(m for m in comparison.matches if m.family == family)
    names = [*match.methods, *([match.control] if match.control else [])]
    fit = layout(block.endpoints[DOMAIN_BALANCED][[block.row(m) for m in names]])
    sd = pooled_difference_sd(fit)
    clean = block.endpoints_without(suspect_runs(comparison.flags))[DOMAIN_BALANCED]
    sd_clean = pooled_difference_sd(layout(clean[[block.row(m) for m in names]]))
    cautious = sd * math.sqrt(fit.df / float(stats.chi2.ppf(1 - _CAUTION, fit.df))) if fit.df else math.nan
    common = identity(block) | {
        "family": family,
        "control": match.control,
        "summary": DOMAIN_BALANCED,
        "pilot_methods": fit.methods,
        "pilot_seeds": fit.seeds,
        "residual_sd": fit.residual_sd,
        "sd_difference": sd,
        "sd_difference_cautious": cautious,
        "icc": fit.icc,
        "effect": effect,
        "target_power": power,
        "seeds_needed": seeds_needed(effect, sd, options.alpha, power),
        "sd_difference_clean": sd_clean,
        "seeds_needed_clean": seeds_needed(effect, sd_clean, options.alpha, power),
        "seeds_needed_cautious": seeds_needed(effect, cautious, options.alpha, power),
        "reason": ""
        if sd > 0
        else "needs two methods and two seeds at which all methods have a score, with some spread",
    }
    return [common | _at(n, sd, effect, options) for n in SEEDS]


def _at(n: int, sd: float, effect: float, options: Options) -> Row:
    return {
        "seeds": n,
        "power": paired_power(effect, sd, n, options.alpha),
        "mde80": detectable(sd, n, options.alpha),
        "margin": options.margin,
        "tost_power": tost_power(options.margin, sd, n, options.alpha),
    }


def power_curve(sd: float, effect: float, options: Options, most: int = 40) -> list[tuple[int, float, float]]:
    """Give (n, power of the paired t test, power of TOST at a true difference of 0) for n = 2..most."""
    return [
        (n, paired_power(effect, sd, n, options.alpha), tost_power(options.margin, sd, n, options.alpha))
        for n in range(2, most + 1)
    ]
