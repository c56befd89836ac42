"""constrained: regimes (less data, noisy labels) against the control under the same regime."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.compare import Comparison
from analysis.load import unconstrained
from analysis.study import Study
from analysis.tables.axes import axis_table
from analysis.tables.table import Row, Table


def build(study: Study) -> Table:
    """Blocks with a regime; beside each delta the one without the constraint, where exactly one such block has it."""

    def reference(row: Row) -> Row:
        """Find the delta of the same model, steps, method and summary without a regime."""
        found = [
            r["delta"]
            for c in study.comparisons
            for r in c.rows
            if unconstrained(r["regime"]) and all(r[k] == row[k] for k in ("model", "steps", "method", "summary"))
        ]
        return {"delta_reference": found[0] if len(found) == 1 else None}

    empty = "no run with a regime (data subset, label noise)"
    return axis_table(study, "constrained", "Constrained regimes", _chosen, empty, extra=reference)


def _chosen(comparisons: Sequence[Comparison]) -> set[int]:
    return {i for i, c in enumerate(comparisons) if not unconstrained(c.block.key[2])}
