"""`demo --help` is the demo's own usage, and starts nothing."""

from __future__ import annotations

import pytest

from dataflex_rl.demo import main


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["seed=1", "--help"]])
def test_help_is_short_and_its_own(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "dataflex-rl demo [runs_dir=FOLDER] [seed=K]" in out
    assert "Hydra" not in out
    assert out.count("\n") < 15
