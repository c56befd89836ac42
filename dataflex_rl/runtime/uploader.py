"""The W&B copy of a run, kept by a process of its own: whatever happens to it, the run goes on.

What came of it is in the manifest under `wandb`: mode, id, project, steps, where it is, and an error if there was one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from dataflex_rl.config.wandb_mode import mode_of
from dataflex_rl.record import RecordError, RunRecord, update_manifest

_PATIENCE = 120.0  # [s] for W&B to write or send what it has


class Uploader:
    """The copy of one attempt. `finish` or `stop` ends it; `where` is then its page or folder.

    Args:
        block: the configuration's `wandb`.
    """

    def __init__(self, record: RunRecord, block: Mapping[str, Any] | None) -> None:
        self._record, self._mode = record, mode_of(block, os.environ)
        self._process: subprocess.Popen[str] | None = None
        self.where: str | None = None

    def start(self) -> None:
        """Begin to log steps as they come, where that is of use: online."""
        if self._mode == "online":
            self._process = self._spawn("--follow")

    def finish(self) -> str | None:
        """Complete the copy of a finished run; return one line about what went wrong, None if nothing did."""
        if self._mode == "disabled":
            return None
        process = self._process or self._spawn()
        self._process = None
        try:
            out, err = process.communicate(timeout=_PATIENCE)
            result = self._result(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            result = {"mode": self._mode, "error": f"no answer within {_PATIENCE:.0f} s"}
        try:
            update_manifest(self._record, wandb=result)
        except RecordError as error:
            return f"W&B: {error}"
        if result["error"] is None:
            self.where = result["where"]
            return None
        return f"W&B ({self._mode}) failed: {result['error']}; the run record is complete, log it by hand with " + (
            f"python -m dataflex_rl.runtime.wandb_log {self._record.path}"
        )

    def stop(self, grace: float = 2.0) -> None:
        """End the copy of a run that did not finish; the next attempt continues it."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _spawn(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "dataflex_rl.runtime.wandb_log", str(self._record.path), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _result(self, code: int, out: str, err: str) -> dict[str, Any]:
        """Return what the process said on its last line, else why it said nothing."""
        lines = out.strip().splitlines()
        if code == 0 and lines:
            value = json.loads(lines[-1])
            assert isinstance(value, dict)
            return value
        said = [line for line in err.strip().splitlines() if line.strip()]
        return {"mode": self._mode, "error": said[-1] if said else f"exit code {code}"}
