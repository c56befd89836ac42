"""Tables as Markdown, LaTeX (booktabs) and CSV. The same cells in the first two; CSV holds the rows at full
precision.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence

from analysis.errors import unknown
from analysis.tables.table import Table, View, plain, show

EXTENSIONS = {"md": "md", "latex": "tex", "csv": "csv"}

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
}
_LEFT = ("text",)
# What T1 fonts hold beyond ASCII: Latin-1, Latin Extended-A but for these, and common punctuation.
_LACKING = frozenset("\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167\u017f")
_PUNCTUATION = frozenset("\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u2022")


def render(table: Table, fmt: str) -> str:
    """Write a table as "md", "latex" or "csv". Raises AnalysisError for another format."""
    writers = {"md": markdown, "latex": latex, "csv": as_csv}
    if fmt not in writers:
        raise unknown("format", fmt, writers)
    return writers[fmt](table)


def markdown(table: Table) -> str:
    """Write all views, then the notes as a list."""
    parts = [f"## {table.title}"]
    for view in table.views:
        head = [c.title for c in view.columns]
        rule = ["---" if c.style in _LEFT else "---:" for c in view.columns]
        body = [[show(r, c).replace("|", "\\|") for c in view.columns] for r in view.rows]
        lines = "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *body])
        parts.append(f"**{view.title}**\n\n{lines}" if view.title else lines)
    if table.notes:
        parts.append("\n".join(f"- {n}" for n in table.notes))
    return "\n\n".join(parts) + "\n"


def latex(table: Table) -> str:
    """Write a file that compiles as it stands and can also be \\input into a document that loads booktabs and
    graphicx.
    """
    return f"{_HEAD}{latex_body(table)}{_TAIL}"


def latex_document(tables: Sequence[Table]) -> str:
    """Write one document with all tables."""
    return f"{_PREAMBLE}\\begin{{document}}\n{''.join(latex_body(t) for t in tables)}\\end{{document}}\n"


def latex_body(table: Table) -> str:
    """Write the tables and notes alone."""
    parts = [f"\\section*{{{escape(table.title)}}}\n"]
    parts += [_latex_view(v) for v in table.views]
    if table.notes:
        items = "\n".join(f"\\item {_first(escape(n))}" for n in table.notes)
        parts.append(f"\\begin{{itemize}}\\footnotesize\n{items}\n\\end{{itemize}}\n")
    return "".join(parts)


def _latex_view(view: View) -> str:
    spec = "".join("l" if c.style in _LEFT else "r" for c in view.columns)
    head = " & ".join(escape(c.title) for c in view.columns)
    body = "".join(_first(" & ".join(escape(show(r, c)) for c in view.columns)) + " \\\\\n" for r in view.rows)
    tabular = f"\\begin{{tabular}}{{{spec}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}"
    title = f"\\textbf{{{escape(view.title)}}}\\par\\smallskip\n" if view.title else ""
    fitted = f"\\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n{tabular}}}"
    return f"\\begin{{center}}\n{title}{fitted}\n\\end{{center}}\n"


def escape(text: str) -> str:
    """Escape LaTeX's special characters; a minus before a digit becomes a math minus.

    A character that a plain document's fonts lack would stop the compiler: it is written as its code point, [U+65B9].
    """
    composed = unicodedata.normalize("NFC", text)
    escaped = "".join(_ESCAPES.get(c) or (c if _in_fonts(c) else f"[U+{ord(c):04X}]") for c in composed)
    return _minus(escaped)


def _in_fonts(c: str) -> bool:
    return " " <= c <= "~" or ("\u00a0" <= c <= "\u017f" and c not in _LACKING) or c in _PUNCTUATION


def _first(text: str) -> str:
    """Keep a leading [ or * from being read as an argument of the \\\\ or \\item before it."""
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _minus(text: str) -> str:
    out = []
    for i, c in enumerate(text):
        starts = i == 0 or text[i - 1] in " [("
        out.append("$-$" if c == "-" and starts and i + 1 < len(text) and text[i + 1].isdigit() else c)
    return "".join(out)


def as_csv(table: Table) -> str:
    """Write the rows with every field at full precision; a missing number is an empty cell."""
    rows = [plain(r) for r in table.rows]
    fields = list(dict.fromkeys(k for r in rows for k in r))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fields, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in row.items()})
    return stream.getvalue()


_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[a4paper,landscape,margin=15mm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\setlength{\parindent}{0pt}
"""

# Inside a document \@nodocument is \relax; before \begin{document} it is an error message.
_HEAD = (
    "% Compile this file as it stands, or \\input it in a document that loads booktabs and graphicx.\n"
    "\\expandafter\\ifx\\csname @nodocument\\endcsname\\relax\n\\def\\standalonetable{0}\\else\n"
    "\\def\\standalonetable{1}\n" + _PREAMBLE + "\\begin{document}\n\\fi\n"
)
_TAIL = "\\if1\\standalonetable\n\\end{document}\n\\fi\n"
