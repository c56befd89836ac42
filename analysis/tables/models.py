"""models: the same methods on models of different families."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.study import Study
from analysis.tables.axes import axis_table, size_of
from analysis.tables.table import Table


def build(study: Study) -> Table:
    """Blocks that differ in the model alone (same task, regime, steps) and hold at least two model families."""
    return axis_table(
        study, "models", "Across model families", _chosen, "one model family only: nothing to lay side by side"
    )


def _chosen(comparisons: Sequence[Comparison]) -> set[int]:
    groups: dict[object, list[int]] = defaultdict(list)
    for i, c in enumerate(comparisons):
        groups[c.block.key[1:4]].append(i)
    return {i for members in groups.values() if len({_family(comparisons[i]) for i in members}) > 1 for i in members}


def _family(comparison: Comparison) -> str:
    size = size_of(comparison.block.key[0])
    return size[0] if size else comparison.block.key[0]
