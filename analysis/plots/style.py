"""House style of the figures, and their export. No pyplot: figures are made and dropped without global state."""

from __future__ import annotations

import io
import re

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Ink is replaced by currentColor in SVG, so that a figure follows the page in light and in dark.
INK, FAINT = "#010203", "#808182"
SERIES = ("#2b7bba", "#d9622b", "#3a9d5d", "#b04a9c", "#a8862a", "#5a62c8", "#c0392b", "#1f9aa0", "#7f7f7f", "#6b8e23",
          "#e377c2", "#8c564b", "#17becf")  # fmt: skip
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d")
GOOD, BAD, NEUTRAL = "#3a9d5d", "#d9622b", "#808182"

_RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "analysis",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
}


def figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Make a figure [inches] with `columns` axes side by side."""
    with rc_context(_RC):
        made = Figure(figsize=(width, height), layout="constrained")
        axes = [made.add_subplot(1, columns, i + 1) for i in range(columns)]
    return made, axes


def svg(made: Figure, title: str, text: str) -> str:
    """Give inline SVG with a title and a text equivalent, in the colour of the surrounding text."""
    stream = io.StringIO()
    with rc_context(_RC):
        made.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    drawn = stream.getvalue()
    drawn = drawn[drawn.index("<svg") :].replace(INK, "currentColor")
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r'(<svg [^>]*?)width="[^"]*" ?', r"\1", drawn, count=1)
    drawn = re.sub(r'(<svg [^>]*?)height="[^"]*" ?', r"\1", drawn, count=1)
    labels = f"<title>{_escaped(title)}</title><desc>{_escaped(text)}</desc>"
    end = drawn.index(">") + 1
    return drawn[: end - 1] + ' role="img">' + labels + drawn[end:]


def standalone_svg(made: Figure) -> str:
    """Give an SVG file on a white ground."""
    stream = io.StringIO()
    with rc_context(_RC):
        made.savefig(stream, format="svg", facecolor="white", metadata={"Date": None})
    return stream.getvalue()


def png(made: Figure, dpi: int = 150) -> bytes:
    """Give a PNG on a white ground."""
    stream = io.BytesIO()
    with rc_context(_RC):
        made.savefig(stream, format="png", dpi=dpi, facecolor="white")
    return stream.getvalue()


def colours(names: list[str]) -> dict[str, str]:
    """Give every name its colour, the same in all figures of a report."""
    return {name: SERIES[i % len(SERIES)] for i, name in enumerate(sorted(names))}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
