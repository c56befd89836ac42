"""What a person sees of a run: a live view on a terminal, plain lines elsewhere, a table or the cause at the end.

The view is fed from the run record (metrics.jsonl, status.json), which `follow` watches while the training process,
whose own output goes to the record's log, writes it.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, TextIO

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dataflex_rl.output import plain_console
from dataflex_rl.record.cause import cause_of
from dataflex_rl.record.evaluation import domain_scores
from dataflex_rl.record.files import RecordError
from dataflex_rl.record.paths import RunRecord
from dataflex_rl.record.status import read_status

_RECENT = 10  # [steps] whose mean time gives the time left
_POLL = 0.2  # [s] between two looks at the record


@dataclass(frozen=True, kw_only=True)
class Step:
    """A finished step: its line of metrics.jsonl."""

    line: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Phase:
    """The run has turned to something else: the `phase` of its status."""

    text: str


def follow(
    record: RunRecord, process_alive: Callable[[], bool], stop: Event, *, after_step: int = 0
) -> Iterator[Step | Phase]:
    """Yield the new steps and phases of a record, in order, each once, until the process ends or `stop` is set.

    What was written before the end is still yielded. Start it after the metrics were cut for a resume; lines up to
    `after_step` are old.
    """
    offset, phase = 0, ""
    while True:
        last_look = stop.is_set() or not process_alive()  # looked up before reading: nothing written later is missed
        status = read_status(record)
        if status.phase != phase:
            phase = status.phase
            yield Phase(text=phase)
        lines, offset = _new_lines(record, offset)
        yield from (Step(line=line) for line in lines if line["step"] > after_step)
        if last_look:
            return
        stop.wait(_POLL)


def _new_lines(record: RunRecord, offset: int) -> tuple[list[dict[str, Any]], int]:
    """Return the whole lines after an offset, and the offset after them; a file that is not there yet has none."""
    try:
        with record.metrics.open("rb") as file:
            file.seek(offset)
            content = file.read()
    except FileNotFoundError:
        return [], offset
    except OSError as error:
        raise RecordError.of("read", record.metrics, error) from error
    whole = content[: content.rfind(b"\n") + 1]
    return [json.loads(line) for line in whole.splitlines()], offset + len(whole)


class Console:
    """The view of one run. Call start, then step and phase as they come, then one of done, failed, interrupted.

    Args:
        file: where to write; standard output by default.
        live: a view that redraws itself; by default on a terminal.
        every: without a live view, the seconds between two lines of steps; 0 for each step. The last step has one.
        clock: a monotonic clock. [s]
    """

    def __init__(
        self,
        *,
        file: TextIO | None = None,
        live: bool | None = None,
        every: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rich = plain_console(file)
        self._live_wanted = self._rich.is_terminal if live is None else live
        self._live: Live | None = None
        self._every, self._clock, self._printed = every, clock, -float("inf")
        self._steps, self._step, self._phase = 0, 0, ""
        self._data: Mapping[str, Any] = {}
        self._times: deque[float] = deque(maxlen=_RECENT)

    def start(self, plan: Mapping[str, Any], *, from_step: int = 0) -> None:
        """Begin: plan holds `steps`, and method, model, task, seed, host as far as the title shall name them."""
        self._steps, self._step = int(plan["steps"]), from_step
        parts = [str(plan[key]) for key in ("method", "model", "task") if plan.get(key) is not None]
        parts += [f"{key} {plan[key]}" for key in ("seed", "host") if plan.get(key) is not None]
        resumed = f", continues after step {from_step}" if from_step else ""
        self._print(f"{', '.join(parts)}: {self._steps} steps{resumed}")
        if self._live_wanted:
            self._live = Live(console=self._rich, get_renderable=self._view, refresh_per_second=4, transient=True)
            self._live.start()

    def warn(self, lines: Sequence[str]) -> None:
        """Show what changes data, results or cost, in lines that stay."""
        for line in lines:
            self._print(f"warning: {line}")

    def step(self, line: Mapping[str, Any]) -> None:
        """Show a finished step: a line of metrics.jsonl."""
        self._step, self._data = int(line["step"]), line["data"]
        seconds = self._data.get("timing_s/step")
        if seconds is not None:
            self._times.append(float(seconds))
        if self._live is None and (self._step == self._steps or self._clock() - self._printed >= self._every):
            self._printed = self._clock()
            self._print(f"step {self._step}/{self._steps}  " + "  ".join(f"{k} {v}" for k, v in self._facts()))
            if chosen := chosen_prompts(self._data):
                self._print(f"  {chosen}")

    def phase(self, text: str) -> None:
        """Show what the run turned to."""
        if text and text != self._phase and self._live is None:
            self._print(f"{text} ...")
        self._phase = text

    def done(self, evaluation: Mapping[str, Any], path: Path, notes: Sequence[str] = ()) -> None:
        """End with the table untrained -> trained of an eval.json, what distorts it, and where the record is."""
        self.close()
        self._rich.print(result_table(evaluation))
        for line in (*(f"note: {note}" for note in notes), f"record: {path}"):
            self._print(line)

    def failed(self, error: str, log: Path, *, since: int = 0) -> None:
        """End with the cause, in a few lines from the log after its first `since` bytes, and where the log is."""
        self.close()
        self._print(f"failed at step {self._step}/{self._steps}: {error}")
        for line in cause_of(log, since):
            self._print(f"  {line}")
        self._print(f"log: {log}")

    def interrupted(self, path: Path) -> None:
        """End after Ctrl-C: nothing finished is lost."""
        self.close()
        self._print(f"interrupted after step {self._step}/{self._steps}; the same command continues it")
        self._print(f"record: {path}")

    def close(self) -> None:
        """Stop redrawing; the terminal is as before."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str) -> None:
        """Print a line as it is: no wrapping, no styles; what the stream's encoding lacks is escaped."""
        encoding = self._rich.encoding
        self._rich.print(Text(text.encode(encoding, "backslashreplace").decode(encoding)), soft_wrap=True)

    def _facts(self) -> list[tuple[str, str]]:
        """Return (name, value) for each number of the last step."""
        show = self._data.get
        return [
            ("reward all", _number(show("dataflex/reward_all"))),
            ("effective", _number(show("dataflex/reward_effective"))),
            ("kept", _percent(show("dataflex/kept_frac"))),
            ("seconds", _number(show("timing_s/step"), 1)),
            ("generating", _number(show("timing_s/gen"), 1)),
            ("left", self._left()),
        ]

    def _left(self) -> str:
        """Return the time left as h:mm:ss or m:ss, "-" as long as no step was timed."""
        if not self._times:
            return "-"
        seconds = round(sum(self._times) / len(self._times) * (self._steps - self._step))
        minutes, hours = seconds // 60 % 60, seconds // 3600
        return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"

    def _view(self) -> Group:
        """Return what the live view shows."""
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(f"step {self._step}/{self._steps}", style="bold"),
            ProgressBar(total=max(self._steps, 1), completed=self._step, width=40),
            Text(self._phase, style="dim"),
        )
        facts = Table.grid(padding=(0, 2))
        pairs = self._facts()
        facts.add_row(*(Text(name, style="dim") for name, _ in pairs))
        facts.add_row(*(Text(value) for _, value in pairs))
        chosen = chosen_prompts(self._data)
        return Group(head, facts, *([Text(chosen, style="dim")] if chosen else []))


def chosen_prompts(data: Mapping[str, Any]) -> str:
    """Return on one line what a prompt selector did in a step and how good its predictions are; "" without one."""
    prefix = "dataflex/prompts/"
    if data.get(f"{prefix}drawn") is None:
        return ""
    skipped = sum(value for key, value in data.items() if key.startswith(f"{prefix}skipped/"))
    parts = [f"prompts drawn {data[f'{prefix}drawn']:.0f}", f"skipped {skipped:.0f}"]
    for visits in ("first", "later"):
        rule, domain = (data.get(f"{prefix}{name}/{visits}") for name in ("brier", "brier_domain"))
        if rule is not None and domain is not None:
            parts.append(f"Brier score of {visits} visits {rule:.3f} (domain mean {domain:.3f})")
    return "  ".join(parts)


def _number(value: float | None, digits: int = 3) -> str:
    """Return a number with fixed digits, "-" if there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    """Return a share in percent, "-" if there is none."""
    return "-" if value is None else f"{100 * value:.0f}%"


def result_table(evaluation: Mapping[str, Any]) -> Table:
    """Return the table of an eval.json: accuracy per domain and on average [percent], change [points]."""
    table = Table(title="validation accuracy [percent]", title_justify="left")
    table.add_column("domain")
    for name in ("untrained", "trained", "points"):
        table.add_column(name, justify="right")
    before, after = domain_scores(evaluation, "untrained"), domain_scores(evaluation, "trained")
    for domain in before:
        if domain == "average":
            table.add_section()
        cells = [None if score is None else 100 * score for score in (before[domain], after[domain])]
        change = "missing" if cells[0] is None or cells[1] is None else f"{cells[1] - cells[0]:+.1f}"
        table.add_row(domain, *("missing" if cell is None else f"{cell:.1f}" for cell in cells), change)
    return table
