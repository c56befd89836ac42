"""Where the files of a run record lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dataflex_rl.record.files import RecordError


def record_path(runs_dir: str | Path, *, sweep: str, model: str, task: str, method: str, seed: int) -> Path:
    """Return <runs_dir>/<sweep>/<model>-<task>/<method>/seed_<k>, absolute.

    Raises:
        RecordError: a name would leave its folder (empty, with a slash, or made of dots).
    """
    for kind, name in {"sweep": sweep, "model": model, "task": task, "method": method}.items():
        if not name or "/" in name or os.sep in name or set(name) == {"."}:
            raise RecordError(f"{kind} {name!r} cannot name a folder of the run record")
    return Path(runs_dir).expanduser().resolve() / sweep / f"{model}-{task}" / method / f"seed_{seed}"


@dataclass(frozen=True)
class RunRecord:
    """The folder of one run. Holds paths only: nothing is read, written or created by having one."""

    path: Path

    def create(self) -> RunRecord:
        """Create the folder where it is missing; RecordError if that fails."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError.of("create", self.path, error) from error
        return self

    @property
    def config(self) -> Path:
        """The fully resolved configuration."""
        return self.path / "config.yaml"

    @property
    def manifest(self) -> Path:
        """What was run: method, seed, versions, digests."""
        return self.path / "manifest.json"

    @property
    def metrics(self) -> Path:
        """One line per finished step."""
        return self.path / "metrics.jsonl"

    @property
    def eval(self) -> Path:
        """Correct and total per benchmark, untrained and trained."""
        return self.path / "eval.json"

    @property
    def eval_items(self) -> Path:
        """One line per evaluated item and phase; eval.json is counted from it."""
        return self.path / "eval_items.jsonl"

    @property
    def eval_during(self) -> Path:
        """One line per evaluated item and step of the evaluations during training, where there are any."""
        return self.path / "eval_during.jsonl"

    @property
    def cost(self) -> Path:
        """Tokens, prompts and seconds."""
        return self.path / "cost.json"

    @property
    def predictions(self) -> Path:
        """How good the solve rates were that a prompt selector predicted; of other runs there is none."""
        return self.path / "predictions.json"

    @property
    def status(self) -> Path:
        """The state of the run."""
        return self.path / "status.json"

    @property
    def lock(self) -> Path:
        """Which process works on the record; empty when none does."""
        return self.path / "lock.json"

    @property
    def checkpoints(self) -> Path:
        """verl's checkpoints: global_step_<k>/ and a tracker file."""
        return self.path / "checkpoints"

    @property
    def tracker(self) -> Path:
        """The file in which verl looks up the newest checkpoint."""
        return self.checkpoints / "latest_checkpointed_iteration.txt"

    @property
    def log(self) -> Path:
        """What the training processes print."""
        return self.path / "train.log"

    @property
    def trace(self) -> Path:
        """One line per response, where dataflex.trace is on."""
        return self.path / "trace.jsonl"
