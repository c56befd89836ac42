"""One worker server for all runs of a test session, started when the first run is."""

from __future__ import annotations

import atexit
import functools
import json
import os

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.start.owner import WorkerServer

_SHARED = "DATAFLEX_RL_TEST_SERVER"  # the variables that lead to the server of the process that started this one


@functools.cache
def served() -> dict[str, str]:
    """Return the variables by which commands find the session's worker server, which can fork what has them."""
    if _SHARED in os.environ:
        return dict(json.loads(os.environ[_SHARED]))
    host = cpu_environment([])
    assert host is not None, "the default host is the CPU"
    server = WorkerServer(host)
    atexit.register(server.stop)
    return server.environment


def share() -> None:
    """Start the server, for the processes that this one starts as well."""
    os.environ[_SHARED] = json.dumps(served())
