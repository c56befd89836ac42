"""The process that compares formulas: `python -P symbolic_worker.py CPU_SECONDS BYTES`.

It reads one JSON line {"gold": ..., "pred": ...} per comparison and answers with one line, true or false. A comparison
that takes more CPU time than it may is ended by the system with the whole process; so is one that wants more memory.
LaTeX is parsed by a grammar, never evaluated.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Any, ...]:
    """Return the readings of a formula that is given without its box; none if it is no formula."""
    from math_verify import LatexExtractionConfig
    from math_verify import parse as parse_latex

    return tuple(
        parse_latex(
            f"\\boxed{{{text}}}",
            extraction_config=[LatexExtractionConfig(boxed_match_priority=0)],
            parsing_timeout=0,
        )
    )


@lru_cache(maxsize=4096)
def equal(gold: str, pred: str) -> bool:
    """Return whether two formulas mean the same; two constants must agree in twelve digits, tiny ones too."""
    from math_verify import verify

    golds, preds = parse(gold), parse(pred)
    if not (golds and preds):
        return False
    same = bool(verify(list(golds), list(preds), timeout_seconds=0))
    distance = relative_distance(golds[0], preds[0])
    return same if distance is None else distance < 1e-12 and (same or distance < 1e-40)


def relative_distance(gold: Any, pred: Any) -> float | None:
    """Return how far apart two constants are, relative to the larger one; None if one is no finite constant.

    The letter i is the imaginary unit.
    """
    from sympy import Expr, Float, I, N  # type: ignore[import-untyped]

    if not (isinstance(gold, Expr) and isinstance(pred, Expr)):
        return None
    values = [one.subs({sign: I for sign in one.free_symbols if str(sign) == "i"}) for one in (gold, pred)]
    if not all(one.is_number and one.is_finite for one in values):
        return None
    sizes = [abs(N(one, 50)) for one in (*values, values[0] - values[1])]
    if not all(size.is_Float or size.is_Integer for size in sizes):
        return None
    largest = max(sizes[:2])
    if largest < Float("1e-90"):
        return 0.0
    return float(sizes[2] / largest)


def main(argv: list[str]) -> int:
    """Answer until standard input ends."""
    seconds, size = int(argv[0]), int(argv[1])
    logging.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    equal("\\frac{1}{2}", "0.5")  # loads the grammar before the first deadline
    print("ready", flush=True)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for line in sys.stdin:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + 1 + seconds, hard))
        pair = json.loads(line)
        print("true" if equal(pair["gold"], pair["pred"]) else "false", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
