"""`sweep launch` with stub runs, in a process of its own: `python -m tests.sweep.killed_launcher FOLDER SECONDS`.

It is the command's own launch, from the signals to the audit; only what a run does is a stub. It prints "ready" when
it is about to start Ray.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dataflex_rl.sweep import fleet
from dataflex_rl.sweep.commands import launch
from dataflex_rl.sweep.interrupt import interruptible
from dataflex_rl.sweep.options import LaunchOptions
from tests.sweep.stubs import check, command, sweep


def main(folder: Path, seconds: str) -> int:
    planned = sweep(folder, ["a", "b"], 3, cpus=1)
    options = LaunchOptions(max_concurrent=2, backoff=0.1)
    print("ready", flush=True)
    return interruptible(
        lambda interrupt: launch(
            planned,
            options,
            command=command(folder, f"time.sleep({seconds})"),
            check=check(folder),
            interrupt=interrupt,
        )
    )


if __name__ == "__main__":
    assert fleet  # imported before it says "ready"
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
