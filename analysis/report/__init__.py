"""One self-contained page: `python -m analysis.report --runs SOURCE --out report.html`.

page     the frame: style, script, contents
html     tables and figures as HTML
words    verdicts and audit in sentences
blocks   per block: forest plot, heat map, tables
curves   per block: learning and policy curves, score against tokens
cli      the command line
"""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from analysis.report.cli import main as run  # matplotlib loads only where figures are drawn

    return run(argv)
