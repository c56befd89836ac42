"""One worker server for all runs of a test session, started when the first run is."""

from __future__ import annotations

import atexit
import functools

from dataflex_rl.config.compose import cpu_environment
from dataflex_rl.runtime.start.owner import WorkerServer


@functools.cache
def served() -> dict[str, str]:
    """Return the variables by which commands find the session's worker server, which can fork what has them."""
    host = cpu_environment([])
    assert host is not None, "the default host is the CPU"
    server = WorkerServer(host)
    atexit.register(server.stop)
    return server.environment
