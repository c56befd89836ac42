"""The training process: `python -m dataflex_rl.host.launch RECORD KEY=VALUE...` runs verl on a record's config.yaml.

It is started by `dataflex_rl.run` in a session of its own, its output in the log of the record. KEY=VALUE pairs hold
for this attempt only.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

from dataflex_rl.quiet import mute_missing_engines
from dataflex_rl.runtime.processes import die_with_parent


def main(argv: list[str]) -> int:
    """Train; the exit code is 0 if verl's loop returned."""
    signal.signal(signal.SIGTERM, _stop)
    die_with_parent()
    mute_missing_engines()
    import ray
    from omegaconf import OmegaConf
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo

    config = OmegaConf.load(Path(argv[0]) / "config.yaml")
    config.merge_with_dotlist(argv[1:])
    try:
        run_ppo(config, task_runner_class=TaskRunnerV1)
    finally:
        ray.shutdown()
    return 0


def _stop(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
