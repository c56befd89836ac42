"""Build the embedded model and task and print where they are.

Run: python scripts/build_tiny.py [--seed 0] [--cache-dir DIR]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dataflex_rl.data.tiny.build import build


def main(argv: Sequence[str] | None = None) -> int:
    """Build what is missing and print one line per path; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the embedded model and task.")
    parser.add_argument("--seed", type=int, default=0, help="seed of model and data (not of a run)")
    parser.add_argument("--cache-dir", type=Path, default=None, help="default: the user's cache directory")
    options = parser.parse_args(argv)
    paths = build(seed=options.seed, cache_dir=options.cache_dir)
    print(f"model  {paths.model}\ntrain  {paths.train}\nval    {paths.val}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
