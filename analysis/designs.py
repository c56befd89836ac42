"""designs: what a design promises, and what a look of a study decides, as commands with JSON in and out.

python -m analysis.designs plan --design sequential --arms 12 --sigma 0.97
python -m analysis.designs freeze --settings FILE
python -m analysis.designs cells --runs FILE
python -m analysis.designs look --protocol FILE --cells FILE --look 2 --before FILE
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from analysis.arguments import Parser
from analysis.errors import AnalysisError, guarded
from analysis.freezing import cells_of, freeze, needs
from analysis.load.records import read_json
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import Cell, sentence
from analysis.stats.design import Design, design
from analysis.stats.look import take_look
from analysis.stats.protocol import look_as_json, look_from_json, read
from analysis.stats.simulation import operating
from analysis.tables.format import markdown
from analysis.tables.table import Row, Table, View, columns, unique

_EFFECTS = (0.0, 0.5, 1.0, 1.5, 2.0)  # margins
_COLUMNS = columns(
    "design",
    "effect|true effect of all arms|score",
    "superior||ratio",
    "no_gain|no gain|ratio",
    "undecided||ratio",
    "runs|expected runs|int",
    "most_runs|most runs|int",
)


def plan(name: str, arms: int, sigma: float, margin: float, rng: np.random.Generator, *, studies: int = 2000) -> Table:
    """Simulate a design with its shipped rules and guards, beside the fixed one, at effects of 0 to 2 margins.

    sigma: sd of a run [points]. Raises AnalysisError for what fits no design.
    """
    if not sigma > 0 or studies < 1:
        raise AnalysisError(f"sigma={sigma!r}, studies={studies!r}; expected points > 0 and 1 or more studies")
    rows: list[Row] = []
    for made in dict.fromkeys((design(name, arms, margin=margin), design("fixed", arms, margin=margin))):
        effects = tuple(margin * e for e in _EFFECTS)
        found = operating(made, boundaries(made, rng), effects, sigma, rng, studies=studies)
        common = {"design": made.name, "sigma": sigma, "margin": margin, "arms": arms, "looks": _looks(made)}
        rows += [common | asdict(row) for row in found]
    notes = [
        f"{studies} simulated studies per row, sd of a run {sigma:g} points, {arms} arms; superior over all arms by "
        f"the design's family rule, no gain: {margin:g} points ruled out; guards on.",
        *(f"{r['design']}: runs per arm/controls at each look: {r['looks']}" for r in rows),
    ]
    view = View(title="", columns=_COLUMNS, rows=tuple(rows))
    return Table(name="plan", title="What a design promises", rows=tuple(rows), views=(view,), notes=unique(notes))


def _looks(made: Design) -> str:
    return ", ".join(f"{n}/{c}" for n, c in zip(made.runs_J, made.controls_J, strict=True))


def look(
    protocol: Mapping[str, Any],
    cells: Mapping[str, Any],
    number: int,
    before: Mapping[str, Any] | None = None,
    suspects: int = 0,
) -> dict[str, Any]:
    """Decide a look (from 1): {"look", "decisions", "refused", "sentences", "needs"}; needs: the next look's runs.

    cells: {method: {seed: {"state", "score"}}}. Raises AnalysisError naming what blocks the look or does not fit.
    """
    made = read(protocol)
    found = take_look(
        made.design,
        made.bounds,
        number,
        arms=made.arms,
        control=made.control,
        seeds=made.seeds,
        cells=_cells(cells),
        before=None if before is None else look_from_json(before),
        suspects=suspects,
    )
    said = [sentence(made.design, d, made.control, refused=found.refused) for d in found.decisions]
    return look_as_json(found) | {"sentences": said, "needs": needs(made, found)}


def _cells(stored: Mapping[str, Any]) -> dict[tuple[str, int], Cell]:
    try:
        return {
            (method, int(seed)): Cell(
                state=cell["state"], score=float("nan") if cell.get("score") is None else float(cell["score"])
            )
            for method, seeds in stored.items()
            for seed, cell in seeds.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnalysisError(f"cells: {error!r}; expected {{method: {{seed: {{state, score}}}}}}") from error


def main(argv: list[str] | None = None) -> int:
    """Run one of the commands. Exit code 2 and one line on stderr for anything that does not fit."""
    return guarded(lambda: _run(argv))


def _parser() -> Parser:
    parser = Parser(prog="python -m analysis.designs", description="Designs that stop when they know.")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("plan", formatter_class=argparse.ArgumentDefaultsHelpFormatter).add_argument
    add("--design", default="sequential", help="sequential, screen or fixed")
    add("--arms", type=int, required=True, help="methods compared with the control")
    add("--sigma", type=float, required=True, help="sd of a run [points], see the table noise")
    add("--margin", type=float, default=1.0, help="gain to show or to rule out [points]")
    add("--studies", type=int, default=2000, help="simulated studies per row")
    add("--seed", type=int, default=0, help="seed of the simulation")
    add("--json", action="store_true", help="print JSON at full precision")
    add = commands.add_parser("freeze", help="what a study fixes before its first run, and its runs").add_argument
    add("--settings", type=Path, required=True, help="JSON {design, arms, control, seeds, margin, ...}")
    add("--against", type=Path, default=None, help="JSON of what was fixed before: any change is an error")
    add = commands.add_parser("cells", help="the scores that a look needs").add_argument
    add("--score", default="last", help="last or mean:K")
    add("--runs", type=Path, required=True, help="JSON {method: {seed: {state, record}}}")
    add = commands.add_parser("look", formatter_class=argparse.ArgumentDefaultsHelpFormatter).add_argument
    add("--protocol", type=Path, required=True, help="JSON of what the study fixed before its first run")
    add("--cells", type=Path, required=True, help="JSON {method: {seed: {state, score}}}")
    add("--look", type=int, required=True, help="number of the look, from 1")
    add("--before", type=Path, default=None, help="JSON of the look before")
    add("--suspects", type=int, default=0, help="runs whose evaluation is suspect")
    return parser


def _run(argv: list[str] | None) -> int:
    parsed = _parser().parse_args(argv)
    if parsed.command == "plan":
        rng = np.random.default_rng(parsed.seed)
        table = plan(parsed.design, parsed.arms, parsed.sigma, parsed.margin, rng, studies=parsed.studies)
        found: dict[str, Any] = {"tables": {"plan": table.as_json()}}
        if not parsed.json:
            sys.stdout.write(markdown(table))
            return 0
    elif parsed.command == "freeze":
        found = freeze(read_json(parsed.settings), None if parsed.against is None else read_json(parsed.against))
    elif parsed.command == "cells":
        found = cells_of(read_json(parsed.runs), parsed.score)
    else:
        before = None if parsed.before is None else read_json(parsed.before)
        found = look(read_json(parsed.protocol), read_json(parsed.cells), parsed.look, before, parsed.suspects)
    sys.stdout.write(json.dumps(found, indent=1, allow_nan=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
