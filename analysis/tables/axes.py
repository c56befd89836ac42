"""Views along one axis: the same comparisons, laid side by side over models, sizes, regimes or steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from analysis.compare import Comparison
from analysis.study import Study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.shared import block_notes, caption, family_rows
from analysis.tables.table import Row, Table, View, columns, unique

_SIZE = re.compile(r"\d+(\.\d+)?[bBmM]")

_COLUMNS = columns(
    "model",
    "campaign|campaign or task",
    "regime",
    "steps||int",
    "method",
    "control",
    "n||int",
    "control_score|control score|score",
    "score||score",
    "delta||delta",
    "ci_low,ci_high|CI (t)|interval",
    "p_holm|p (Holm)|p",
    "mde80_pooled|MDE 80%|score",
    "verdict_text|verdict",
    "verdict_ci|CI of the verdict",
    "delta_clean|delta without suspects|delta",
)


def size_of(model: str) -> tuple[str, float] | None:
    """Split a model's name into (name without its size, billions of parameters); None where it states no size.

    In names with underscores for dots (qwen2_5_0_5b) a number before the size is its whole part when it is 0 or when
    another number stands before it; else it belongs to the version (qwen2_5_7b, llama3_1_8b).
    """
    parts = re.split(r"[-_/ ]", model)
    at = next((i for i, part in enumerate(parts) if _SIZE.fullmatch(part)), None)
    if at is None:
        return None
    number, unit = parts[at][:-1], parts[at][-1]
    before = parts[max(at - 2, 0) : at]
    split = f"_{parts[at]}" in model and before[-1].isdigit() and (before[-1] == "0" or before[0].isdigit())
    if split:
        number = f"{before[-1]}.{number}"
    family = "-".join([*parts[: at - split], *parts[at + 1 :]])
    return family.lower(), float(number) / (1000 if unit in "mM" else 1)


def axis_table(
    study: Study,
    name: str,
    title: str,
    chosen: Callable[[Sequence[Comparison]], set[int]],
    empty: str,
    order: Callable[[Row], tuple[object, ...]] | None = None,
    extra: Callable[[Row], Row] = lambda row: {},
) -> Table:
    """Build a table of the select/reweight rows of the blocks that `chosen` picks (by position in the study)."""
    picked = chosen(study.comparisons)
    parts = [p for p in family_rows(study, None) if study.comparisons.index(p[0]) in picked]
    rows = [r | extra(r) for _, _, found in parts for r in found]
    primary = [r for r in rows if r["summary"] == DOMAIN_BALANCED]
    if order is not None:
        primary.sort(key=lambda r: tuple((v is None, v) for v in order(r)))
    shown = _COLUMNS + (columns("delta_reference|delta without the constraint|delta") if name == "constrained" else ())
    notes = [*caption(study, rows), *block_notes(study, [c for c, _, _ in parts])] if rows else [empty]
    return Table(
        name=name,
        title=title,
        rows=tuple(rows),
        views=(View(title="", columns=shown, rows=tuple(primary)),) if primary else (),
        notes=unique(notes),
    )
