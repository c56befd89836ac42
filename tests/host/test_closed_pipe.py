"""A run whose output nobody reads any more, with a long temporary folder and a record below a path with `=`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.training import PATIENCE, environment


@pytest.mark.slow
def test_a_reader_that_leaves_ends_no_run_and_nothing_of_it_stays_outside_its_record(tmp_path: Path) -> None:
    """`run ... | head -1`: the run goes on to its end, with the right exit code, status and manifest."""
    temporary = tmp_path / ("x" * 100)
    temporary.mkdir()
    command = [
        sys.executable, "-m", "dataflex_rl.run", f"runs_dir={tmp_path / 'k=v'}", "trainer.total_training_steps=2",
        "trainer.logger=[console,wandb]", "regime.data_fraction=0.5",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, cwd="/", env=environment(TMPDIR=str(temporary)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"nothing chosen")
    process.stdout.close()
    said = process.stderr.read()
    assert (process.wait(timeout=PATIENCE), said) == (0, b"")
    (record,) = (tmp_path / "k=v").glob("default/*/uniform/seed_0")
    assert json.loads((record / "status.json").read_text())["state"] == "done"
    manifest = json.loads((record / "manifest.json").read_text())
    assert manifest["rows"]["data.train_files"] == {
        "read": 2400, "dropped": {"regime.data_fraction=0.5": 1200}, "cut": {}, "used": 1200
    }  # fmt: skip
    assert manifest["rows"]["data.val_files"]["used"] == 300
    assert manifest["wandb"]["where"].startswith(str(record))
    assert not list(temporary.glob("dfx-*"))
    assert not list(temporary.glob("ckpt_*"))
    assert not (temporary / "ray").exists()
