"""scale: the same methods on several sizes of one model family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.load import unconstrained
from analysis.study import Study
from analysis.tables.axes import axis_table, size_of
from analysis.tables.table import Row, Table


def build(study: Study) -> Table:
    """Blocks without a regime whose model exists in at least two sizes at the same steps; sorted by size."""
    empty = "no model family in two sizes: no scale to show"
    return axis_table(study, "scale", "Across model sizes", _chosen, empty, order=_order)


def _chosen(comparisons: Sequence[Comparison]) -> set[int]:
    groups: dict[object, dict[int, float]] = defaultdict(dict)
    for i, c in enumerate(comparisons):
        size = size_of(c.block.key[0])
        if size and unconstrained(c.block.key[2]):
            groups[(size[0], c.block.key[3])][i] = size[1]
    return {i for members in groups.values() if len(set(members.values())) > 1 for i in members}


def _order(row: Row) -> tuple[object, ...]:
    size = size_of(row["model"])
    assert size is not None, "only models with a size are chosen"
    return (size[0], row["method"], size[1])
