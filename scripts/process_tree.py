"""CPU seconds, memory and milestones of a command and everything it starts, read from /proc (Linux).

A run's processes are not all waited for by it (Ray's daemons, forks of a worker server), so what the system adds up for
waited children is too little. Here each process is looked at until it is gone; what one computes between the last look
and its end is missed, at most `EVERY` per process.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

EVERY = 0.1  # [s] between two looks
_PSS_EVERY = 20  # looks between two of memory, which are slow
_SUBREAPER = 36  # linux/prctl.h: orphans become our children


@dataclass(kw_only=True)
class Meter:
    """What was seen. `roots` are processes that belong to it besides the children of this one (a worker server)."""

    roots: Sequence[int] = ()
    cpu: dict[tuple[int, float], float] = field(default_factory=dict)  # (process, its start) -> user + system [s]
    before: dict[tuple[int, float], float] = field(default_factory=dict)
    processes: int = 0
    pss: int = 0  # largest proportional memory of all together [bytes]
    looks: int = 0

    def look(self) -> None:
        """Take one look at every process that belongs to it."""
        alive = {process for root in (os.getpid(), *self.roots) for process in _tree(root)}
        for process in alive:
            try:
                times, key = process.cpu_times(), (process.pid, process.create_time())
            except psutil.Error:
                continue
            spent = times.user + times.system
            if not self.looks:
                self.before[key] = spent
            self.cpu[key] = max(spent - self.before.get(key, 0.0), self.cpu.get(key, 0.0))
        self.processes = max(self.processes, len(alive))
        if self.looks % _PSS_EVERY == 1:
            self.pss = max(self.pss, sum(_pss(process) for process in alive))
        self.looks += 1

    @property
    def seconds(self) -> float:
        """CPU seconds of all processes, user and system."""
        return sum(self.cpu.values())


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A command's exit code, wall and CPU time [s], processes at once, memory [bytes], and when its lines came [s]."""

    code: int
    wall: float
    cpu: float
    processes: int
    pss: int
    lines: tuple[float, ...]


def measured(
    command: Sequence[str], *, environment: Mapping[str, str], lines: Path, roots: Sequence[int] = ()
) -> Measured:
    """Run a command to its end and the end of all it started; `lines` is a file whose lines are timed."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    meter, times = Meter(roots=roots), []
    meter.look()
    begin = time.monotonic()
    process = subprocess.Popen(command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    while process.poll() is None:
        meter.look()
        count = lines.read_bytes().count(b"\n") if lines.exists() else 0
        times += [time.monotonic() - begin] * (count - len(times))
        time.sleep(EVERY)
    wall = time.monotonic() - begin
    while _left(roots):
        meter.look()
        time.sleep(EVERY)
    return Measured(
        code=process.returncode, wall=wall, cpu=meter.seconds, processes=meter.processes, pss=meter.pss,
        lines=tuple(times),
    )  # fmt: skip


def _left(roots: Sequence[int]) -> bool:
    """Take in what has ended of our orphans; return whether any is left besides the roots."""
    for process in psutil.Process().children():
        if process.pid not in roots and process.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(process.pid, 0)
    return any(process.pid not in roots for process in psutil.Process().children())


def _tree(root: int) -> Iterable[psutil.Process]:
    """The descendants of a process."""
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []


def _pss(process: psutil.Process) -> int:
    """The proportional memory of a process; 0 if it has gone."""
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
