"""Where a sweep stands: per method what is done, running, failed, the mean so far and the time left."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dataflex_rl.record import Status
from dataflex_rl.sweep.store import RunState


@dataclass(frozen=True, kw_only=True)
class Line:
    """One method. `step` holds (least, most) of its running runs, `score` the mean accuracy of its done runs in 0..1,
    `left` the time until its last run ends. [s] None: nothing to say it from.
    """

    method: str
    done: int
    running: int
    waiting: int
    failed: int
    step: tuple[int, int] | None
    steps: int
    score: float | None
    left: float | None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A sweep at one moment; `left` is the time until its last run ends [s], None if nothing says."""

    lines: tuple[Line, ...]
    total: int
    done: int
    running: int
    waiting: int
    failed: int
    left: float | None
    problems: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def state_now(run_state: RunState, status: Status, *, launcher_alive: bool, held: bool | None = None) -> RunState:
    """Join what the launcher noted with what the record says: the record knows better what is done or running.

    held: whether a living process holds the record; None: not looked up. A running one that nobody holds is dead.
    """
    if status.state == "done":
        return replace(run_state, state="done")
    if run_state.state in ("failed", "refused"):
        return run_state
    if status.state == "running" and held is not None and not launcher_alive:
        return replace(run_state, state="running" if held else "dead", error=None if held else _last(status))
    if status.state == "running":
        return replace(run_state, state="running" if launcher_alive else "interrupted")
    if run_state.state == "running" and not launcher_alive:
        return replace(run_state, state="interrupted")
    if run_state.state == "waiting" and status.state in ("failed", "interrupted"):
        return replace(run_state, state="waiting" if launcher_alive else status.state, error=status.error)
    return run_state


def _last(status: Status) -> str:
    return f"process {status.pid} on {status.host or '?'} ended without a word after step {status.step}"


def overview(
    runs: Sequence[Mapping[str, Any]],
    run_states: Mapping[str, RunState],
    statuses: Mapping[str, Status],
    *,
    slots: int,
    now: float,
) -> Overview:
    """Return where a sweep stands.

    Args:
        runs: of the plan, in order; read are method, seed, run_dir, steps.
        run_states, statuses: by run_dir; missing ones are waiting.
        slots: runs at once.
        now: the time, as `RunState.started`. [s]
    """
    left, ends = _left(runs, run_states, statuses, slots=slots, now=now)
    lines = []
    for method in dict.fromkeys(run["method"] for run in runs):
        mine = [run for run in runs if run["method"] == method]
        count = _count(mine, run_states)
        steps = [
            statuses[r["run_dir"]].step for r in mine if _state(r, run_states) == "running" and r["run_dir"] in statuses
        ]
        scores = [s for r in mine if (s := run_states.get(r["run_dir"], RunState()).score) is not None]
        lines.append(
            Line(
                method=method,
                **count,
                step=(min(steps), max(steps)) if steps else None,
                steps=max(run["steps"] for run in mine),
                score=sum(scores) / len(scores) if scores else None,
                left=ends.get(method),
            )
        )
    problems = [
        f"{_name(run)}: {run_state.state}: {run_state.error}"
        for run in runs
        if (run_state := run_states.get(run["run_dir"], RunState())).state in ("failed", "refused", "dead")
    ]
    return Overview(
        lines=tuple(lines), total=len(runs), **_count(runs, run_states), left=left, problems=tuple(problems)
    )


def _state(run: Mapping[str, Any], run_states: Mapping[str, RunState]) -> str:
    return run_states.get(run["run_dir"], RunState()).state


def _name(run: Mapping[str, Any]) -> str:
    return "/".join(str(run["run_dir"]).split("/")[-3:])


def _count(runs: Sequence[Mapping[str, Any]], run_states: Mapping[str, RunState]) -> dict[str, int]:
    states = [_state(run, run_states) for run in runs]
    return {
        "done": states.count("done"),
        "running": states.count("running"),
        "waiting": sum(states.count(state) for state in ("waiting", "interrupted", "dead")),
        "failed": states.count("failed") + states.count("refused"),
    }


def _left(
    runs: Sequence[Mapping[str, Any]],
    run_states: Mapping[str, RunState],
    statuses: Mapping[str, Status],
    *,
    slots: int,
    now: float,
) -> tuple[float | None, dict[str, float]]:
    """Play the rest of the sweep: return the time until the last run ends, and until each method's last one does."""
    took: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        seconds = _seconds(run, run_states, statuses, now)
        if seconds is not None:
            took[run["method"]].append(seconds)
    every = [seconds for values in took.values() for seconds in values]
    open_runs = [run for run in runs if _state(run, run_states) in ("running", "waiting", "interrupted", "dead")]
    if not open_runs or not every:
        return (None if open_runs else 0.0), {}
    usual = sum(every) / len(every)
    ends: dict[str, float] = {}
    free: list[float] = []
    for run in sorted(open_runs, key=lambda run: _state(run, run_states) != "running"):
        values = took.get(run["method"])
        length = sum(values) / len(values) if values else usual
        if _state(run, run_states) == "running":
            end = max(length - (now - (run_states[run["run_dir"]].started or now)), 0.0)
        else:
            end = (heapq.heappop(free) if len(free) >= max(slots, 1) else 0.0) + length
        heapq.heappush(free, end)
        ends[run["method"]] = max(ends.get(run["method"], 0.0), end)
    return max(ends.values()), ends


def _seconds(
    run: Mapping[str, Any], run_states: Mapping[str, RunState], statuses: Mapping[str, Status], now: float
) -> float | None:
    """Return how long a run took, or will take as far as its steps so far tell. [s]"""
    run_state, status = run_states.get(run["run_dir"], RunState()), statuses.get(run["run_dir"], Status())
    if run_state.state == "done":
        return run_state.seconds
    if run_state.state == "running" and run_state.started is not None and status.step > 0 and status.steps > 0:
        return (now - run_state.started) * status.steps / status.step
    return None
