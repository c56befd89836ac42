"""The command line of the report."""

from __future__ import annotations

import sys
from pathlib import Path

from analysis import arguments
from analysis.errors import guarded
from analysis.plan import power_curve
from analysis.plots.planning import planning, planning_text
from analysis.plots.style import colours, png, standalone_svg
from analysis.report.blocks import block_figures
from analysis.report.curves import curve_figures
from analysis.report.html import Drawn, figure_html, table_html
from analysis.report.page import page
from analysis.report.predictions import prediction_figures
from analysis.report.words import audit, verdicts
from analysis.study import Study, make_study
from analysis.tables import TABLES
from analysis.tables.table import Table

_EMPTY_IS_LEFT_OUT = ("mixers", "models", "constrained", "scale", "long", "cost", "tokens", "items")
_BLOCKS_SHOWN = ("main", "mixers")


def main(argv: list[str] | None = None) -> int:
    """Write the page: python -m analysis.report --runs SOURCE --out report.html [--figures DIR].

    --figures also writes every figure as PNG and SVG. Exit code 2 and one line on stderr for anything that does not
    fit; 3 if there is a page, but records were left out as broken: stderr names them.
    """
    return guarded(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    parser = arguments.parser("python -m analysis.report", "One self-contained page about paired-seed comparisons.")
    parser.add_argument("--out", type=Path, default=Path("report.html"), help="file to write")
    parser.add_argument("--figures", type=Path, default=None, help="folder for every figure as PNG and SVG")
    parser.add_argument("--title", default="Data policies compared by paired seeds", help="title of the page")
    parsed = parser.parse_args(argv)
    study = make_study(parsed.runs, arguments.options(parsed))
    text, figures = build(study, parsed.title)
    arguments.write(parsed.out, text)
    sys.stdout.write(f"{parsed.out}\n")
    if parsed.figures is not None:
        for drawn in figures:
            arguments.write(parsed.figures / f"{drawn.name}.png", png(drawn.figure))
            arguments.write(parsed.figures / f"{drawn.name}.svg", standalone_svg(drawn.figure))
        sys.stdout.write(f"{parsed.figures}: {len(figures)} figures\n")
    return study.exit_code()


def build(study: Study, title: str) -> tuple[str, list[Drawn]]:
    """Give the page and its figures: verdicts in words and the audit first, then figures, then every table."""
    figures: list[Drawn] = []
    tables = {name: build_table(study) for name, build_table in TABLES.items()}
    curves = [curve_figures(study, c) for c in study.comparisons]  # before the audit, which names cut-off metrics
    sections = [("Verdicts", verdicts(study)), ("Audit: what was compared and how", audit(study))]
    sections.append(("Differences", _drawn([block_figures(c, study.options) for c in study.comparisons], figures)))
    for name in _BLOCKS_SHOWN:
        if tables[name].rows:
            sections.append((tables[name].title, table_html(tables[name], notes=False)))
    sections.append((tables["suspects"].title, table_html(tables["suspects"])))
    scored = [prediction_figures(c) for c in study.comparisons]
    if any(scored):
        sections.append(("Predicted solve rates", _drawn(scored, figures)))
    if any(curves):
        sections.append(("Learning and policy curves", _drawn(curves, figures)))
    plan = _planning(study, tables["planning"])
    sections.append((tables["planning"].title, _drawn([plan], figures) + table_html(tables["planning"])))
    for name, table in tables.items():
        shown = name not in (*_BLOCKS_SHOWN, "suspects", "planning")
        if shown and (table.rows or name not in _EMPTY_IS_LEFT_OUT):
            inner = f"<details><summary>show</summary>{table_html(table)}</details>"
            sections.append((table.title, inner if name == "per_benchmark" else table_html(table)))
    return page(title, sections), figures


def _drawn(groups: list[list[Drawn]], figures: list[Drawn]) -> str:
    """Add figures to the list and give their HTML."""
    found = [d for group in groups for d in group]
    figures += found
    return f'<div class="pair">{"".join(figure_html(d) for d in found)}</div>' if found else ""


def _planning(study: Study, table: Table) -> list[Drawn]:
    curves = {}
    for row in table.rows:
        if row["sd_difference"] > 0:
            parts = (row["model"], row["campaign"], row["regime"], row["steps"], row["family"])
            name = " / ".join(str(p) for p in parts if p is not None)
            curves[name] = power_curve(row, study.options)
    if not curves:
        return []
    effect = table.rows[0]["effect"]
    picture = planning(curves, colours(list(curves)), effect=effect, margin=study.options.margin)
    title = f"Power to see {effect:g} points, and to show equivalence, over the number of seeds"
    return [Drawn("planning", title, planning_text(curves), picture)]
