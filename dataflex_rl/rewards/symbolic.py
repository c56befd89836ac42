"""Symbolic equality with a limit: the comparison runs in a process of its own, which the system ends in time.

A thread cannot be interrupted inside one long operation (`9^{9^{9}}` is one), and verl grades in threads, where alarms
do not work. CPU time is what is limited, so a busy machine grades like an idle one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import threading
import weakref
from functools import lru_cache
from pathlib import Path

CPU_SECONDS = 3
MEMORY = 4 << 30  # bytes of address space
MAX_FORMULA = 400  # characters; a longer answer is compared as text only
MAX_DEPTH = 10  # brackets within brackets
_REMEMBERED = 4096  # comparisons that reached the limit
_HUGE = re.compile(
    r"\^\s*\{?\s*\d{5,}|\d{100}"  # an exponent of five digits, a long number
    r"|\d{4,}[\s})\]]*!|![\s})\]]*!|binom[\s{]*\d{5,}"  # factorials of factorials and of large numbers
    r"|[})\]]\s*\^[\s{(\[]*\d{4,}"  # a high power of a bracket
)
_TOWER = re.compile(r"\^([\s{(\[]*)\d+([\s})\]]*)(?=\^)")  # a number's power, in an exponent unless that was closed
_EXPONENT = re.compile(r"\^[\s{(\[]*(\d+)")
_MAX_POWER = 20_000  # product of the exponents of a formula, for powers of powers
_WALL_SECONDS = 120.0  # for a process that hangs without using its CPU time


def is_short(formula: str) -> bool:
    """Return whether a formula has at most MAX_FORMULA characters."""
    return len(formula) <= MAX_FORMULA


def _brackets(text: str) -> int:
    return len(text) - sum(map(str.isspace, text))


def is_modest(formula: str) -> bool:
    """Return whether a formula is short, flat and made of numbers small enough to be compared at all."""
    if not is_short(formula) or _HUGE.search(formula):
        return False
    if any(_brackets(found[2]) <= _brackets(found[1]) for found in _TOWER.finditer(formula)):
        return False
    if math.prod(int(power) or 1 for power in _EXPONENT.findall(formula)) > _MAX_POWER:
        return False
    depth = deepest = 0
    for character in formula:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest <= MAX_DEPTH


_COMPARERS: weakref.WeakSet[Comparer] = weakref.WeakSet()


class Comparer:
    """One worker process, started at the first comparison and again after each that was ended."""

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS, memory: int = MEMORY) -> None:
        worker = Path(__file__).with_name("symbolic_worker.py")
        # -P: neither the current folder nor the worker's own is searched for modules
        self._command = [sys.executable, "-P", str(worker), str(cpu_seconds), str(memory)]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._too_long: dict[tuple[str, str], None] = {}
        _COMPARERS.add(self)

    def equal(self, gold: str, pred: str) -> bool:
        """Return whether two formulas mean the same; False if one is not modest or none, or the limit is reached.

        A comparison that reached the limit is remembered, and not tried again.

        Raises:
            RuntimeError: the worker cannot be started (math-verify is not installed, or there is no memory).
        """
        if not (is_modest(gold) and is_modest(pred)):
            return False
        with self._lock:
            if (gold, pred) in self._too_long:
                return False
            answer = ""
            try:
                answer = _ask(self._process or self._start(), json.dumps({"gold": gold, "pred": pred}))
            finally:  # whatever interrupts: a worker whose answer was not read would give it to the next question
                if answer not in ("true", "false"):
                    self._stop()
            if answer not in ("true", "false"):
                self._remember(gold, pred)
            return answer == "true"

    def abandon(self) -> None:
        """Forget the worker of the process this one was forked from: it serves that one alone."""
        self._lock = threading.Lock()
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with open(os.devnull, "r+b") as nothing:
                        os.dup2(nothing.fileno(), pipe.fileno())  # not closed: what is buffered belongs to the parent
            self._process.returncode = 0  # not our child
            self._process = None

    def _remember(self, gold: str, pred: str) -> None:
        if len(self._too_long) >= _REMEMBERED:
            del self._too_long[next(iter(self._too_long))]
        self._too_long[gold, pred] = None

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._process = process
        assert process.stdout is not None, "it was asked for"
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the process that compares formulas does not start: {' '.join(self._command)}")
        return process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self._process = None


def _ask(process: subprocess.Popen[str], line: str) -> str:
    """Send one line and return the answer, "" where the process ended over it."""
    assert process.stdin is not None, "it was asked for"
    assert process.stdout is not None, "it was asked for"
    watchdog = threading.Timer(_WALL_SECONDS, process.kill)
    watchdog.start()
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()
    except BrokenPipeError:
        return ""
    finally:
        watchdog.cancel()


@lru_cache(maxsize=1)
def comparer() -> Comparer:
    """Return the worker of this process, made at the first call."""
    made = Comparer()
    atexit.register(made.close)
    return made


def _abandon_all() -> None:
    for one in list(_COMPARERS):
        one.abandon()


os.register_at_fork(after_in_child=_abandon_all)
