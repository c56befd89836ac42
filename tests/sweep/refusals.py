"""What a command says when it refuses: one line and exit code 2."""

from __future__ import annotations

import pytest

from dataflex_rl.sweep.__main__ import main


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, entry: object = main) -> str:
    assert callable(entry)
    assert entry(list(arguments)) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    return error
