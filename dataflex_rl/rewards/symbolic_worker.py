"""The process that compares formulas: `python -m dataflex_rl.rewards.symbolic_worker CPU_SECONDS BYTES`.

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


def equal(gold: str, pred: str) -> bool:
    """Return whether two formulas mean the same."""
    from math_verify import verify

    golds, preds = parse(gold), parse(pred)
    return bool(golds and preds) and bool(verify(list(golds), list(preds), timeout_seconds=0))


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
