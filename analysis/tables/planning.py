"""planning: seeds needed, detectable effects and power of the equivalence test, from the source as a pilot."""

from __future__ import annotations

from analysis.plan import plan_rows
from analysis.study import Study
from analysis.tables.table import Row, Table, View, columns, unique

_COLUMNS = columns(
    "model",
    "campaign|campaign or task",
    "regime",
    "steps||int",
    "family",
    "pilot_seeds|pilot seeds|int",
    "arms|methods|int",
    "sd_difference|sd of a paired difference|score",
    "sd_difference_low,sd_difference_high|its 95% limits|limits",
    "seeds_needed|seeds needed|int",
    "seeds_if_known|were the sd known|int",
    "seeds_needed_clean|seeds needed without suspects|int",
    "seeds|at seeds|int",
    "power||ratio",
    "power_all|power, all methods better|ratio",
    "mde80|MDE 80%|score",
    "mde80_low,mde80_high|its limits|limits",
    "tost_power|TOST power|ratio",
)


def build(study: Study, effect: float = 1.0, power: float = 0.8, arms: int | None = None) -> Table:
    """One row per block, family and number of seeds (3, 5, 12, 24)."""
    rows: list[Row] = []
    for comparison in study.comparisons:
        for match in comparison.matches:
            if match.control is not None:
                rows += plan_rows(comparison, match.family, study.options, effect, power, arms)
    notes = [
        f"Effect {effect:g} points, power {power:g} of the verdict superior: two-sided paired t at alpha "
        f"{study.options.alpha:g}, Holm over the methods. power: no other method differs (the least it can be); all "
        f"methods better: simulated, per method. TOST: equivalence within {study.options.margin:g} points at a true "
        "difference of 0, Holm's first step.",
        "The sd of a paired difference is sqrt(2) times the residual sd of the method + seed layout, domain-balanced "
        "average. A small pilot does not know it: power and seeds are averaged over what the true sd may be, so that "
        "studies planned like this one deliver the power on average; were the sd known: as if the pilot's were true.",
        "Without suspects: over the seeds at which no run of the family is suspect.",
        *(f"{r['model']} / {r['campaign']}: {r['reason']}" for r in rows if r["reason"]),
    ]
    return Table(
        name="planning",
        title="How many seeds",
        rows=tuple(rows),
        views=(View(title="", columns=_COLUMNS, rows=tuple(rows)),) if rows else (),
        notes=unique(notes if rows else ["no family with a control: nothing to plan from"]),
    )
