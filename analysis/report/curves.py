"""Per block: learning curves, policy curves, domain shares, score against tokens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.benchmarks import Floats
from analysis.blocks import Block
from analysis.compare import Comparison
from analysis.plots.curves import bands, curves_text, lines
from analysis.plots.style import colours
from analysis.progress import Progress, held_out, progress
from analysis.report.html import Drawn, slug
from analysis.stats.curves import on_grid, smooth
from analysis.study import Study

Curves = Mapping[tuple[str, int], Mapping[str, Floats]]

_WINDOW = 10  # steps of the trailing mean in the reward curve

# metric, caption, unit on the axis, smoothed
_METRICS = (
    ("dataflex/reward_all", "reward of all generated responses", "reward", True),
    ("dataflex/reward_effective", "reward as weighted by the policy", "reward", True),
    ("dataflex/kept_frac", "share of responses kept", "share", True),
    ("dataflex/weight_std", "spread of the weights", "standard deviation", True),
)


def curve_figures(study: Study, comparison: Comparison) -> list[Drawn]:
    """Draw what the block's metrics hold; none where no metrics were recorded."""
    block = comparison.block
    curves = {key: study.curves(run) for key, run in block.runs.items()}
    if not any(curves.values()):
        return []
    colour = colours(list(block.methods))
    level = study.options.level
    drawn = _validation(study, block, colour)
    for metric, caption, unit, smoothed in _METRICS:
        grid_T, found = _collect(block, curves, metric, smoothed)
        if found:
            title = f"{block.name}: {caption}, mean over seeds and pointwise {100 * level:g}% band"
            title += f" (trailing mean over {_WINDOW} steps)" if smoothed else ""
            picture = bands(grid_T, found, colour, x="step", y=unit, level=level)
            drawn.append(Drawn(_name(block, metric), title, curves_text(found, unit), picture))
    return [*drawn, *_shares(block, curves, level), *_tokens(study, block, colour)]


def _name(block: Block, metric: str) -> str:
    return f"{slug(block.name)}-{slug(metric)}"


def _collect(block: Block, curves: Curves, metric: str, smoothed: bool) -> tuple[Floats, dict[str, Floats]]:
    """Give the common grid of steps and {method: (S, T)} for the runs that logged the metric."""
    having = {k: c for k, c in curves.items() if metric in c}
    if not having:
        return np.array([]), {}
    grid_T = np.unique(np.concatenate([c["step"] for c in having.values()]))
    found: dict[str, list[Floats]] = {}
    for (method, _), c in having.items():
        y_T = smooth(c[metric], _WINDOW) if smoothed else c[metric]
        found.setdefault(method, []).append(on_grid(c["step"], y_T, grid_T))
    return grid_T, {m: np.stack(v) for m, v in sorted(found.items())}


def _validation(study: Study, block: Block, colour: dict[str, str]) -> list[Drawn]:
    """Draw the validation score over steps, where it was logged at two steps or more."""
    found: dict[str, list[Progress]] = {}
    for (method, _), run in block.runs.items():
        p = held_out(run, study.curves(run))
        if p is not None:
            found.setdefault(method, []).append(p)
    if not found:
        return []
    grid_T = np.unique(np.concatenate([p.step_T for ps in found.values() for p in ps]))
    curves = {m: np.stack([on_grid(p.step_T, p.score_T, grid_T) for p in ps]) for m, ps in sorted(found.items())}
    title = f"{block.name}: validation score (domain-balanced), mean over seeds and pointwise band"
    picture = bands(grid_T, curves, colour, x="step", y="points", level=study.options.level)
    return [Drawn(f"{slug(block.name)}-validation", title, curves_text(curves, "points"), picture)]


def _shares(block: Block, curves: Curves, level: float) -> list[Drawn]:
    """Draw target and realised domain shares of every method that has targets: the mixers."""
    keys = sorted({k for c in curves.values() for k in c if k.startswith("dataflex/share_")})
    drawn = []
    for method in block.methods:
        mine = {k: c for k, c in curves.items() if k[0] == method}
        found: dict[str, Floats] = {}
        grid_T = np.array([])
        for key in keys:
            at_T, got = _collect(block, mine, key, smoothed=True)
            if got:
                kind, domain = key.removeprefix("dataflex/share_").split("/", 1)
                grid_T, found[f"{domain} ({kind})"] = at_T, got[method]
        if any("(target)" in name for name in found):
            title = f"{block.name}: domain shares of {method}, target and realised"
            picture = bands(grid_T, found, colours(list(found)), x="step", y="share", level=level, with_band=False)
            drawn.append(Drawn(_name(block, f"{method} shares"), title, curves_text(found, "share"), picture))
    return drawn


def _tokens(study: Study, block: Block, colour: dict[str, str]) -> list[Drawn]:
    """Draw score against generated and against trained tokens, means over seeds on the steps all seeds share."""
    drawn = []
    known = {key: p for key, run in block.runs.items() if (p := progress(run, study.curves(run))) is not None}
    units = {p.unit for p in known.values()}
    unit = "points" if "points" in units else "".join(units)  # rewards and scores never share a figure
    for axis in ("generated", "trained"):
        points: dict[str, tuple[Floats, Floats]] = {}
        for method in block.methods:
            mine = [known[(method, s)] for s in block.seeds_of(method) if (method, s) in known]
            found = [p for p in mine if p.unit == unit and len(p.step_T)]
            xs = [p.generated_T if axis == "generated" else p.trained_T for p in found]
            if found and all(
                len(p.step_T) == len(found[0].step_T) and not np.isnan(x).any() for p, x in zip(found, xs, strict=True)
            ):
                points[method] = (np.mean(xs, axis=0), np.mean([p.score_T for p in found], axis=0))
        if points:
            what = "held-out score" if unit == "points" else "reward of each method's own training prompts (no score)"
            title = f"{block.name}: {what} against tokens {axis}, means over seeds"
            picture = lines(points, colour, x=f"tokens {axis}", y=unit)
            text = "; ".join(f"{m} ends at {y[-1]:.2f} after {x[-1]:,.0f} tokens" for m, (x, y) in points.items())
            drawn.append(Drawn(f"{slug(block.name)}-tokens-{axis}", title, text, picture))
    return drawn
