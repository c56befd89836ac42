"""`make demo`, `dataflex-rl demo`: train `uniform`, then `difffilter`, on the embedded model, and print the gain.

    dataflex-rl demo [runs_dir=FOLDER] [seed=K] [KEY=VALUE ...]

runs_dir: where the two records go (default: runs). seed: of both runs (default: 0). Every other setting of
`dataflex-rl run` is passed on to both. Takes a few minutes; run again, it continues or shows what is done.

Exit codes: those of the first run that fails, else 0.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.output import plain_console
from dataflex_rl.record import RunRecord, read_evaluation, read_metrics
from dataflex_rl.record.evaluation import domain_scores
from dataflex_rl.run import main as run
from dataflex_rl.runtime.start.owner import serving

METHODS = ("uniform", "difffilter")


def main(argv: Sequence[str] | None = None) -> int:
    """Train the two methods with overrides (runs_dir=..., seed=...); returns the exit code of the first that fails."""
    overrides = list(sys.argv[1:] if argv is None else argv)
    if any(argument in ("-h", "--help") for argument in overrides):
        print(__doc__)
        return 0
    settings = dict(item.split("=", 1) for item in overrides if "=" in item)
    runs, seed = Path(settings.get("runs_dir", "runs")), settings.get("seed", "0")
    seconds = {}
    with serving(cpu_environment(overrides)):  # the second run finds it ready
        for method in METHODS:
            begin = time.monotonic()
            code = run([f"method={method}", "model=tiny", "task=toy3", "sweep=demo", *overrides])
            if code != 0:
                return code
            seconds[method] = time.monotonic() - begin
    folder = runs.expanduser().resolve() / settings.get("sweep", "demo") / "tiny-toy3"
    print_gain({method: RunRecord(folder / method / f"seed_{seed}") for method in METHODS}, seconds)
    return 0


def print_gain(records: dict[str, RunRecord], seconds: dict[str, float]) -> None:
    """Print one line per method: average accuracy before and after [percent], kept share, time [s]."""
    table = Table(title="what was gained (average validation accuracy)", title_justify="left")
    for name in ("method", "untrained", "trained", "points", "responses kept", "seconds"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for method, record in records.items():
        evaluation = read_evaluation(record)
        assert evaluation is not None, "a finished run has its evaluation"
        before, after = (domain_scores(evaluation, phase)["average"] for phase in ("untrained", "trained"))
        assert before is not None
        assert after is not None
        kept = [line["data"]["dataflex/kept_frac"] for line in read_metrics(record)]
        table.add_row(
            method,
            f"{100 * before:.1f}",
            f"{100 * after:.1f}",
            f"{100 * (after - before):+.1f}",
            f"{100 * sum(kept) / len(kept):.0f}%",
            f"{seconds[method]:.0f}",
        )
    plain_console().print(table)
    hint = "One seed is one draw: compare methods over paired seeds before believing a difference."
    plain_console().print(hint, style="dim")
    print(f"records: {next(iter(records.values())).path.parents[1]}")


if __name__ == "__main__":
    sys.exit(main())
