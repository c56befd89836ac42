"""plan-seeds: how many seeds an effect needs, from a pilot.

python -m analysis.planning --runs PILOT --effect 1.0
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from analysis import arguments
from analysis.errors import guarded
from analysis.plan import power_curve
from analysis.study import Study, make_study
from analysis.tables import planning
from analysis.tables.format import markdown
from analysis.tables.table import plain


def main(argv: list[str] | None = None) -> int:
    """Print seeds needed, power curve, detectable effect and TOST power at 3, 5, 12 and 24 seeds.

    --json prints {"tables": {"planning": {"rows": [...], "notes": [...]}}, "curves": [...]} alone on stdout; --out
    writes planning.md, or planning.json. Exit code 2 and one line on stderr for anything that does not fit;
    3 if there are numbers, but records were left out as broken: stderr names them.
    """
    return guarded(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    parser = arguments.parser(
        "python -m analysis.planning", "Seeds at which the verdict has the power promised, from a pilot."
    )
    parser.add_argument("--effect", type=float, default=1.0, help="effect to detect [points]")
    parser.add_argument("--power", type=float, default=0.8, help="power expected")
    parser.add_argument("--arms", type=int, default=None, help="methods of the study; as the pilot where not given")
    parser.add_argument("--json", action="store_true", help="print JSON at full precision")
    parser.add_argument("--out", type=Path, default=None, help="folder to write to as well")
    parsed = parser.parse_args(argv)
    study = make_study(parsed.runs, arguments.options(parsed))
    table = planning.build(study, parsed.effect, parsed.power, parsed.arms)
    curves = _curves(study, table.rows)
    if parsed.json:
        text = json.dumps({"tables": {"planning": table.as_json()}, "curves": curves}, indent=1, allow_nan=False) + "\n"
    else:
        text = "\n".join([markdown(table), *(_sentence(c, parsed.power) for c in curves)]) + "\n"
    if parsed.out is not None:
        arguments.write(parsed.out / ("planning.json" if parsed.json else "planning.md"), text)
    sys.stdout.write(text)
    return study.exit_code()


def _curves(study: Study, rows: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Give one power curve per block and family."""
    curves = []
    for row in {
        (r["model"], r["task"], r["regime"], r["steps"], r["evaluation"], r["family"]): r for r in rows
    }.values():
        if row["sd_difference"] > 0:
            points = power_curve(row, study.options)
            kept = ("model", "campaign", "regime", "steps", "family", "arms", "sd_difference", "effect", "seeds_needed")
            curve = [{"seeds": n, "power": p, "tost_power": t} for n, p, t in points]
            curves.append(plain({k: row[k] for k in kept}) | {"curve": curve})
    return curves


def _sentence(curve: dict[str, Any], power: float) -> str:
    shown = {p["seeds"]: p["power"] for p in curve["curve"]}
    values = ", ".join(f"{n}: {shown[n]:.2f}" for n in (3, 5, 8, 12, 16, 24, 32, 40))
    needed = curve["seeds_needed"] if curve["seeds_needed"] is not None else "more than 10000"
    where = " / ".join(str(curve[k]) for k in ("model", "campaign", "regime", "steps") if curve[k] is not None)
    return (
        f"{where}, {curve['family']}: {needed} seeds for {curve['effect']:g} points at power {power:g}, Holm over "
        f"{curve['arms']}. Power of the verdict by seeds: {values}."
    )


if __name__ == "__main__":
    sys.exit(main())
