"""Tables as LaTeX: the same cells as in Markdown, and files that compile."""

import re
import shutil
import subprocess

import pytest
from analysis_synth import Sweep, csv_rows, write_csv

from analysis.options import Options
from analysis.study import make_study
from analysis.tables import build
from analysis.tables.format import escape, latex, latex_document, markdown
from analysis.tables.table import show


@pytest.fixture(scope="module")
def tables(records):
    return {t.name: t for t in build(make_study([str(records)], Options()), "all")}


def numbers(text):
    return re.findall(r"[-+]?\d+\.\d+|<0\.001|n/a", text)


def test_markdown_and_latex_hold_the_same_cells(tables):
    for table in tables.values():
        head = table.views and [c for v in table.views for r in v.rows for c in (show(r, col) for col in v.columns)]
        md, tex = markdown(table), latex(table).replace("$-$", "-").replace(r"\textless{}", "<")
        for cell in head or ():
            assert cell.replace("|", "\\|") in md
            assert escape(cell).replace("$-$", "-").replace(r"\textless{}", "<") in tex
        assert numbers(md.split("\n- ")[0]) == numbers(
            tex.split("\\begin{document}\n\\fi")[1].split("\\begin{itemize}")[0]
        )


def compiles(path, tmp_path):
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    if engine is None:
        text = path.read_text()
        assert text.count("\\begin{") == text.count("\\end{")
        for table in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
            rows = [r for r in table[1].split("\\\\\n") if "&" in r]
            assert {len(re.split(r"(?<!\\)&", r)) for r in rows} == {len(table[0])}
        return
    options = ["-halt-on-error", "-interaction=nonstopmode"] if "pdflatex" in engine else []
    done = subprocess.run([engine, *options, path.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert path.with_suffix(".pdf").exists()


def test_latex_compiles_alone_together_and_as_input(tables, tmp_path):
    (tmp_path / "pairing.tex").write_text(latex(tables["pairing"]))
    (tmp_path / "all.tex").write_text(latex_document(list(tables.values())))
    compiles(tmp_path / "pairing.tex", tmp_path)
    compiles(tmp_path / "all.tex", tmp_path)
    head = "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\n"
    outer = head + "\\input{pairing.tex}\nAfter.\n\\end{document}\n"
    (tmp_path / "outer.tex").write_text(outer)
    compiles(tmp_path / "outer.tex", tmp_path)


def test_names_of_any_script_compile(tmp_path, rng):
    rows = csv_rows(Sweep(methods=("baseline", "topk", "[1] per", "*")), rng)
    for row in rows:
        if row["method"] == "topk":
            row["method"] = "\u65b9\u6cd5 \u03b1\u2265\u00e9 \u201cq\u201d \U0001f600 e\u0301"
    made = build(make_study([str(write_csv(tmp_path / "runs.csv", rows))], Options()), "main,suspects")
    (tmp_path / "odd.tex").write_text(latex_document(made))
    compiles(tmp_path / "odd.tex", tmp_path)
    # A character that the fonts of a plain document lack is written as its code point.
    assert escape("\u65b9\u00e9\u2265") == "[U+65B9]\u00e9[U+2265]"
