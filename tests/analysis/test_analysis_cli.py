"""The command line of the tables: files, exit codes, what is imported."""

import json
import subprocess
import sys

import pytest

from analysis.tables import TABLES
from analysis.tables.cli import main


def test_files_and_formats(records, tmp_path, capsys):
    for fmt, name in (("md", "main.md"), ("latex", "main.tex"), ("csv", "main.csv")):
        assert main(["--runs", str(records), "--table", "main", "--format", fmt, "--out", str(tmp_path)]) == 0
        assert str(tmp_path / name) in capsys.readouterr().out
        assert (tmp_path / name).stat().st_size > 100


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--table", "mian"], "unknown table 'mian'; known: main, mixers"),
        (["--margin", "-1"], "margin=-1.0"),
        (["--margin", "x"], "invalid float value"),
        (["--nothing"], "unrecognized arguments"),
        (["--out", "/proc/nowhere/x"], "cannot be written"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(records, capsys, arguments, part):
    assert main(["--runs", str(records), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert part in error


def test_json_is_everything_by_default_and_a_closed_pipe_is_no_crash(records, capsys):
    assert main(["--runs", str(records), "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["tables"]) == list(TABLES)
    command = f"{sys.executable} -m analysis.tables --runs {records} --json | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""


def test_module_entry_point_and_imports(records):
    code = (
        "import sys; from analysis.tables.cli import main; "
        f"code = main(['--runs', {str(records)!r}]); import analysis.report.cli, analysis.planning; "
        "bad = {'verl', 'ray', 'torch', 'wandb', 'matplotlib.pyplot'} & set(sys.modules); "
        "ours = {name for name in sys.modules if name.startswith('dataflex_rl.')}; "
        "bad |= {name for name in ours if not name.startswith(('dataflex_rl.record', 'dataflex_rl.errors'))}; "
        "sys.exit(f'imported {bad}' if bad else code)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    command = [sys.executable, "-m", "analysis.tables", "--runs", "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere: no such file or folder" in done.stderr
