"""Power over the number of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from analysis.plots.style import FAINT, figure

Curve = Sequence[tuple[int, float, float]]


def planning(curves: Mapping[str, Curve], colour: Mapping[str, str], *, effect: float, margin: float) -> Figure:
    """Draw power of the verdict (solid) and of TOST at no difference (dashed) over seeds, one colour each."""
    made, (axes,) = figure(6.4, 3.2)
    for name, curve in curves.items():
        n = [c[0] for c in curve]
        axes.plot(n, [c[1] for c in curve], color=colour[name], lw=1.6, label=name)
        axes.plot(n, [c[2] for c in curve], color=colour[name], lw=1.2, ls="--")
    axes.axhline(0.8, color=FAINT, lw=0.8)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("seeds per method")
    axes.set_ylabel(f"power: {effect:g} points (solid),\nequivalence within {margin:g} (dashed)")
    made.legend(*axes.get_legend_handles_labels(), loc="outside lower center", fontsize=7)
    return made


def planning_text(curves: Mapping[str, Curve]) -> str:
    """Say what 3, 12 and 24 seeds can see."""
    parts = []
    for name, curve in curves.items():
        at = {c[0]: c for c in curve}
        parts.append(f"{name}: " + ", ".join(f"{n} seeds {at[n][1]:.2f} (TOST {at[n][2]:.2f})" for n in (3, 12, 24)))
    return "; ".join(parts)
