"""Per block: forest plot, heat map, tables."""

from __future__ import annotations

import numpy as np

from analysis.compare import Comparison
from analysis.options import Options
from analysis.plots.forest import forest, forest_text
from analysis.plots.heatmap import heatmap, heatmap_text
from analysis.report.html import Drawn, slug
from analysis.summaries import DOMAIN_BALANCED


def block_figures(comparison: Comparison, options: Options) -> list[Drawn]:
    """Draw one forest plot and one domain heat map per family that was compared."""
    drawn: list[Drawn] = []
    block = comparison.block
    for match in comparison.matches:
        rows = [r for r in comparison.rows if r["family"] == match.family]
        primary = [r for r in rows if r["summary"] == DOMAIN_BALANCED and not np.isnan(r["delta"])]
        if primary:
            title = f"{block.name}: difference to {match.control}, domain-balanced average. "
            title += f"Band: margin of {options.margin:g} points. Hollow: without suspect evaluations."
            picture = forest(primary, options.margin)
            drawn.append(Drawn(f"{slug(block.name)}-{match.family}-forest", title, forest_text(primary), picture))
        drawn += _heatmaps(comparison, match.family, rows)
    return drawn


def _heatmaps(comparison: Comparison, family: str, rows: list[dict[str, object]]) -> list[Drawn]:
    block = comparison.block
    domains = [d if d in block.endpoints else f"{d} (domain)" for d in block.domains]
    domains = [d for d in domains if f"{d} (domain)" not in block.endpoints]
    methods = list(dict.fromkeys(str(r["method"]) for r in rows))
    cells = {(r["method"], r["summary"]): r["delta"] for r in rows}
    delta_MD = np.array([[cells[(m, d)] for d in domains] for m in methods], dtype=np.float64)
    if not np.isfinite(delta_MD).any():
        return []
    title = f"{block.name}: difference per domain [points]"
    name = f"{slug(block.name)}-{family}-domains"
    return [Drawn(name, title, heatmap_text(delta_MD, methods, domains), heatmap(delta_MD, methods, domains))]
