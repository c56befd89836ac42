"""`dataflex-rl plot-mix RUN`: a picture of what a mixer did, from the run's metrics: PNG and SVG.

Left: the share of prompts of each domain over the steps, target as a line and realised as points (of a run with many
steps, the mean of each stretch). Right: the statistic that the mixer computed the shares from.

    dataflex-rl plot-mix runs/default/tiny-toy3/reward_gap/seed_0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AnalysisError, guarded
from analysis.plots.style import colours, figure, png, standalone_svg
from dataflex_rl.record import RecordError, RunRecord, read_manifest, read_metrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET, REALISED, STATISTIC = "dataflex/share_target/", "dataflex/share_realised/", "dataflex/mixer_statistic/"
_POINTS = 60  # most realised points per domain: beyond, each is the mean of a stretch of steps


def main(argv: Sequence[str] | None = None) -> int:
    """Draw one run; exit code 2 where it has nothing to draw."""
    parser = argparse.ArgumentParser(prog="dataflex-rl plot-mix", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("run", type=Path, help="folder of a run record, .../<method>/seed_<k>")
    parser.add_argument("--out", type=Path, help="folder of the picture (default: the record)")
    arguments = parser.parse_args(argv)
    return guarded(lambda: _draw(arguments.run, arguments.out or arguments.run))


def _draw(run: Path, folder: Path) -> int:
    """Draw a run into a folder and print the paths; AnalysisError where that cannot be."""
    try:
        record = RunRecord(run)
        lines = read_lines(record)
        manifest = read_manifest(record) or {}
        made = draw(lines, f"{manifest.get('mixer', 'mixer')}, seed {manifest.get('seed', '?')}")
        for path in write(made, folder):
            print(path)
    except (RecordError, OSError) as error:
        raise AnalysisError(str(error)) from error
    return 0


def read_lines(record: RunRecord) -> list[dict[str, Any]]:
    """Return the metrics lines of a run with a mixer.

    Raises:
        AnalysisError: no such record, no finished step, or a run without a mixer.
    """
    if not record.path.is_dir():
        raise AnalysisError(f"{record.path}: no such run record; expected a folder .../<method>/seed_<k>")
    lines = read_metrics(record)
    if not lines:
        raise AnalysisError(f"{record.path}: no finished step in metrics.jsonl")
    if not domains(lines):
        raise AnalysisError(f"{record.path}: its metrics have no {TARGET}<domain>; expected a run with a mixer")
    return lines


def domains(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the mixed domains, sorted."""
    return sorted({key.removeprefix(TARGET) for line in lines for key in line["data"] if key.startswith(TARGET)})


def series(lines: Sequence[Mapping[str, Any]], key: str) -> tuple[list[int], list[float]]:
    """Return (steps, values) of a metric; steps without it, or with a NaN, are left out."""
    found = [(line["step"], line["data"][key]) for line in lines if line["data"].get(key) is not None]
    return [step for step, _ in found], [float(value) for _, value in found]


def thinned(steps: Sequence[int], values: Sequence[float], most: int) -> tuple[list[float], list[float]]:
    """Return at most `most` points: the means of consecutive stretches of equal length (the last may be shorter)."""
    stride = -(-len(steps) // most) if steps else 1
    cuts = [slice(start, start + stride) for start in range(0, len(steps), stride)]
    return [_mean(steps[cut]) for cut in cuts], [_mean(values[cut]) for cut in cuts]


def draw(lines: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Draw shares and statistic of the lines of a run with a mixer."""
    names = domains(lines)
    colour = colours(names)
    made, (shares, statistic) = figure(8.4, 3.4, columns=2)
    for name in names:
        shares.plot(*series(lines, TARGET + name), color=colour[name], lw=1.6, label=name)
        shares.plot(*thinned(*series(lines, REALISED + name), _POINTS), "o", color=colour[name], ms=3, alpha=0.6, lw=0)
        statistic.plot(*series(lines, STATISTIC + name), color=colour[name], lw=1.4)
    shares.set_ylim(bottom=0)
    shares.set_ylabel("share of prompts (line: target, points: realised)")
    statistic.set_ylabel("statistic of the mixer")
    for axes in (shares, statistic):
        axes.set_xlabel("step")
    made.suptitle(title, fontsize=10)
    made.legend(*shares.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return made


def write(made: Figure, folder: Path) -> list[Path]:
    """Write mix.png and mix.svg into a folder, creating it, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "mix.png", folder / "mix.svg"]
    paths[0].write_bytes(png(made))
    paths[1].write_text(standalone_svg(made), encoding="utf-8")
    return paths


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    sys.exit(main())
