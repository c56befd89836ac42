"""The launcher: which run starts next, and what becomes of one that has ended.

Runs start in the order of the plan, seed by seed over the methods, so that pairs are complete early. A run that fails
is tried again after a wait; one whose configuration is refused is not; one whose machine vanished, or whose record
another process still holds, is, without counting as a failure. Nothing here knows Ray: see `dataflex_rl.sweep.fleet`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dataflex_rl.errors import ConfigError
from dataflex_rl.record import RecordError, Status
from dataflex_rl.runtime.outcome import Exit
from dataflex_rl.runtime.processes import served_environment
from dataflex_rl.runtime.task import Job, Outcome, passed_on
from dataflex_rl.sweep.fleet import Machines
from dataflex_rl.sweep.interrupt import Interrupt
from dataflex_rl.sweep.lock import SweepLock
from dataflex_rl.sweep.looks import Gate, Open
from dataflex_rl.sweep.options import LaunchOptions
from dataflex_rl.sweep.overview import Overview, overview
from dataflex_rl.sweep.plan import Run, Sweep
from dataflex_rl.sweep.records import lacking, run_command, score_of, statuses_of
from dataflex_rl.sweep.stop import Stop
from dataflex_rl.sweep.store import RunState, Store
from dataflex_rl.sweep.view import View, span

_POLL = 0.5  # [s] between two looks at what is not an ended run
_GRACE = 3.0  # [s] beyond its patience in which a cancelled run must have ended
_LONGEST = 600.0  # [s] a wait that doubles ends here
_STEPS = 2.0  # [s] between two looks at the records of running runs


class Launcher:
    """One launch of a sweep.

    Args:
        environment: the launcher's, of which runs on other machines get what concerns them.
        command: the command of a run.
        check: what an ended run lacks to be done.
        gate: which runs the sweep's design asks for.
    """

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        machines: Machines,
        options: LaunchOptions,
        view: View,
        *,
        environment: dict[str, str],
        command: Callable[[Run], list[str]] = run_command,
        check: Callable[[Run], str | None] = lacking,
        gate: Gate | None = None,
    ) -> None:
        self._sweep, self._store, self._machines, self._options, self._view = sweep, store, machines, options, view
        self._environment = {**passed_on(environment), **served_environment()}
        self._command, self._check, self._gate = command, check, gate or Open()
        before = store.read_states()
        self._states = {r.run_dir: self._start(r, before.get(r.run_dir, RunState())) for r in sweep.runs}
        self._others = {key: run_state for key, run_state in before.items() if key not in self._states}
        self._again: dict[str, float] = {}  # run_dir -> the monotonic time before which it is not tried again
        self._running: dict[Any, Run] = {}
        self._statuses: dict[str, Status] = {}
        self._looked = -float("inf")
        self._slots = 0

    def _start(self, run: Run, before: RunState) -> RunState:
        """Return how a run stands before the launch: done runs are done, all others wait."""
        if self._check(run) is None:
            return replace(before, state="done", error=None, score=score_of(run))
        return replace(before, state="waiting", failures=0, losses=0, error=None, started=None)

    def launch(self, lock: SweepLock, interrupt: Interrupt) -> int:
        """Run what is not done; return 0 if all are done in the end, 1 if some are not, 130 if it was told to stop.

        `interrupt` must be deferred: it is looked at between two moves.
        """
        done = sum(run_state.state == "done" for run_state in self._states.values())
        self._view.event(f"sweep {self._sweep.name}: {len(self._sweep.runs)} runs, {done} of them done before")
        stopped = self._loop(lock, interrupt)
        if stopped:
            self._view.event(f"{stopped.value}: ending {len(self._running)} running runs")
            self._end_running()
        self._store.write_states(self._all(), now=True)
        self._view.final(self.standing())
        if self._store.problem:
            self._view.event(f"the sweep's own files are incomplete: {self._store.problem}")
        if stopped:
            self._view.event(f"{stopped.value.partition(':')[0]}; the same command continues the sweep")
        if stopped and stopped not in (Stop.FAIL_FAST, Stop.NO_LOOK):
            return Exit.INTERRUPTED
        if stopped:
            return 1
        return int(any(self._states[run.run_dir].state != "done" for run in self._wanted()))

    def _wanted(self) -> list[Run]:
        """Return the runs that were started or are asked for: those that a design does without are none of them."""
        return [r for r in self._sweep.runs if self._states[r.run_dir].state != "waiting" or self._gate.asks_for(r)]

    def standing(self) -> Overview:
        """Return where the sweep stands."""
        runs = [{key: getattr(r, key) for key in ("method", "seed", "run_dir", "steps")} for r in self._wanted()]
        return overview(runs, self._states, self._statuses, slots=self._slots, now=time.time())

    def _loop(self, lock: SweepLock, interrupt: Interrupt) -> Stop | None:
        """Start and collect runs until none is left; return why it stopped before, None if it did not."""
        while True:
            if interrupt.asked:
                return Stop.INTERRUPTED
            if lock.lost:
                return Stop.TAKEN_OVER
            if self._store.cancel.exists():
                return Stop.CANCELLED
            try:
                for line in self._gate.advance(self._states):
                    self._view.event(line)
            except (ConfigError, RecordError) as error:
                self._view.event(f"error: {error}")
                return Stop.NO_LOOK
            self._fill()
            if not self._running and not any(self._waits(run) for run in self._sweep.runs):
                return None
            ended: Sequence[tuple[Any, Outcome]] = []
            if self._running:
                ended = self._machines.wait(list(self._running), _POLL)
            else:
                time.sleep(_POLL)
            for handle, outcome in ended:
                self._conclude(self._running.pop(handle), outcome)
            failed = [run_state for run_state in self._states.values() if run_state.state in ("failed", "refused")]
            if failed and self._options.fail_fast:
                return Stop.FAIL_FAST
            self._look()

    def _waits(self, run: Run) -> bool:
        return self._states[run.run_dir].state == "waiting" and self._gate.asks_for(run)

    def _fill(self) -> None:
        """Start the next runs, as many as fit."""
        now = time.monotonic()
        ready = [run for run in self._sweep.runs if self._waits(run) and self._again.get(run.run_dir, 0.0) <= now]
        if not ready:
            return
        self._slots = self._machines.slots(gpus=ready[0].gpus, cpus=ready[0].cpus)
        self._slots = min(self._slots, self._options.max_concurrent or self._slots)
        for run in ready[: max(self._slots - len(self._running), 0)]:
            run_state = self._states[run.run_dir]
            self._states[run.run_dir] = replace(
                run_state, state="running", attempts=run_state.attempts + 1, started=time.time()
            )
            self._running[self._machines.submit(self._job(run), gpus=run.gpus, cpus=run.cpus)] = run
        self._store.write_states(self._all())

    def _job(self, run: Run) -> Job:
        return Job(
            command=self._command(run),
            environment=self._environment,
            folder=str(Path.cwd()),
            log=str(self._store.log_of(run)),
            gpus=run.gpus,
            timeout=self._options.timeout,
            patience=self._options.patience,
        )

    def _conclude(self, run: Run, outcome: Outcome) -> None:
        """Decide what becomes of a run whose attempt has ended."""
        run_state = replace(self._states[run.run_dir], node=outcome.node, seconds=outcome.seconds, error=outcome.error)
        if outcome.code == Exit.DONE:
            lacks = self._check(run)
            if lacks is None:
                run_state = replace(run_state, state="done", score=score_of(run))
            else:
                run_state = self._failed(run, replace(run_state, error=f"ended without an error, but {lacks}"))
        elif outcome.code == Exit.REFUSED:
            run_state = replace(run_state, state="refused")
        elif outcome.lost or outcome.code in (Exit.BUSY, Exit.INTERRUPTED):
            run_state = self._lost(run, run_state, busy=outcome.code == Exit.BUSY)
        else:
            run_state = self._failed(run, run_state)
        self._states[run.run_dir] = run_state
        self._note(run, run_state, outcome)

    def _failed(self, run: Run, run_state: RunState) -> RunState:
        run_state = replace(run_state, failures=run_state.failures + 1)
        if run_state.failures > self._options.retries:
            return replace(run_state, state="failed")
        self._again[run.run_dir] = time.monotonic() + self._wait(run_state.failures)
        return replace(run_state, state="waiting")

    def _wait(self, times: int) -> float:
        """Return how long to wait before the next attempt, after so many that came to nothing. [s]"""
        longest = max(self._options.backoff, _LONGEST)
        return min(self._options.backoff * 2.0 ** min(times - 1, 100), longest)

    def _lost(self, run: Run, run_state: RunState, *, busy: bool) -> RunState:
        run_state = replace(run_state, losses=run_state.losses + 1)
        if run_state.losses > self._options.lost_retries:
            return replace(run_state, state="failed")
        wait = self._wait(run_state.losses) if busy else min(self._options.backoff, 1.0)
        self._again[run.run_dir] = time.monotonic() + wait
        return replace(run_state, state="waiting")

    def _note(self, run: Run, run_state: RunState, outcome: Outcome) -> None:
        """Record and say how an attempt ended."""
        self._store.add_attempt(
            run=run.run_dir, attempt=run_state.attempts, code=outcome.code, lost=outcome.lost, error=run_state.error,
            started=run_state.started, seconds=round(outcome.seconds, 3), node=outcome.node, then=run_state.state,
        )  # fmt: skip
        self._store.write_states(self._all())
        if run_state.state == "done":
            self._view.event(f"done: {run.name} in {span(outcome.seconds)}")
        else:
            wait = self._again.get(run.run_dir, 0.0) - time.monotonic()
            then = f"again in {max(wait, 0):.0f} s" if run_state.state == "waiting" else run_state.state
            self._view.event(f"attempt {run_state.attempts} at {run.name} ended: {run_state.error}; {then}")

    def _look(self) -> None:
        """Read the records of the running runs, now and then, and show the standing."""
        if time.monotonic() - self._looked < _STEPS:
            return
        self._looked = time.monotonic()
        self._statuses, _ = statuses_of(run.run_dir for run in self._running.values())
        self._store.write_states(self._all())
        self._view.update(self.standing())

    def _end_running(self) -> None:
        """End the running runs and wait until they have ended."""
        for handle in self._running:
            self._machines.cancel(handle)
        deadline = time.monotonic() + self._options.patience + _GRACE
        while self._running and time.monotonic() < deadline:
            for handle, outcome in self._machines.wait(list(self._running), _POLL):
                run = self._running.pop(handle)
                run_state = self._states[run.run_dir]
                ended = outcome.code == Exit.DONE and self._check(run) is None
                self._states[run.run_dir] = replace(
                    run_state, state="done" if ended else "interrupted", seconds=outcome.seconds
                )
        for run in self._running.values():
            self._states[run.run_dir] = replace(self._states[run.run_dir], state="interrupted")

    def _all(self) -> dict[str, RunState]:
        return {**self._others, **self._states}
