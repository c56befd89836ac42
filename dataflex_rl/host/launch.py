"""The training process: `python -m dataflex_rl.host.launch RECORD KEY=VALUE...` runs verl on a record's config.yaml.

It is started by `dataflex_rl.run` in a session of its own, its output in the log of the record. KEY=VALUE pairs hold
for this attempt only.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from omegaconf import DictConfig, OmegaConf, open_dict

from dataflex_rl.quiet import mute_missing_engines
from dataflex_rl.runtime.processes import STANDIN


def main(argv: list[str]) -> int:
    """Train; the exit code is 0 if verl's loop returned."""
    signal.signal(signal.SIGTERM, _stop)
    mute_missing_engines()
    import ray
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo

    config = DictConfig(OmegaConf.load(Path(argv[0]) / "config.yaml"))
    config.merge_with_dotlist(argv[1:])
    with _ray(config):
        try:
            run_ppo(config, task_runner_class=TaskRunnerV1)
        finally:
            ray.shutdown()
    return 0


@contextmanager
def _ray(config: DictConfig) -> Iterator[None]:
    """Where a private instance of Ray is asked for and its workers can be forked, start it and point verl at it."""
    standin, settings = os.environ.get(STANDIN), config.ray_kwargs.ray_init
    if standin is None or settings.get("address") != "local":
        yield
        return
    from dataflex_rl.runtime.start.instance import private_instance

    with private_instance(settings, standin) as address:
        with open_dict(config):
            config.ray_kwargs.ray_init = {"address": address, "log_to_driver": False}
        yield


def _stop(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
