"""The outer Ray cluster of a sweep: it places runs on machines and GPUs, and knows nothing of what they do."""

from __future__ import annotations

import math
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any, Protocol

import psutil
import ray
from ray.exceptions import RayError, RayTaskError, TaskCancelledError

from dataflex_rl import quiet
from dataflex_rl.errors import ConfigError
from dataflex_rl.runtime.outcome import Exit
from dataflex_rl.runtime.processes import interpreter
from dataflex_rl.runtime.scratch import scratch_folder
from dataflex_rl.runtime.task import Job, Outcome, execute

_LISTENS = 10.0  # [s] in which a cluster must accept a connection
_OBJECTS = 100 * 1024**2  # [bytes] a local instance holds outcomes only


class Machines(Protocol):
    """What a launcher needs of a cluster. Handles are opaque."""

    def slots(self, *, gpus: float, cpus: float) -> int:
        """Return how many runs of that size fit at once on the machines that are alive."""

    def submit(self, job: Job, *, gpus: float, cpus: float) -> Any:
        """Start a job when its resources are free; return its handle."""

    def wait(self, handles: Sequence[Any], seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the jobs that have ended, after at most `seconds` if none has."""

    def cancel(self, handle: Any) -> None:
        """Ask a job to end; its outcome still comes through `wait`."""


class Fleet:
    """A Ray cluster, connected to at `address`, else an instance on this machine that ends with `close`.

    Args:
        cpus: CPUs of a run: a local instance counts at least these, whatever the machine has.
    """

    def __init__(self, address: str | None, *, cpus: float = 1) -> None:
        self._instance = ExitStack()
        if address is None:
            folder = self._instance.enter_context(scratch_folder())["RAY_TMPDIR"]
            count = max(os.cpu_count() or 1, math.ceil(cpus))
            settings = {"num_cpus": count, "object_store_memory": _OBJECTS, "_temp_dir": f"{folder}/ray"}
            if interpreter() == sys.executable:
                ray.init(address="local", include_dashboard=False, **settings, **quiet.RAY)
            else:
                from dataflex_rl.runtime.start.instance import private_instance

                ray.init(address=self._instance.enter_context(private_instance(settings, interpreter())), **quiet.RAY)
        else:
            _check_reachable(address)
            try:
                ray.init(address=address, **quiet.RAY)
            except (ConnectionError, ValueError, RuntimeError) as error:
                line = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise ConfigError(f"ray.address={address}: no Ray cluster there ({line})") from None
        self._remote = ray.remote(execute)

    def slots(self, *, gpus: float, cpus: float) -> int:
        """Return how many runs of that size fit at once on the machines that are alive."""
        return sum(_fits(node["Resources"], gpus, cpus) for node in ray.nodes() if node["Alive"])

    def largest(self) -> tuple[float, float]:
        """Return (GPUs, CPUs) of the machine with the most GPUs."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return max(((node.get("GPU", 0.0), node.get("CPU", 0.0)) for node in nodes), default=(0.0, 0.0))

    def submit(self, job: Job, *, gpus: float, cpus: float) -> Any:
        """Start a job when its resources are free; return its handle."""
        return self._remote.options(num_gpus=gpus, num_cpus=cpus, max_retries=0).remote(job)

    def wait(self, handles: Sequence[Any], seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the jobs that have ended, after at most `seconds` if none has."""
        ended, _ = ray.wait(list(handles), num_returns=1, timeout=seconds, fetch_local=False)
        if ended:
            ended, _ = ray.wait(list(handles), num_returns=len(handles), timeout=0, fetch_local=False)
        return [(handle, _outcome(handle)) for handle in ended]

    def cancel(self, handle: Any) -> None:
        """Ask a job to end; its outcome still comes through `wait`."""
        ray.cancel(handle, force=False)

    def close(self) -> None:
        """Leave the cluster; a local instance ends."""
        ray.shutdown()
        self._instance.close()


def _check_reachable(address: str) -> None:
    """Refuse a HOST:PORT where nothing listens; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:  # auto and the like: Ray looks it up
        return
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"ray.address={address}: expected HOST:PORT or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_LISTENS).close()
    except OSError as error:
        raise ConfigError(f"ray.address={address}: no Ray cluster there ({error.strerror or error})") from None


def end_children() -> None:
    """Kill the processes of an instance whose start was cut short: whatever this process has started."""
    for _ in range(10):  # a dying process may still start another
        children = psutil.Process().children(recursive=True)
        if not children:
            return
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=0.5)


def _fits(resources: dict[str, float], gpus: float, cpus: float) -> int:
    """Return how many runs fit on a machine; of runs that ask for nothing, one per CPU."""
    counts = [resources.get(name, 0.0) / expected for name, expected in (("GPU", gpus), ("CPU", cpus)) if expected > 0]
    return int(min(counts, default=resources.get("CPU", 1.0)) + 1e-6)


def _outcome(handle: Any) -> Outcome:
    try:
        outcome = ray.get(handle)
    except TaskCancelledError:
        return Outcome(code=Exit.INTERRUPTED, error="interrupted")
    except RayTaskError as error:
        return Outcome(code=Exit.FAILED, error=str(error).strip().splitlines()[-1])
    except RayError as error:  # the worker or its machine is gone
        return Outcome(code=Exit.FAILED, error=f"lost: {type(error).__name__}", lost=True)
    assert isinstance(outcome, Outcome)
    return outcome
