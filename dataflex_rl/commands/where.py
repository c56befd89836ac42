"""`dataflex-rl where`: the paths that another command line needs, one `NAME=PATH` a line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from dataflex_rl.config.paths import shipped


def main(argv: Sequence[str] | None = None) -> int:
    """Print where the configuration groups lie and, with --tiny, build and print the embedded model and data."""
    parser = argparse.ArgumentParser(prog="dataflex-rl where", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="the embedded model and data too; built where missing")
    options = parser.parse_args(argv)
    print(f"CONF={shipped('conf')}")
    if options.tiny:
        from dataflex_rl.data.tiny.build import build

        paths = build(progress=True)
        print(f"MODEL={paths.model}")
        print(f"TRAIN={paths.train}")
        print(f"VAL={paths.val}")
    return 0
