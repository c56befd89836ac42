"""A launcher of stub runs in a process of its own: `python -m tests.sweep.killed_launcher FOLDER SECONDS`."""

from __future__ import annotations

import sys
from pathlib import Path

from dataflex_rl.host.fleet import Fleet
from tests.sweep.stubs import launch, sweep


def main(folder: Path, seconds: str) -> int:
    fleet = Fleet(None, cpus=2)
    try:
        code, out, _ = launch(sweep(folder, ["a", "b"], 3, cpus=1), fleet, f"time.sleep({seconds})", max_concurrent=2)
    finally:
        fleet.close()
    print(out)
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
