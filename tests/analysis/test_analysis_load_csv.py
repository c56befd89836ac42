"""Published CSV layouts: what is read, and every bad input with file, row and column."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from analysis_synth import Sweep, csv_rows, write_csv

from analysis.errors import AnalysisError
from analysis.load import load

HEADER = "run_id,campaign,model,method,seed,steps,regime,math500,gsm8k"
ROW = "r1,main,m,baseline,1,300,,50.0,60.0"


def csv_file(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_everything_is_verbatim(tmp_path, rng):
    sweep = Sweep(methods=("baseline", "topk"), model="Qwen2.5-7B-Instruct", regime="sub25", steps=300)
    rows = csv_rows(sweep, rng, campaign="constrained")
    runs = load([str(write_csv(tmp_path / "x.csv", rows))])
    run = runs.runs[0]
    assert run.block == ("Qwen2.5-7B-Instruct", "constrained", "sub25", 300, "paper12")
    assert (run.method, run.seed, run.run_id) == ("baseline", 0, rows[0]["run_id"])
    assert {s.benchmark: s.accuracy for s in run.trained} == {b: rows[0][b] for b in list(rows[0])[7:]}
    frame = runs.frame()
    assert len(frame) == 6 * 12
    assert list(frame.columns[:7]) == ["model", "task", "regime", "steps", "evaluation", "method", "seed"]
    assert frame["accuracy"].between(0, 100).all()


def test_zero_is_a_score_and_blank_is_missing(tmp_path):
    source = csv_file(tmp_path, HEADER, "r1,main,m,baseline,1,300,,0.0,", "r2,main,m,topk,1,300,,10,20")
    cells = {s.benchmark: s.accuracy for s in load([source]).runs[0].trained}
    assert cells["math500"] == 0.0
    assert math.isnan(cells["gsm8k"])
    assert any("gsm8k is blank in 1 of 2 runs: missing, not 0" in n for n in load([source]).notes)


def test_the_difference_of_reading_a_blank_as_zero_is_named(tmp_path):
    source = csv_file(tmp_path, HEADER, "r1,main,m,baseline,1,300,,50.0,")
    # Skipping the blank reads 50, calling it 0 reads 25.
    assert any("25.00 points higher" in n for n in load([source]).notes)


def test_summary_layout(tmp_path):
    source = csv_file(tmp_path, "scale,name,seed,math,aime24,olympiadbench,minerva_math,gsm8k,gpqa",
                      "7b,baseline,1,75.9,,39.3,32.4,92.1,36.87")  # fmt: skip
    runs = load([source])
    assert runs.runs[0].block == ("7b", "runs", None, None, "runs (6 benchmarks)")
    assert runs.runs[0].trained[0].benchmark == "math"
    assert runs.runs[0].trained[0].total is None
    assert any("no logic benchmark" in n for n in runs.notes)
    assert any("'math' is not math500" in n for n in runs.notes)


@pytest.mark.parametrize(
    ("name", "lines", "parts"),
    [
        ("unknown benchmark", (HEADER + ",mmlu", ROW + ",1"), ("row 1", "'mmlu'", "known: math500")),
        ("accuracy above 100", (HEADER, ROW.replace("60.0", "100.5")), ("row 2", "'gsm8k'", "100.5", "0..100")),
        ("accuracy below 0", (HEADER, ROW, ROW.replace("50.0", "-1")), ("row 3", "'math500'", "-1")),
        ("no number", (HEADER, ROW.replace("50.0", "good")), ("row 2", "'math500'", "'good'", "not a number")),
        ("infinite", (HEADER, ROW.replace("50.0", "inf")), ("row 2", "'math500'", "inf")),
        ("seed", (HEADER, ROW.replace(",1,300", ",one,300")), ("row 2", "'seed'", "'one'", "whole number")),
        ("fractional steps", (HEADER, ROW.replace("300", "300.5")), ("row 2", "'steps'", "300.5")),
        ("no method", (HEADER, ROW.replace("baseline", "")), ("row 2", "'method'", "empty")),
        ("missing column", (HEADER.replace("seed,", ""), ROW.replace(",1,", ",")), ("row 1", "'seed'")),
        ("short row", (HEADER, "r1,main,m,baseline,1,300"), ("row 2", "6 cells", "expected 9")),
        ("column twice", (HEADER + ",gsm8k", ROW + ",1"), ("row 1", "'gsm8k'", "twice")),
        (
            "no benchmark",
            ("run_id,campaign,model,method,seed,steps,regime", "r,c,m,b,1,300,"),
            ("no benchmark column",),
        ),
        ("header only", (HEADER,), ("no run",)),
        ("duplicate", (HEADER, ROW, ROW.replace("r1", "r9")), (":2", ":3", "'baseline'", "seed 1", "twice")),
    ],
)
def test_bad_input(tmp_path, name, lines, parts):
    source = csv_file(tmp_path, *lines)
    with pytest.raises(AnalysisError) as caught:
        load([source])
    message = str(caught.value)
    assert "\n" not in message
    assert all(p in message for p in (source, *parts)), (name, message)


def test_a_benchmark_without_a_column_is_named(tmp_path):
    notes = load([csv_file(tmp_path, HEADER, ROW)]).notes
    math_note = "runs.csv: no column for aime24, olympiadbench, minerva_math: the math score is the mean of the others"
    assert notes[0].startswith(math_note)
    assert sum("no logic benchmark" in n or "no science benchmark" in n for n in notes) == 2


def test_empty_file_and_binary_file(tmp_path):
    empty, binary = tmp_path / "a.csv", tmp_path / "b.csv"
    empty.write_text("")
    binary.write_bytes(b"\xff\xfe\x00\x80")
    for path, part in ((empty, "empty file"), (binary, "cannot be read")):
        with pytest.raises(AnalysisError, match=part):
            load([str(path)])


def test_sources_together_keep_their_blocks_apart(tmp_path, rng):
    one = write_csv(tmp_path / "one.csv", csv_rows(Sweep(model="a"), rng))
    two = write_csv(tmp_path / "two.csv", csv_rows(Sweep(model="b"), rng))
    assert {r.model for r in load([str(one), str(two)]).runs} == {"a", "b"}
    assert len(load([str(one), str(one)]).runs) == 27
    with pytest.raises(AnalysisError, match="duplicate run"):
        load([str(one), str(write_csv(tmp_path / "copy.csv", csv_rows(Sweep(model="a"), rng)))])


def test_fractions_are_turned_into_percent_and_said(tmp_path):
    lines = ["r1,main,m,baseline,1,300,,0.5,0.759", "r2,main,m,topk,1,300,,1,0", "r3,main,m,topk,2,300,,0.25,"]
    found = load([csv_file(tmp_path, HEADER, *lines)])
    cells = [[s.accuracy for s in run.trained] for run in found.runs]
    assert cells[:2] == [[50.0, 75.9], [100.0, 0.0]]
    assert (cells[2][0], math.isnan(cells[2][1])) == (25.0, True)
    assert "runs.csv: no cell exceeds 1: read as fractions, times 100" in found.notes


def test_a_table_of_zeros_and_one_in_percent_stay(tmp_path):
    zeros = load([csv_file(tmp_path, HEADER, "r1,main,m,baseline,1,300,,0,0")])
    assert [s.accuracy for s in zeros.runs[0].trained] == [0.0, 0.0]
    found = load([csv_file(tmp_path, HEADER, ROW, "r2,main,m,topk,1,300,,0.6,61.0")])
    assert [s.accuracy for s in found.runs[1].trained] == [0.6, 61.0]
    assert not any("fractions" in note for note in zeros.notes + found.notes)


def test_fractions_beside_percent_are_refused_by_row_and_column(tmp_path):
    with pytest.raises(AnalysisError, match=r"runs.csv:3: no cell exceeds 1, other rows are in percent"):
        load([csv_file(tmp_path, HEADER, ROW, "r2,main,m,topk,1,300,,0.5,0.6")])
    # One of the 500 items of math500 is 0.2 percent: 0.1 is none.
    lines = ["r1,main,m,baseline,1,300,,0.1,60.0", "r2,main,m,topk,1,300,,0.3,61.0"]
    with pytest.raises(AnalysisError, match=r"column of 'math500': 0.1 percent is less than one of its 500 items"):
        load([csv_file(tmp_path, HEADER, *lines)])
    lines = ["r1,main,m,baseline,1,300,,0.2,60.0", "r2,main,m,topk,1,300,,0.8,61.0"]
    notes = load([csv_file(tmp_path, HEADER, *lines)]).notes
    assert "runs.csv: math500 never exceeds 1: read as percent, as the other columns" in notes


def test_a_method_that_the_terminal_cannot_show_is_escaped(tmp_path):
    lines = [f"r{i},main,m,{method},{i},300,,{50 + i}.0,60.0" for i in (1, 2, 3) for method in ("baseline", "löng✓")]
    source = csv_file(tmp_path, HEADER, *lines)
    command = [sys.executable, "-m", "analysis.tables", "--runs", source, "--table", "main"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert b"l\\xf6ng\\u2713" in done.stdout
