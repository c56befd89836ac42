"""The study's twelve benchmarks: items, domains, chance levels; and counts restored from printed percentages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DOMAINS = ("math", "logic", "science")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One benchmark of the study. `chance` [percent] is the score of blind guessing, None where answers are free-form.

    `items` is None where a source does not say how many there were: nothing that counts items is computed then.
    """

    name: str
    domain: str
    items: int | None
    chance: float | None = None


# BIG-Bench Hard mixes 3, 5 and 7 objects in equal parts: chance is the mean of 1/3, 1/5 and 1/7.
_BBH_CHANCE = 100.0 * (1 / 3 + 1 / 5 + 1 / 7) / 3

PAPER: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(name="math500", domain="math", items=500),
        Benchmark(name="aime24", domain="math", items=30),
        Benchmark(name="olympiadbench", domain="math", items=675),
        Benchmark(name="minerva_math", domain="math", items=272),
        Benchmark(name="gsm8k", domain="math", items=1319),
        Benchmark(name="kk_hard", domain="logic", items=200),
        Benchmark(name="bbh_logical_deduction", domain="logic", items=750, chance=_BBH_CHANCE),
        Benchmark(name="bbh_tracking", domain="logic", items=750, chance=_BBH_CHANCE),
        Benchmark(name="zebra_logic_mc", domain="logic", items=500),
        Benchmark(name="gpqa_diamond", domain="science", items=198, chance=25.0),
        Benchmark(name="mmlu_pro_chemistry", domain="science", items=500, chance=10.0),
        Benchmark(name="mmlu_pro_physics", domain="science", items=500, chance=10.0),
    )
}

SIX = ("math500", "aime24", "olympiadbench", "minerva_math", "gsm8k", "gpqa_diamond")


def restore_counts(accuracy: Floats, items: int) -> Floats:
    """Give the whole number of correct items behind printed percentages: round(accuracy * items / 100).

    NaN stays NaN. Half-way cases go to the even count, as numpy rounds; a printed decimal never lies there.
    """
    return np.round(np.asarray(accuracy, dtype=np.float64) * items / 100.0)
