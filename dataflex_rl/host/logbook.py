"""Between the trainer and the run record: metrics lines, per-item evaluations, the decision trace.

Order of writing at the last step: checkpoint, evaluation, prompt-stream digest, metrics line. So a record whose last
line is there has everything, and one whose last line is missing is continued from an earlier checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataflex_rl.record import (
    MetricsLog,
    RunRecord,
    cut_metrics,
    has_evaluation,
    mark_checkpoint,
    read_metrics,
    update_manifest,
    update_status,
    write_evaluation,
    write_json,
)
from dataflex_rl.record.cost import cost_of
from dataflex_rl.record.during import cut_during, read_during, write_during
from dataflex_rl.record.files import guarded
from dataflex_rl.record.metrics import cut_trace
from dataflex_rl.record.owner import join

_SPENT = ("generated", "trained")  # tokens that an evaluation during training is held against


class Logbook:
    """The run record of one training process; without `run_dir` in the configuration it writes nothing."""

    def __init__(self, folder: str | None, *, evaluates: bool = False) -> None:
        self._record = RunRecord(Path(folder)) if folder else None
        self._evaluates = evaluates  # a record of one evaluation: no steps, and any model is the one to measure
        self._metrics: MetricsLog | None = None
        self._steps = 0
        self._applied = 0  # the last step on which the policy was applied
        self._spent: dict[str, int | None] = {}  # tokens until the end of the last step, generated and trained
        self._items: Sequence[Mapping[str, Any]] = ()  # of the evaluation after the running step

    @classmethod
    def open(cls, config: DictConfig) -> Logbook:
        """Return the logbook of a run."""
        return cls(OmegaConf.select(config, "run_dir"), evaluates=bool(config.trainer.get("val_only", False)))

    def begin(self, *, step: int, steps: int) -> None:
        """Start or continue at a step: what the record holds beyond it is cut off."""
        self._steps = steps
        if self._record is None:
            return
        join(self._record)
        if self._evaluates:
            self._steps = step
            update_status(self._record, step=step)
            return
        cut_metrics(self._record, step)
        cut_trace(self._record, step)
        cut_during(self._record, step)
        tokens = cost_of(read_metrics(self._record), prompts_per_step=0, gpus=0)["tokens"]
        self._spent = {name: tokens[name] for name in _SPENT}
        self._metrics = MetricsLog(self._record)
        update_status(self._record, step=step)

    def phase(self, name: str) -> None:
        """Say what the run is doing."""
        if self._record is not None:
            update_status(self._record, phase=name)

    def applied(self, step: int) -> None:
        """Note that the policy decided on the batch of a step."""
        self._applied = step

    def metrics(self, step: int, data: Mapping[str, Any]) -> None:
        """Append the line of a step. Step 0 (verl logs the untrained model's validation there) has no line."""
        if self._metrics is None or step == 0:
            return
        assert self._record is not None
        for name, before in self._spent.items():
            now = data.get(f"dataflex/tokens_{name}")
            self._spent[name] = None if before is None or now is None else before + round(now)
        if self._items:
            write_during(self._record, self._items, step=step, tokens=self._spent)
            self._items = ()
        self._metrics.append(step, data, applied=self._applied == step)
        update_status(self._record, step=step)

    def evaluation(self, items: Sequence[Mapping[str, Any]], *, step: int) -> None:
        """Keep the items of a validation: of the untrained (step 0) and the trained model (last step) on their own, of
        the model during training until its step has its tokens; the last one ends a series of those as well.
        """
        if self._record is None:
            return
        if not self._evaluates and (0 < step < self._steps or (step and read_during(self._record))):
            self._items = [{**item} for item in items]
        if step not in (0, self._steps):
            return
        phase = "untrained" if step == 0 else "trained"
        if phase == "untrained" and has_evaluation(self._record, phase):
            return
        write_evaluation(self._record, [{**item, "phase": phase} for item in items], steps=step)

    def trace(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append one line per response, the decisions of a step."""
        if self._record is None or not rows:
            return
        with guarded(self._record.trace), self._record.trace.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps({"step": step, **row}) + "\n" for row in rows))

    def digest(self, step: int, digest: Mapping[str, Any]) -> None:
        """Record the digests of the whole prompt stream, at the last step."""
        if self._record is not None and step == self._steps:
            update_manifest(self._record, prompt_stream_digest=dict(digest))

    def end_at(self, step: int) -> None:
        """Take this step for the last one."""
        self._steps = step

    def predictions(self, step: int, found: Mapping[str, Any] | None) -> None:
        """Record how good the predictions of a prompt selector were, at the last step."""
        if self._record is not None and found and step == self._steps:
            write_json(self._record.predictions, {"schema": 1, **found})

    def checkpoint(self, step: int) -> None:
        """Declare a checkpoint complete, after verl wrote all of it."""
        if self._record is not None:
            mark_checkpoint(self._record, step)

    def wrap(self, tracking: Any) -> RecordingLogger:
        """Return verl's logger, preceded by this logbook."""
        return RecordingLogger(self, tracking)


class RecordingLogger:
    """verl's Tracking interface (log, finish): the record first, then verl's own backends."""

    def __init__(self, book: Logbook, tracking: Any) -> None:
        self._book = book
        self._tracking = tracking

    def log(self, data: Mapping[str, Any], step: int, backend: Any = None) -> None:
        """Write one step."""
        self._book.metrics(step, data)
        self._tracking.log(data=data, step=step, backend=backend)

    def finish(self, exit_code: int = 0) -> None:
        """Close verl's backends."""
        self._tracking.finish(exit_code=exit_code)
