"""The command line of the tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from analysis import arguments
from analysis.errors import guarded
from analysis.study import make_study
from analysis.tables import TABLES, build
from analysis.tables.format import EXTENSIONS, latex_document, render
from analysis.tables.table import Table


def main(argv: list[str] | None = None) -> int:
    """Print or write tables: python -m analysis.tables --runs SOURCE --table NAME|all --format md|latex|csv --out DIR.

    --json prints {"tables": {name: {"rows": [...], "notes": [...]}}} at full precision, alone on stdout (with --out
    it is written to tables.json as well). Exit code 2 and one line on stderr for anything that does not fit;
    3 if there are tables, but records were left out as broken: stderr names them.
    """
    return guarded(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    parser = arguments.parser("python -m analysis.tables", "Paired-seed tables from run records, CSV files or W&B.")
    names = f"{', '.join(TABLES)}, several with commas, or all; not given: main, with --json all"
    parser.add_argument("--table", default=None, help=names)
    parser.add_argument(
        "--at",
        default="steps",
        choices=("steps", "tokens"),
        help="tokens: the table at equal generated tokens in place of main, which is at the last step",
    )
    parser.add_argument("--format", default="md", choices=tuple(EXTENSIONS), help="format of the tables")
    parser.add_argument("--out", type=Path, default=None, help="folder to write to; stdout where not given")
    parser.add_argument("--json", action="store_true", help="print every number of every table as JSON")
    parsed = parser.parse_args(argv)
    study = make_study(parsed.runs, arguments.options(parsed))
    main_table = "tokens" if parsed.at == "tokens" else "main"
    names = parsed.table or ("all" if parsed.json else "main")
    tables = build(study, ",".join(main_table if n.strip() == "main" else n for n in names.split(",")))
    if parsed.out is not None:
        written = [(f"{t.name}.{EXTENSIONS[parsed.format]}", render(t, parsed.format)) for t in tables]
        if parsed.format == "latex" and len(tables) > 1:
            written.append(("tables.tex", latex_document(tables)))
        if parsed.json:
            written.append(("tables.json", _json(tables)))
        for name, text in written:
            arguments.write(parsed.out / name, text)
            if not parsed.json:
                sys.stdout.write(f"{parsed.out / name}\n")
    if parsed.json:
        sys.stdout.write(_json(tables))
    elif parsed.out is None:
        sys.stdout.write("\n".join(render(t, parsed.format) for t in tables))
    return study.exit_code()


def _json(tables: list[Table]) -> str:
    return json.dumps({"tables": {t.name: t.as_json() for t in tables}}, indent=1, allow_nan=False) + "\n"
