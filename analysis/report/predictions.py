"""Per block: how good the predicted solve rates of prompt selectors were."""

from __future__ import annotations

from analysis.compare import Comparison
from analysis.load.predictions import VISITS, Scored, pooled, read_predictions
from analysis.plots.calibration import calibration, calibration_text
from analysis.plots.style import colours
from analysis.report.html import Drawn, slug


def prediction_figures(comparison: Comparison) -> list[Drawn]:
    """Draw the calibration of the block's methods, pooled over seeds; none where nobody predicted."""
    block = comparison.block
    found: dict[str, dict[str, list[Scored]]] = {}
    for (method, _), run in sorted(block.runs.items()):
        for visits, scored in read_predictions(run.path).items():
            found.setdefault(method, {}).setdefault(visits, []).append(scored)
    if not found:
        return []
    scored_M = {method: {v: pooled(of[v]) for v in VISITS if v in of} for method, of in found.items()}
    title = (
        f"{block.name}: predicted against observed solve rates, over responses of all seeds. Area: share of responses."
    )
    picture = calibration(scored_M, colours(list(block.methods)))
    return [Drawn(f"{slug(block.name)}-calibration", title, calibration_text(scored_M), picture)]
