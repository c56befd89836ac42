"""Command-line arguments that tables, report and planning share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from analysis.errors import AnalysisError
from analysis.options import DEFAULTS, Options, parse_family


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line (AnalysisError), like every other error of a user."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise AnalysisError(f"{message} (see --help)")


def parser(prog: str, description: str) -> Parser:
    """Make a parser with --runs and the options of a comparison."""
    made = Parser(prog=prog, description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = made.add_argument
    add(
        "--runs",
        nargs="+",
        action="extend",
        required=True,
        metavar="SOURCE",
        help="runs folder, CSV file in a published layout, W&B offline folder or wandb:ENTITY/PROJECT; several allowed",
    )
    add("--control", default=None, help="compare every method with this one; each family's own control where not given")
    add(
        "--family",
        action="append",
        default=[],
        metavar="NAME=CONTROL[:METHOD,...]",
        help="replace the families; repeatable; without methods: all that no other family names",
    )
    add("--margin", type=float, default=1.0, help="equivalence margin [points]")
    add("--level", type=float, default=0.95, help="level of the t interval")
    add("--alpha", type=float, default=0.05, help="level of every test")
    add(
        "--holm", choices=("block", "all"), default="block", help="family of the Holm correction on the primary summary"
    )
    add("--score", default="last", help="score of a run: last, or mean:K over its last K evaluations")
    add("--mismatch", choices=("refuse", "flag"), default="refuse", help="a pair whose recorded prompt streams differ")
    add(
        "--allow-differences",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY",
        help="keys of the configuration in which the runs of a pair may differ besides the method, each with all below",
    )
    add(
        "--z-joint",
        type=float,
        default=3.0,
        help="robust sd below the median, of two benchmarks, for a suspect",
    )
    add("--z-single", type=float, default=6.0, help="the same for one benchmark alone")
    add("--resamples", type=int, default=5000, help="bootstrap resamples")
    add("--bootstrap-seed", type=int, default=0, help="seed of the bootstraps")
    return made  # fmt: skip


def options(parsed: argparse.Namespace) -> Options:
    """Make the Options of parsed arguments. Raises AnalysisError for a value outside its range."""
    return Options(
        margin=parsed.margin,
        level=parsed.level,
        alpha=parsed.alpha,
        control=parsed.control,
        families=tuple(parse_family(t) for t in parsed.family) or DEFAULTS,
        mismatch=parsed.mismatch,
        allow_differences=tuple(parsed.allow_differences),
        score=parsed.score,
        holm=parsed.holm,
        z_joint=parsed.z_joint,
        z_single=parsed.z_single,
        resamples=parsed.resamples,
        seed=parsed.bootstrap_seed,
    )


def write(path: Path, content: str | bytes) -> None:
    """Write a file and the folders above it. Raises AnalysisError naming the path when the disk refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_bytes(content)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror or error}") from error
