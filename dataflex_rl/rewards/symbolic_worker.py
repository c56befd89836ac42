"""The process that compares formulas: `python -P symbolic_worker.py BYTES`.

It loads the grammar once and then forks: the copy answers questions, the original waits, and forks again when the copy
ends, so that an ended comparison costs no second start. A question is one JSON line with its number, what is asked and
the seconds it may take; the answer is one line: the number, `true` or `false`, the CPU seconds used; or the number,
`ended` and the signal where the copy ended over it. CPU time is limited per question, memory for all.
LaTeX is parsed by a grammar, never evaluated as code.
"""

from __future__ import annotations

import json
import logging
import mmap
import os
import resource
import signal
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

# what sympy raises where it has no method for a comparison, or where one needs too much
_NO_METHOD = (ArithmeticError, AttributeError, MemoryError, NotImplementedError, RecursionError, TypeError, ValueError)


def answer(question: dict[str, Any]) -> bool:
    """Return the answer to one question: same(gold, pred), near(gold, pred, tolerance) or union(gold, pred)."""
    from sympy import Rational

    from dataflex_rl.rewards import sameness

    gold, pred = question["gold"], question["pred"]
    if question["ask"] == "near":
        tolerance = Fraction(question["tolerance"])
        return sameness.near(gold, pred, Rational(tolerance.numerator, tolerance.denominator))
    if question["ask"] == "union":
        return sameness.same_union(gold, pred)
    return sameness.same(gold, pred)


def serve(current: mmap.mmap) -> None:
    """Answer until standard input ends; what takes longer than its question allows ends this process."""
    for line in iter(sys.stdin.readline, ""):
        question = json.loads(line)
        current[:] = question["number"].to_bytes(8, "big")
        signal.setitimer(signal.ITIMER_PROF, question["seconds"])
        start = _used()
        try:
            right = answer(question)
        except _NO_METHOD:
            right = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(question["number"], "true" if right else "false", _used() - start, flush=True)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(argv: list[str]) -> int:
    """Keep one copy answering until standard input ends."""
    logging.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = int(argv[0])
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    answer({"ask": "same", "gold": "\\frac{1}{2}+x", "pred": "x+0.5"})  # loads the grammar
    print("ready", flush=True)
    current = mmap.mmap(-1, 8)  # the number of the question that the copy reads, shared with it
    while True:
        copy = os.fork()
        if copy == 0:
            serve(current)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
        if status == 0:
            return 0
        print(int.from_bytes(current[:], "big"), "ended", -status, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main(sys.argv[1:]))
