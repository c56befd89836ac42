"""What a person sees of a sweep: a table that redraws itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dataflex_rl.output import plain_console
from dataflex_rl.sweep.overview import Overview

_COLUMNS = ("method", "done", "running", "waiting", "failed", "step", "mean [percent]", "left")
_TEXTS = ("model", "task", "regime")
_SIZE = {**{name: name for name in (*_TEXTS, "steps")}, "gpus": "GPUs", "cpus": "CPUs"}  # of a run -> its title


class View:
    """The view of a sweep: `event` for what happened, `update` for where it stands.

    Args:
        file: where to write; standard output by default.
        live: redraw; by default on a terminal.
        every: without redrawing, the time between two lines of the standing. [s]
        clock: a monotonic clock. [s]
    """

    def __init__(
        self,
        *,
        file: TextIO | None = None,
        live: bool | None = None,
        every: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rich = plain_console(file)
        self._live: Live | None = None
        self._wanted = self._rich.is_terminal if live is None else live
        self._every, self._clock, self._printed = every, clock, clock()

    def __enter__(self) -> View:
        if self._wanted:
            self._live = Live(console=self._rich, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def event(self, text: str) -> None:
        """Say what happened, in a line that stays."""
        self._rich.print(Text(text), soft_wrap=True)

    def update(self, standing: Overview) -> None:
        """Show where the sweep stands."""
        if self._live is not None:
            self._live.update(Group(table_of(standing), Text(summary_of(standing), style="dim")))
        elif self._clock() - self._printed >= self._every:
            self._printed = self._clock()
            self.event(summary_of(standing))

    def final(self, standing: Overview) -> None:
        """Show the last standing, as a table that stays."""
        self.__exit__()
        self.show(table_of(standing))
        for problem in standing.problems:
            self.event(problem)
        self.event(summary_of(standing))

    def show(self, renderable: object) -> None:
        """Print a table."""
        self._rich.print(renderable)


def summary_of(standing: Overview) -> str:
    """Return the standing on one line."""
    parts = [f"{standing.done}/{standing.total} runs done", f"{standing.running} running"]
    parts += [f"{standing.waiting} waiting"] if standing.waiting else []
    parts += [f"{standing.failed} failed"] if standing.failed else []
    if standing.running or standing.waiting:
        parts.append(f"left {span(standing.left)}")
    return ", ".join(parts)


def table_of(standing: Overview) -> Table:
    """Return the standing as a table, one line per method."""
    table = Table()
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "method" else "right")
    for line in standing.lines:
        low, high = line.step or (0, 0)
        step = "-" if line.step is None else f"{low if low == high else f'{low}-{high}'}/{line.steps}"
        score = "-" if line.score is None else f"{100 * line.score:.2f}"
        left = span(line.left) if line.running or line.waiting else "-"
        counts = (line.done, line.running, line.waiting, line.failed)
        table.add_row(line.method, *(str(count) if count else "-" for count in counts), step, score, left)
    return table


def span(seconds: float | None) -> str:
    """Return a time as d:hh:mm:ss without leading zeros, "?" if it is not known."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d {hours:02}:{minutes:02}:{whole % 60:02}"
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def ranges(seeds: Sequence[int]) -> str:
    """Return seeds as `seed=` takes them: 0-3,8."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def plan_table(plan: Mapping[str, Any]) -> Table:
    """Return the runs of a plan, grouped by what they share but the seed; what all share is no column, see `shared_of`.

    It fits 80 characters.
    """
    differing = [name for name in _SIZE if name not in _shared(plan)]
    table = Table(title=f"sweep {plan['sweep']} (nothing is started)", title_justify="left")
    table.add_column("method", overflow="fold", min_width=10)
    for name in differing:
        table.add_column(_SIZE[name], overflow="fold", justify="left" if name in _TEXTS else "right")
    table.add_column("seeds", overflow="fold")
    table.add_column("GPU-hours", justify="right", no_wrap=True)
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in plan["runs"]:
        groups.setdefault((run["method"], *(run[name] for name in differing)), []).append(run)
    for key, runs in groups.items():
        hours = [run["gpu_hours"] for run in runs]
        cost = "?" if None in hours else f"{sum(hours):,.1f}"
        table.add_row(*map(_cell, key), ranges([run["seed"] for run in runs]), cost)
    return table


def shared_of(plan: Mapping[str, Any]) -> str:
    """Return what all runs of a plan have in common, on one line."""
    return "each run: " + ", ".join(
        f"{_SIZE[name]} {value}" if name in _TEXTS else f"{_cell(value)} {_SIZE[name]}"
        for name, value in _shared(plan).items()
    )


def _shared(plan: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: {run[name] for run in plan["runs"]} for name in _SIZE}
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
