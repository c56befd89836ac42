"""One attempt at a run: lock its record, decide where to continue, train, watch, and close the record."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dataflex_rl import record as rec
from dataflex_rl.config.inputs import Inputs, make_inputs, other_configuration
from dataflex_rl.config.plan import Plan
from dataflex_rl.config.sources import FILES, MODEL
from dataflex_rl.data.benchmarks.limits import item_limits
from dataflex_rl.data.benchmarks.rates import flags
from dataflex_rl.errors import ConfigError
from dataflex_rl.record.evaluation import read_items
from dataflex_rl.record.owner import acquire, supervisor_alive
from dataflex_rl.record.pairs import FIELD, comparability
from dataflex_rl.record.status import now
from dataflex_rl.runtime.console import Console, Phase, follow
from dataflex_rl.runtime.processes import TrainingProcess, child_environment, interruptible
from dataflex_rl.runtime.scratch import scratch_folder
from dataflex_rl.runtime.untrained import remember, use_known
from dataflex_rl.runtime.uploader import Uploader
from dataflex_rl.seeding import dataset_fingerprint

_NAMES = ("method", "scorer", "actuator", "mixer", "prompt_selector")  # of the plan, for the manifest


def execute(plan: Plan, *, console: Console | None = None) -> int:
    """Run, continue or report the run of a plan; returns the exit code.

    0: done (now or before); 1: training failed; 130: interrupted.

    Raises:
        ConfigError: the record belongs to another configuration, or another process works on it.
    """
    view = console or Console()
    record = rec.RunRecord(Path(plan.run_dir))
    with _locked(record) as lock:
        if plan.settings["force"]:
            lock.set_aside()
        _refuse_other(record, plan)
        if rec.is_done(record, plan.steps):
            return _report(view, record, "done before; force=true runs it again")
        attempt = _Attempt(plan, record, make_inputs(plan.settings))
        attempt.open()
        if attempt.lacks_nothing():
            return attempt.close(view)
        return attempt.train(view, lock)


@contextmanager
def _locked(record: rec.RunRecord) -> Iterator[rec.RecordLock]:
    """Hold the record; where a killed run's processes are still ending, wait for them."""
    deadline = time.monotonic() + 30.0
    while True:
        try:
            lock = acquire(record)
            break
        except rec.RecordBusy:
            if supervisor_alive(record) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    try:
        yield lock
    finally:
        lock.release()


def _refuse_other(record: rec.RunRecord, plan: Plan) -> None:
    """Refuse a record that another configuration wrote."""
    difference = other_configuration(record, plan.settings)
    if difference:
        raise ConfigError(
            f"run record {record.path} was written with another configuration ({difference}); "
            "use another sweep= or runs_dir=, or force=true to start over (the old record is kept)"
        )


def _report(view: Console, record: rec.RunRecord, text: str, notes: Sequence[str] = ()) -> int:
    """Show the result of a finished run."""
    evaluation = rec.read_evaluation(record)
    assert evaluation is not None, "a done run has its evaluation"
    view.phase(text)
    suspect = flags(item for item in read_items(record) if item["phase"] == "trained")
    view.done(evaluation, record.path, [*suspect, *notes])
    return 0


class _Attempt:
    """The state of one attempt."""

    def __init__(self, plan: Plan, record: rec.RunRecord, inputs: Inputs) -> None:
        self._plan, self._record, self._inputs, self._settings = plan, record, inputs, inputs.settings
        self._from = 0
        self._uploader = Uploader(record, self._settings["wandb"])

    def open(self) -> None:
        """Cut the record back to its newest usable checkpoint and write configuration, manifest and status."""
        if not self.lacks_nothing():
            self._from = rec.resumable_checkpoint(self._record) or 0
        if self._from and not rec.has_evaluation(self._record, "untrained"):
            raise ConfigError(
                f"run record {self._record.path} has a checkpoint at step {self._from} but no evaluation of the "
                "untrained model, which is measured once; force=true starts over"
            )
        rec.write_config(self._record, self._settings)
        if rec.read_manifest(self._record) is None:
            rec.write_manifest(self._record, **self._manifest(), record_id=uuid.uuid4().hex)
        rec.update_manifest(self._record, rows={key: rows.as_dict() for key, rows in self._inputs.rows.items()})

    def _manifest(self) -> dict[str, Any]:
        settings, plan, data = self._settings, self._plan, self._settings["data"]
        names = [data[key.removeprefix("data.")] for key in FILES]
        train, val = (dataset_fingerprint(files, prompt_column=data["prompt_key"]) for files in names)
        return {
            **{key: getattr(plan, key) for key in (*_NAMES, "model", "task", "seed", "steps")},
            "sweep": settings["sweep"],
            "host": plan.host,
            "regime": plan.regime,
            "config_hash": rec.config_hash(settings, self._inputs.ignored),
            "dataset_fingerprint": train,
            FIELD: comparability(settings),
            "evaluation_digest": evaluation_digest(settings, val),
            "git_revision": rec.git_revision(Path(__file__).parent),
            "stop_at_tokens": settings["stop_at"]["tokens"],
            "model_path": self._inputs.names.get(MODEL, str(settings["actor_rollout_ref"]["model"]["path"])),
        }

    def lacks_nothing(self) -> bool:
        """Return whether all steps and both evaluations are there, so that only the closing is missing."""
        return len(rec.read_metrics(self._record)) == self._last_step() and all(
            rec.has_evaluation(self._record, phase) for phase in ("untrained", "trained")
        )

    def _last_step(self) -> int:
        return rec.last_step(self._record, self._plan.steps)

    def train(self, view: Console, lock: rec.RecordLock) -> int:
        """Start the training process, with a temporary folder of its own, and watch it to its end."""
        with scratch_folder() as scratch:
            return self._train(view, lock, scratch)

    def _train(self, view: Console, lock: rec.RecordLock, scratch: Mapping[str, str]) -> int:
        rec.begin_attempt(self._record, steps=self._plan.steps, step=self._from)
        view.start(self._plan.as_dict(), from_step=self._from)
        said = [line for line in self._plan.warnings if line not in self._plan.rows]  # rows are counted anew by now
        view.warn([*said, *(rows.line(key) for key, rows in self._inputs.rows.items() if rows.needs_a_look)])
        known = bool(self._from) or self._know_untrained(view)
        changes = ["trainer.val_before_train=false"] if known else []
        environment = {**child_environment(self._settings["host"].get("env") or {}), **scratch}
        since = self._record.log.stat().st_size if self._record.log.exists() else 0
        self._uploader.start()
        with interruptible():
            process = TrainingProcess(self._record.path, changes, environment, self._record.log)
            try:
                lock.add_process(process.pid)
                for event in follow(self._record, process.alive, threading.Event(), after_step=self._from):
                    view.phase(event.text) if isinstance(event, Phase) else view.step(event.line)
                code = process.wait()
            except KeyboardInterrupt:
                return self._interrupt(view, process)
            except BaseException as error:
                process.stop()
                self._uploader.stop()
                view.close()
                with suppress(rec.RecordError):  # a record that cannot be written is the likely reason
                    rec.update_status(self._record, state="failed", phase="", error=str(error) or repr(error))
                raise
        return self.close(view) if code == 0 and self.lacks_nothing() else self._fail(view, code, since)

    def _evaluation(self) -> str:
        return str((rec.read_manifest(self._record) or {})["evaluation_digest"])

    def _know_untrained(self, view: Console) -> bool:
        """Return whether the untrained model was measured before, by this run or another one; then it is written."""
        if not self._settings["trainer"]["val_before_train"]:
            return False
        if rec.has_evaluation(self._record, "untrained"):
            return True
        if not use_known(self._record, self._settings, self._evaluation()):
            return False
        view.phase("the untrained model was measured by an earlier run: its evaluation is used again")
        rec.update_manifest(self._record, untrained_evaluation="known from an earlier run")
        return True

    def close(self, view: Console) -> int:
        """Write the cost, mark the run done and show the result."""
        remember(self._record, self._settings, self._evaluation())
        rec.write_cost(self._record, prompts_per_step=self._plan.prompts_per_step, gpus=self._plan.gpus)
        rec.update_manifest(self._record, finished=now())
        rec.update_status(
            self._record, state="done", step=self._last_step(), steps=self._last_step(), phase="", error=None
        )
        lacking = rec.why_not_done(self._record, self._plan.steps)
        assert lacking is None, lacking
        trouble = self._uploader.finish()
        copy = f"W&B copy: {self._uploader.where}" if self._uploader.where else ""
        made, planned = self._last_step(), self._plan.steps
        ended = f"ended after step {made} of {planned}: stop_at.tokens is reached" if made < planned else ""
        return _report(view, self._record, "", list(filter(None, (trouble, copy, ended))))

    def _interrupt(self, view: Console, process: TrainingProcess) -> int:
        for number in (signal.SIGINT, signal.SIGTERM):  # asked again, the end is the same
            signal.signal(number, signal.SIG_IGN)
        process.stop()
        rec.update_status(self._record, state="interrupted", phase="", error="interrupted")
        self._uploader.stop()
        view.interrupted(self._record.path)
        return 130

    def _fail(self, view: Console, code: int, since: int) -> int:
        error = f"the training process ended with exit code {code}" if code else "training ended before its last step"
        rec.update_status(self._record, state="failed", phase="", error=error)
        self._uploader.stop()
        view.failed(error, self._record.log, since=since)
        return 1


def evaluation_digest(resolved: Mapping[str, Any], data: str) -> str:
    """Return the identity of what is measured: the data (their fingerprint), sampling, and each item's token limit."""
    longest = resolved["data"]["max_response_length"]
    limits = item_limits(resolved["data"]["val_files"], longest)
    sampling = resolved["actor_rollout_ref"]["rollout"]["val_kwargs"]
    return rec.config_hash({"data": data, "sampling": sampling, "response_length": longest, "limits": limits})
