"""Questions about formulas, answered with a limit: sympy runs in a process of its own, which the system ends in time.

A thread cannot be interrupted inside one long operation (`9^{9^{9}}` is one), and verl grades in threads, where alarms
do not work. CPU time is what is limited, so a busy machine grades like an idle one; one grade has one budget, however
many comparisons it makes. A process that dies over a question is asked it again, once; what failed is not remembered.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

CPU_SECONDS = 3.0  # of one grade
MEMORY = 4 << 30  # bytes of address space
MAX_FORMULA = 400  # characters; a longer answer is compared as text only
MAX_DEPTH = 10  # brackets within brackets
_HUGE = re.compile(
    r"\^\s*\{?\s*\d{5,}|\d{100}"  # an exponent of five digits, a long number
    r"|\d{4,}[\s})\]]*!|![\s})\]]*!|binom[\s{]*\d{5,}"  # factorials of factorials and of large numbers
    r"|[})\]]\s*\^[\s{(\[]*\d{4,}"  # a high power of a bracket
)
_TOWER = re.compile(r"\^([\s{(\[]*)\d+([\s})\]]*)(?=\^)")  # a number's power, in an exponent unless that was closed
_EXPONENT = re.compile(r"\^[\s{(\[]*(\d+)")
_MAX_POWER = 20_000  # product of the exponents of a formula, for powers of powers
_WALL_SECONDS = 120.0  # for a process that hangs without using its CPU time
_LOG = logging.getLogger(__name__)


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


class Budget:
    """What is left of one grade's CPU time [s]."""

    def __init__(self, seconds: float = CPU_SECONDS) -> None:
        self.left = seconds


class _Died(Exception):
    """The process ended over a question, or while it started."""


_COMPARERS: weakref.WeakSet[Comparer] = weakref.WeakSet()


class Comparer:
    """One worker process, started at the first question and again where it was killed."""

    def __init__(self, *, cpu_seconds: float = CPU_SECONDS, memory: int = MEMORY) -> None:
        worker = Path(__file__).with_name("symbolic_worker.py")
        # -P: neither the current folder nor the worker's own is searched for modules
        self._command = [sys.executable, "-P", str(worker), str(memory)]
        self._seconds = cpu_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._numbers = count()
        _COMPARERS.add(self)

    def equal(self, gold: str, pred: str, budget: Budget | None = None) -> bool:
        """Return whether two formulas mean the same; False if one is not modest or none, or the budget is spent."""
        return self._right([gold], [pred], {"ask": "same", "gold": gold, "pred": pred}, budget)

    def near(self, gold: str, pred: str, tolerance: str, budget: Budget | None = None) -> bool:
        """Return whether two constants differ by no more than a tolerance (an exact number); else as `equal`."""
        return self._right([gold], [pred], {"ask": "near", "gold": gold, "pred": pred, "tolerance": tolerance}, budget)

    def equal_union(self, gold: Sequence[str], pred: Sequence[str], budget: Budget | None = None) -> bool:
        """Return whether two lists of relations or sets describe the same reals together; else as `equal`."""
        return self._right(gold, pred, {"ask": "union", "gold": list(gold), "pred": list(pred)}, budget)

    def _right(self, gold: Sequence[str], pred: Sequence[str], question: dict[str, Any], budget: Budget | None) -> bool:
        budget = budget or Budget(self._seconds)
        if not all(is_modest(text) for text in (*gold, *pred)):
            return False
        with self._lock:
            for _ in range(2):
                if budget.left <= 0:
                    return False
                try:
                    return self._answer(question, budget)
                except _Died as died:
                    reason = died
        _LOG.warning("graded as wrong, for the process that compares formulas died twice: %s", reason)
        return False

    def _answer(self, question: dict[str, Any], budget: Budget) -> bool:
        """Return the answer to one question, asked of the worker that there is or of a new one."""
        process = self._process or self._start()
        number = str(next(self._numbers))
        line = json.dumps({"number": int(number), "seconds": budget.left, **question})
        answer = _ask(process, line)
        while answer and answer[0] != number:  # of a question that was interrupted; if the copy ended, so may be ours
            answer = _ask(process, line) if answer[1:2] == ["ended"] else _read(process)
        match answer:
            case [_, "true" | "false" as right, seconds]:
                budget.left -= float(seconds)
                return right == "true"
            case [_, "ended", stopped] if int(stopped) == signal.SIGPROF:
                budget.left = 0.0
                return False
            case [_, "ended", stopped]:
                raise _Died(f"signal {stopped}")
        self._stop()
        raise _Died(f"it ended without a word: {' '.join(self._command)}")

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

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._process = process
        if _read(process) != ["ready"]:
            self._stop()
            raise _Died(f"it does not start: {' '.join(self._command)}")
        return process

    def _stop(self) -> None:
        if self._process is not None:
            _kill(self._process)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self._process = None


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a worker and its copy."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _ask(process: subprocess.Popen[str], line: str) -> list[str]:
    """Send one line and return the words of the next answer, [] where the process ended over it."""
    assert process.stdin is not None, "it was asked for"
    watchdog = threading.Timer(_WALL_SECONDS, _kill, [process])
    watchdog.start()
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return _read(process)
    except BrokenPipeError:
        return []
    finally:
        watchdog.cancel()


def _read(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None, "it was asked for"
    return process.stdout.readline().split()


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
