"""long: the same model and methods at several training lengths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.load import unconstrained
from analysis.study import Study
from analysis.tables.axes import axis_table
from analysis.tables.table import Row, Table


def build(study: Study) -> Table:
    """Blocks without a regime of a model that was trained for at least two numbers of steps."""
    empty = "one training length only: nothing to lay side by side"
    return axis_table(study, "long", "Across training lengths", _chosen, empty, order=_order)


def _chosen(comparisons: Sequence[Comparison]) -> set[int]:
    groups: dict[str, dict[int, int | None]] = defaultdict(dict)
    for i, c in enumerate(comparisons):
        if unconstrained(c.block.key[2]):
            groups[c.block.key[0]][i] = c.block.key[3]
    return {i for members in groups.values() if len(set(members.values()) - {None}) > 1 for i in members}


def _order(row: Row) -> tuple[object, ...]:
    return (row["model"], row["method"], row["steps"])
