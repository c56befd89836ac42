"""What `evaluate` refuses before anything starts."""

from __future__ import annotations

import pytest

from dataflex_rl.evaluate import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], "'foo': wanted KEY=VALUE"),
        (["checkpoint=/nowhere"], "checkpoint=/nowhere: wanted a run record"),
        (["model=tiny", "dry_run=true"], "dry_run=true: an evaluation has no dry run"),
    ],
)
def test_one_line_and_exit_code_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
