"""What commands print: user text as it is, whatever the terminal can show, and into a pipe that nobody reads."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from dataflex_rl.output import SafeStream, plain_console, safe_output

PACKAGES = [Path(__file__).parents[2] / name for name in ("dataflex_rl", "analysis")]


def run(code: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, **options)


def test_brackets_and_colons_of_a_user_are_printed_as_they_are() -> None:
    out = io.StringIO()
    table = Table(title="[a/b]")
    table.add_column("x")
    text = "data.train_files=[/data/a.parquet,/b] [console,wandb] :warning: [/]"
    table.add_row(text)
    console = plain_console(out)
    console.width = 120
    console.print(table)
    console.print(text)
    lines = out.getvalue().splitlines()
    assert lines[0].strip() == "[a/b]"
    assert text in lines[4]
    assert lines[-1] == text


def test_no_console_of_rich_reads_markup() -> None:
    """Every console is made by `plain_console`; the one with fixed texts is that of the progress bar of a build."""
    makers = set()
    for file in (file for folder in PACKAGES for file in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                makers |= {file.name for alias in node.names if alias.name == "Console"}
    assert makers <= {"output.py", "progress.py"}


def test_characters_that_the_encoding_lacks_are_escaped() -> None:
    code = "from dataflex_rl.output import safe_output; safe_output(); print('löng ✓')"
    done = run(code, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.stdout, done.returncode) == (b"l\\xf6ng \\u2713\n", 0)


@pytest.mark.parametrize("flush", [True, False])
def test_a_closed_pipe_ends_nothing_and_changes_no_exit_code(flush: bool) -> None:
    code = (
        "import sys; from dataflex_rl.output import safe_output, plain_console; safe_output()\n"
        f"for n in range(20000): print('line', n, flush={flush}) if n else sys.stdin.read()\n"
        "plain_console().print('more'); sys.stdout.writelines(['x']); print('went on', file=sys.stderr); sys.exit(3)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    assert process.stderr.read() == b"went on\n"
    assert process.wait() == 3


def test_another_error_of_writing_is_raised(tmp_path: Path) -> None:
    closed = open(tmp_path / "x", "w")  # noqa: SIM115
    os.close(closed.fileno())
    stream = SafeStream(closed)
    stream.write("x")
    with pytest.raises(OSError, match="Bad file descriptor"):
        stream.flush()


def test_a_stream_is_guarded_once() -> None:
    code = (
        "import sys; from dataflex_rl.output import SafeStream, safe_output; safe_output(); first = sys.stdout\n"
        "safe_output(); print(sys.stdout is first, type(first).__name__, first.isatty())"
    )
    assert run(code).stdout == b"True SafeStream False\n"


def test_every_command_line_is_guarded() -> None:
    """Each module with a `main` that prints calls `safe_output`, or is entered through one that does."""
    missing = []
    for file in PACKAGES[0].rglob("*.py"):
        text = file.read_text()
        if 'if __name__ == "__main__":' in text and "safe_output()" not in text:
            missing.append(file.name)
    inner = {"launch.py", "server.py", "standin.py", "symbolic_worker.py", "validate.py"}  # log or pipe of a parent
    assert set(missing) - {"demo.py"} <= inner  # the demo prints through `run`


def test_safe_output_leaves_captured_streams_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    safe_output()
    assert sys.stdout is stream
