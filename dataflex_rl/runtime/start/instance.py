"""Ray's private instance with the parts that a run uses: no dashboard, no autoscaler monitor, no log monitor.

`ray.init` starts all of them, the dashboard's server even with `include_dashboard=False`. What is left is the store of
the cluster's facts, the raylet and the agent that makes the environments of workers. The raylet does not start without
a dashboard agent either: Ray says of a service that is not in use that its port is -1, and the stand-in for the
interpreter waits in the agent's place. Workers print to the training process's own output instead of files that a
monitor reads.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ray._private.authentication.authentication_token_setup import (
    enable_token_auth_by_default,
    ensure_token_if_auth_enabled,
)
from ray._private.node import Node
from ray._private.parameter import RayParams

from dataflex_rl.runtime.processes import served_environment

_AGENT_PORTS = ("METRICS_AGENT_PORT_NAME", "METRICS_EXPORT_PORT_NAME", "DASHBOARD_AGENT_LISTEN_PORT_NAME")
_NOT_IN_USE = -1
_raylet: Any = importlib.import_module("ray._raylet")


class SmallNode(Node):  # type: ignore[misc]
    """A head node without the processes that watch and show."""

    def start_api_server(self, **_settings: Any) -> None:
        """Start no dashboard."""
        self._webui_url = ""

    def start_monitor(self) -> None:
        """Start no autoscaler."""

    def start_log_monitor(self) -> None:
        """Start no reader of log files: there are none."""

    def start_raylet(self, *arguments: Any, **settings: Any) -> None:
        """Start the raylet; what its dashboard agent would serve is not in use."""
        for name in _AGENT_PORTS:
            _raylet.persist_port(self._session_dir, self._node_id, getattr(_raylet, name), _NOT_IN_USE)
        super().start_raylet(*arguments, **settings)


@contextmanager
def private_instance(settings: Mapping[str, Any], python: str) -> Iterator[str]:
    """Run an instance of Ray on this machine and yield its address.

    settings: what `ray.init` would be given to start one (num_cpus, num_gpus, object_store_memory).
    python: what its workers are started with.
    """
    enable_token_auth_by_default()
    ensure_token_if_auth_enabled(None, create_token_if_missing=True)
    given = sys.executable, dict(os.environ)
    sys.executable = python  # Ray starts its workers with the interpreter of the process that starts the instance
    os.environ.update(served_environment())  # and with its environment
    try:
        node = SmallNode(
            RayParams(
                num_cpus=settings.get("num_cpus"),
                num_gpus=settings.get("num_gpus"),
                object_store_memory=settings.get("object_store_memory"),
                resources=settings.get("resources"),
                temp_dir=settings.get("_temp_dir"),
                include_log_monitor=False,
                no_monitor=True,
                include_dashboard=False,
                dashboard_host="127.0.0.1",
            ),
            head=True,
            shutdown_at_exit=False,
            spawn_reaper=True,
            ray_init_cluster=True,
        )
    finally:
        sys.executable = given[0]
        os.environ.clear()
        os.environ.update(given[1])
    try:
        yield str(node.gcs_address)
    finally:
        node.kill_all_processes(check_alive=False, allow_graceful=True)
