"""Build the embedded model and task and print where they are.

Run: python scripts/build_tiny.py [--seed 0] [--cache-dir DIR]
     python scripts/build_tiny.py --ship      # pre-train the default model and replace the one inside the package
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dataflex_rl.data.progress import watched
from dataflex_rl.data.tiny.build import build
from dataflex_rl.data.tiny.options import ModelOptions
from dataflex_rl.data.tiny.shipped_model import FOLDER, SUMS_FILE, ship


def main(argv: Sequence[str] | None = None) -> int:
    """Build what is missing and print one line per path; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the embedded model and task.")
    parser.add_argument("--seed", type=int, default=0, help="seed of model and data (not of a run)")
    parser.add_argument("--cache-dir", type=Path, default=None, help="default: the user's cache directory")
    parser.add_argument("--ship", action="store_true", help="write the default model into the package instead")
    options = parser.parse_args(argv)
    if options.ship:
        pretrain_and_ship()
        return 0
    paths = build(seed=options.seed, cache_dir=options.cache_dir)
    print(f"model  {paths.model}\ntrain  {paths.train}\nval    {paths.val}")
    return 0


def pretrain_and_ship() -> None:
    """Pre-train the model of the default options, replace the shipped one and print its digests."""
    from dataflex_rl.data.tiny.model import build_model

    with tempfile.TemporaryDirectory() as folder, watched("the tiny model", shown=True) as state:
        build_model(Path(folder), ModelOptions(), state.advance)
        ship(Path(folder))
    print((FOLDER / SUMS_FILE).read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    raise SystemExit(main())
