"""replay: a sequential design on the finished records of a fixed study, over many orders of its runs.

python -m analysis.replay --runs SOURCE --design sequential --orders 1000
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from analysis import arguments
from analysis.audit import Match
from analysis.compare import Comparison, identity
from analysis.errors import AnalysisError, guarded
from analysis.options import Options
from analysis.stats.boundaries import boundaries
from analysis.stats.decisions import UNDECIDED, WORDS
from analysis.stats.design import LARGER, POOLED, Design, design
from analysis.stats.replay import Replay, fitted, replay
from analysis.stats.sequential import INFERIOR, NO_GAIN, OPEN, SUPERIOR, decide, paired_summary
from analysis.study import Study, make_study
from analysis.summaries import DOMAIN_BALANCED
from analysis.tables.format import markdown
from analysis.tables.table import Row, Table, View, columns, unique

_COLUMNS = columns(
    "method",
    "fixed|fixed study",
    "agrees||ratio",
    "contradicts||ratio",
    "superior||ratio",
    "no_gain|no gain|ratio",
    "undecided||ratio",
    "delta||delta",
)


def build(study: Study, name: str, *, count: int = 1000, variance: str = LARGER) -> Table:
    """Give one row per block, family and method that has the runs a design asks for; the others are named.

    Raises AnalysisError for an unknown design, for `fixed`, and for fewer than one order.
    """
    if name == "fixed":
        raise AnalysisError("design 'fixed' is what is replayed against; expected sequential or screen")
    if count < 1:
        raise AnalysisError(f"orders={count!r}; expected 1 or more")
    rows: list[Row] = []
    views: list[View] = []
    notes = [
        "Orders of one study's runs are no new studies: agreement says how much the verdict hangs on which runs came "
        "first. Fixed study: all seeds, paired t, the same one-sided alpha, family and margin.",
    ]
    for comparison in study.comparisons:
        for match in comparison.matches:
            if match.control is not None:
                found, said = _rows(comparison, match, study.options, name, count, variance)
                rows += found
                notes += [f"{comparison.block.name}: {match.family}: {line}" for line in said]
                if found:
                    title = f"{comparison.block.name}: {match.family} against {match.control}, {name}"
                    views.append(View(title=title, columns=_COLUMNS, rows=tuple(found)))
    return Table(name="replay", title="Replayed designs", rows=tuple(rows), views=tuple(views), notes=unique(notes))


def _rows(
    comparison: Comparison, match: Match, options: Options, name: str, count: int, variance: str
) -> tuple[list[Row], list[str]]:
    """Replay one family: a row per method, and what was left out or found in words."""
    block = comparison.block
    score_MS = block.endpoints[DOMAIN_BALANCED]
    control_S = score_MS[block.row(str(match.control))]
    expected = design(name, len(match.methods), margin=options.margin).runs_J[-1]
    names, notes = _with_runs(comparison, match, expected)
    at = [block.row(m) for m in names]
    whole_S = np.asarray(~np.isnan(score_MS[at] + control_S).any(axis=0))
    runs = int(whole_S.sum())
    if not names or runs < expected:
        short = [f"{runs} seeds are complete for all methods, {name} wants {expected}"] if names else []
        return [], [*notes, *short]
    finished_S = control_S[~np.isnan(control_S)]
    plan = fitted(design(name, len(names), margin=options.margin, variance=variance), runs, len(finished_S))
    rng = options.generator()
    fixed = design("fixed", len(names), margin=options.margin, runs=runs, family=plan.family)
    seen = paired_summary(score_MS[at][None][:, :, whole_S], control_S[None][:, whole_S])
    fixed_M = decide(fixed, boundaries(fixed, rng), 0, seen, np.zeros((1, len(at)), dtype=np.int64))[0]
    bounds, score_MS = boundaries(plan, rng), score_MS[at][:, whole_S]
    found = replay(plan, bounds, fixed_M, fixed.most_runs, score_MS, finished_S, rng, count=count)
    common = identity(block) | {"family": match.family, "control": match.control, "summary": DOMAIN_BALANCED}
    common |= {"design": name, "orders": count, "runs": found.runs, "fixed_runs": found.fixed_runs}
    common["refused"] = found.refused
    rows = [
        common | {"method": m, "delta": float(seen.delta_RM[0, i])} | _shares(found, i) for i, m in enumerate(names)
    ]
    return rows, [*notes, _said(plan, found)]


def _with_runs(comparison: Comparison, match: Match, expected: int) -> tuple[list[str], list[str]]:
    """Give the methods with enough seeds that the control has too, and say which have not."""
    block = comparison.block
    score_MS = block.endpoints[DOMAIN_BALANCED]
    count_M = (~np.isnan(score_MS + score_MS[block.row(str(match.control))])).sum(axis=1)
    seeds = {m: int(count_M[block.row(m)]) for m in match.methods}
    few = [f"{m} has {n} seeds with its control, the design wants {expected}: left out" for m, n in seeds.items()
           if n < expected]  # fmt: skip
    return [m for m, n in seeds.items() if n >= expected], few


def _shares(found: Replay, i: int) -> Row:
    """Give one arm's numbers."""
    fixed = int(found.fixed_M[i])
    return {
        "fixed": UNDECIDED if fixed == OPEN else WORDS[fixed],
        "agrees": float(found.agrees_M[i]),
        "contradicts": float(found.contradicts_M[i]),
        "superior": float(found.share_VM[SUPERIOR][i]),
        "no_gain": float(found.share_VM[NO_GAIN][i]),
        "inferior": float(found.share_VM[INFERIOR][i]),
        "undecided": float(found.share_VM[OPEN][i]),
    }


def _said(plan: Design, found: Replay) -> str:
    looks = ", ".join(f"{n}/{c}" for n, c in zip(plan.runs_J, plan.controls_J, strict=True))
    agrees, contradicts = float(found.agrees_M.mean()), float(found.contradicts_M.mean())
    return (
        f"looks at {looks} runs per method/controls; {found.runs:.1f} runs on average where the fixed study made "
        f"{found.fixed_runs}; {100 * agrees:.0f}% of verdicts agree with it, {100 * contradicts:.1f}% contradict it; "
        f"the pooled boundary was refused in {100 * found.refused:.0f}% of orders"
    )


def main(argv: list[str] | None = None) -> int:
    """Print the replay of every block, or as JSON; --out also writes it. Exit code 2 and one line on stderr for
    anything that does not fit.
    """
    return guarded(lambda: _run(argv))


def _run(argv: list[str] | None) -> int:
    parser = arguments.parser("python -m analysis.replay", "A sequential design on the runs of a finished study.")
    parser.add_argument("--design", default="sequential", help="sequential or screen")
    parser.add_argument("--orders", type=int, default=1000, help="orders of the runs")
    parser.add_argument("--variance", choices=(LARGER, POOLED), default=LARGER, help="variance of an arm")
    parser.add_argument("--json", action="store_true", help="print JSON at full precision")
    parser.add_argument("--out", type=Path, default=None, help="folder to write to as well")
    parsed = parser.parse_args(argv)
    study = make_study(parsed.runs, arguments.options(parsed))
    table = build(study, parsed.design, count=parsed.orders, variance=parsed.variance)
    text = json.dumps({"tables": {"replay": table.as_json()}}, indent=1, allow_nan=False) + "\n"
    text = text if parsed.json else markdown(table)
    if parsed.out is not None:
        arguments.write(parsed.out / ("replay.json" if parsed.json else "replay.md"), text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
