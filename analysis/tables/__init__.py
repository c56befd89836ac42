"""One file per table; `python -m analysis.tables --runs SOURCE --table NAME|all --format md|latex|csv --out DIR`.

main           methods x benchmarks, domain scores, averages, delta with interval and verdict
mixers         domain mixers against the fixed mixture
models         across model families
gain           untrained against the control
constrained    regimes: less data, noisy labels
scale          across model sizes
long           across training lengths
sensitivity    rankings under other summaries, and how fragile they are
cost           tokens and seconds; held-out deltas at equal generated tokens
tokens         held-out deltas at equal generated tokens, and tokens to the control's final score
pairing        the audit of every pair
suspects       evaluations that do not fit; headlines with and without them
per_benchmark  every method x benchmark delta, BH-adjusted
planning       seeds needed, what 3, 5, 12, 24 seeds see
noise          spread of runs, seed correlation, late evaluations, A/A tests, and what follows
items          question-level differences, where item results exist
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.errors import unknown
from analysis.study import Study
from analysis.tables import (
    constrained,
    cost,
    gain,
    items,
    long,
    main_table,
    mixers,
    models,
    noise,
    pairing,
    per_benchmark,
    planning,
    scale,
    sensitivity,
    suspects,
    tokens,
)
from analysis.tables.table import Table

TABLES: dict[str, Callable[[Study], Table]] = {
    "main": main_table.build,
    "mixers": mixers.build,
    "models": models.build,
    "gain": gain.build,
    "constrained": constrained.build,
    "scale": scale.build,
    "long": long.build,
    "sensitivity": sensitivity.build,
    "cost": cost.build,
    "tokens": tokens.build,
    "pairing": pairing.build,
    "suspects": suspects.build,
    "per_benchmark": per_benchmark.build,
    "planning": planning.build,
    "noise": noise.build,
    "items": items.build,
}


def build(study: Study, names: str) -> list[Table]:
    """Build tables by name: one, several separated by commas, or "all". Raises AnalysisError for an unknown name."""
    expected = list(TABLES) if names == "all" else [n.strip() for n in names.split(",")]
    for name in expected:
        if name not in TABLES:
            raise unknown("table", name, [*TABLES, "all"])
    return [TABLES[name](study) for name in expected]


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from analysis.tables.cli import main as run  # the parser needs this package's names

    return run(argv)
