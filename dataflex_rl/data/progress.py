"""What is shown while something is built once, on stderr: a bar on a terminal, elsewhere a line every 10 s."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

EVERY = 10.0  # [s] between two lines where there is no terminal


class Building:
    """How far the building of `name` is. The builder tells it; `watched` shows it. Unshown, nobody looks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = f"building {name}"
        self.done, self.total = 0, 0

    def waiting(self) -> None:
        """Another process builds it; this one waits."""
        self.text = f"waiting for the process that builds {self.name}"

    def starting(self) -> None:
        """This process builds it."""
        self.text = f"building {self.name}"

    def advance(self, done: int, total: int) -> None:
        """`done` of `total` steps are made."""
        self.done, self.total = done, total


@contextmanager
def watched(name: str, *, shown: bool, file: TextIO | None = None, every: float = EVERY) -> Iterator[Building]:
    """Yield what the builder of `name` reports to, and show it until the block ends.

    file: default stderr. every: without a terminal, the time before the first line and between two. [s]
    """
    state = Building(name)
    if not shown:
        yield state
        return
    console = Console(file=file or sys.stderr, highlight=False, markup=False, soft_wrap=True)
    ended = threading.Event()
    show = _bar if console.is_terminal else _lines
    thread = threading.Thread(target=show, args=(state, console, ended, every), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        ended.set()
        thread.join()


def _bar(state: Building, console: Console, ended: threading.Event, every: float) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(state.text, total=None)
        while not ended.wait(0.1):
            bar.update(task, description=state.text, completed=state.done, total=state.total or None)


def _lines(state: Building, console: Console, ended: threading.Event, every: float) -> None:
    started = time.monotonic()
    while not ended.wait(every):
        steps = f", {state.done} of {state.total} steps" if state.total else ""
        console.print(f"{state.text}: {time.monotonic() - started:.0f} s{steps}")
