"""Symbolic equality with a limit: the comparison runs in a process of its own, which the system ends in time.

A thread cannot be interrupted inside one long operation (`9^{9^{9}}` is one), and verl grades in threads, where alarms
do not work. CPU time is what is limited, so a busy machine grades like an idle one.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
import subprocess
import sys
import threading
from functools import lru_cache

CPU_SECONDS = 3
MEMORY = 4 << 30  # bytes of address space
MAX_FORMULA = 400  # characters; a longer answer is compared as text only
MAX_DEPTH = 20  # brackets within brackets
_HUGE = re.compile(
    r"\d\s*\^\s*\{?\s*\d+\s*\^|\^\s*\{?\s*\d{5,}|\d{100}"
)  # towers, exponents of five digits, long numbers
_WALL_SECONDS = 120.0  # for a process that hangs without using its CPU time


def is_modest(formula: str) -> bool:
    """Return whether a formula is short, flat and made of numbers small enough to be compared at all."""
    if len(formula) > MAX_FORMULA or _HUGE.search(formula):
        return False
    depth = deepest = 0
    for character in formula:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest <= MAX_DEPTH


class Comparer:
    """One worker process, started at the first comparison and again after each that was ended."""

    def __init__(self, *, cpu_seconds: int = CPU_SECONDS, memory: int = MEMORY) -> None:
        self._command = [
            sys.executable, "-m", "dataflex_rl.rewards.symbolic_worker", str(cpu_seconds), str(memory)
        ]  # fmt: skip
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def equal(self, gold: str, pred: str) -> bool:
        """Return whether two formulas mean the same; False if one is not modest or none, or the limit is reached.

        Raises:
            RuntimeError: the worker cannot be started (math-verify is not installed, or there is no memory).
        """
        if not (is_modest(gold) and is_modest(pred)):
            return False
        with self._lock:
            process = self._process or self._start()
            answer = _ask(process, json.dumps({"gold": gold, "pred": pred}))
            if answer not in ("true", "false"):
                self._stop()
            return answer == "true"

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None, "it was asked for"
        if process.stdout.readline().strip() != "ready":
            process.kill()
            raise RuntimeError(f"the process that compares formulas does not start: {' '.join(self._command)}")
        self._process = process
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
