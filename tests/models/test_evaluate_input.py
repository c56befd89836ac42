"""What `evaluate` refuses before anything starts."""

from __future__ import annotations

import pytest

from dataflex_rl.evaluate import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["foo"], "'foo': expected KEY=VALUE"),
        (["checkpoint=/nowhere"], "checkpoint=/nowhere: expected a run record"),
        (["model=tiny", "dry_run=true"], "dry_run=true: an evaluation has no dry run"),
        (["modl=tiny"], "unknown setting 'modl'; the configuration has: actor_rollout_ref, "),
        (["model=tiny", "data.val_file=x"], "unknown setting 'data.val_file'; data has: apply_chat_template_kwargs, "),
        (["model=tinny"], "unknown model 'tinny'; known: llama3_1_8b, "),
        (["benchmark=text13"], "unknown benchmark 'text13'; known: aime24, "),
        (["model=tiny", "trainer=null"], "trainer=None: expected a block of settings: "),
        (["model=null"], "model=None: expected a name of this group; known: llama3_1_8b, "),
    ],
)
def test_one_line_and_exit_code_2(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert "search path" not in err
